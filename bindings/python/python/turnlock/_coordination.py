"""`Condition`, `Event`, `Barrier` and `Once`: those of `threading`, between processes and over deaths."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from . import _native
from ._claims import RWLock
from ._errors import BrokenBarrierError, Timeout
from ._facts import PreviousOwner
from ._locks import Lock, RLock
from ._native import Hold

if TYPE_CHECKING:
    from typing_extensions import Self

T = TypeVar("T")

# The process that gives its participants back at its end.
_leaves_in_order = 0


def _leave_in_order() -> None:
    """Has the end of this process be no death of a party: a child of multiprocessing ends without what ends a program else."""
    global _leaves_in_order
    if _leaves_in_order != os.getpid():
        from multiprocessing import util

        _leaves_in_order = os.getpid()
        util.Finalize(None, _native._detach, exitpriority=-100)


class Condition(_native.Coordination):
    """Participants that hold a lock wait until another one notifies them: `threading.Condition`, in a file.

    `lock` is a `Lock`, an `RLock` or a `RWLock` (which is held to write then) of the same file; None is the `RLock` called
    `name + " lock"`. Use a condition with one lock. Waiters are notified in the order in which they came, and none without a
    notification; the data may have changed again before a waiter has the lock, so look at them in a loop, or by `wait_for`.

    A waiter that is killed takes no notification with it: one that it had got already goes to the next waiter. A waiter
    comes back with the lock, and with the notice if the last holder died (`lock.previous_owner_died`). Unlike with `threading`
    the notifier need not have the lock.

    >>> import os, tempfile, threading, turnlock
    >>> path = os.path.join(tempfile.mkdtemp(), "app.lock")
    >>> jobs = []
    >>> changed = turnlock.Condition(path, "jobs changed", turnlock.Lock(path, "jobs"))
    >>> def add():
    ...     with changed:
    ...         jobs.append("job")
    ...         changed.notify()
    >>> with changed:
    ...     threading.Thread(target=add).start()
    ...     changed.wait_for(lambda: jobs, timeout=60)
    ['job']
    """

    __slots__ = ("__weakref__", "_hold", "_lock")

    _lock: Lock | RLock | RWLock
    _hold: Hold | None

    def __new__(
        cls,
        path: str | PathLike[str],
        name: str,
        lock: Lock | RLock | RWLock | None = None,
        *,
        participants: int | None = None,
        locks: int | None = None,
        mode: int | None = None,
        group: int | None = None,
        label: str | None = None,
        must_exist: bool = False,
    ) -> Self:
        if not isinstance(lock, (Lock, RLock, RWLock, type(None))):
            kinds = "turnlock.Lock, a turnlock.RLock or a turnlock.RWLock"
            raise TypeError(f"lock is a {kinds}, or None, and not a {type(lock).__name__}")
        new = super().__new__(
            cls,
            path,
            name,
            kind="condition",
            participants=participants,
            locks=locks,
            mode=mode,
            group=group,
            label=label,
            must_exist=must_exist,
        )
        if lock is None:
            lock = RLock(path, f"{name} lock", label=label, must_exist=must_exist)
        elif not os.path.samefile(lock.path, path):
            raise ValueError(f"the condition is in {new.path} and its lock in {lock.path}: make both in the same file")
        new._lock, new._hold = lock, None
        return new

    def __getnewargs_ex__(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        (path, name), options = super().__getnewargs_ex__()
        return (path, name, self._lock), options

    def __getstate__(self) -> None:
        """All of it is in the arguments."""

    @property
    def lock(self) -> Lock | RLock | RWLock:
        """The lock."""
        return self._lock

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Acquires the lock, to write if it is a `RWLock`."""
        if not isinstance(self._lock, RWLock):
            return self._lock.acquire(blocking, timeout)
        try:
            hold = self._lock.write(blocking, timeout)
        except Timeout:
            return False
        self._hold = hold
        return True

    def release(self) -> None:
        """Releases it."""
        self._held().release()

    def _held(self) -> Lock | RLock | Hold:
        if not isinstance(self._lock, RWLock):
            return self._lock
        if self._hold is None:
            raise RuntimeError("the lock is not held: acquire the condition first")
        return self._hold

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        self.release()

    def wait(self, timeout: float | None = None, *, hold: Hold | None = None) -> bool:
        """Releases the lock, waits until it is notified, for at most `timeout` seconds, and acquires the lock again, for which
        there is no limit. Returns whether it was notified.

        An `RLock` is released altogether, and then acquired as often as it was. `hold` is for a `RWLock` that was acquired by
        its own `write()`. What a signal handler raises, such as KeyboardInterrupt, ends the wait, with the lock held again.
        NotOwnerError if the lock is not held; NotRecoverableError if it cannot be acquired again, and then it is not held.
        """
        if hold is not None:
            return self._wait_with(hold, timeout)
        held = self._held()
        self._hold = None
        try:
            return self._wait_with(held, timeout)
        finally:
            # With a RWLock another thread has acquired this object meanwhile, and released it.
            self._hold = held if isinstance(held, Hold) else None

    def wait_for(self, predicate: Callable[[], T], timeout: float | None = None, *, hold: Hold | None = None) -> T:
        """Waits until `predicate()` is true, for at most `timeout` seconds. It is called with the lock held. Returns what it gave
        last."""
        end = None if timeout is None else time.monotonic() + timeout
        result = predicate()
        while not result:
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                break
            self.wait(left, hold=hold)
            result = predicate()
        return result

    def notify(self, n: int = 1) -> int:
        """Notifies the `n` participants that have waited longest. Returns how many there were."""
        if not isinstance(n, int):
            raise TypeError(f"n is a whole number, not {type(n).__name__}")
        notified = 0
        while notified < n and self._notify():
            notified += 1
        return notified

    def notify_all(self) -> int:
        """Notifies all that wait. Returns how many there were."""
        return self._notify_all()

    def waiting(self) -> int:
        """Returns how many wait and are not notified. It may be out of date at once."""
        return self._waiting()


class Event(_native.Coordination):
    """It is set or not, and participants wait until it is: `threading.Event`, in a file.

    It stays set until it is cleared, or the machine boots. A wait that began before it was set ends, also if it was cleared
    since. No death disturbs it. Arguments are as for `Lock`.

    >>> import os, tempfile, turnlock
    >>> path = os.path.join(tempfile.mkdtemp(), "app.lock")
    >>> ready = turnlock.Event(path, "ready")
    >>> ready.wait(timeout=0.01)
    False
    >>> ready.set()
    True
    >>> ready.wait(), ready.is_set()
    (True, True)
    """

    __slots__ = ("__weakref__",)

    def __new__(
        cls,
        path: str | PathLike[str],
        name: str,
        *,
        participants: int | None = None,
        locks: int | None = None,
        mode: int | None = None,
        group: int | None = None,
        label: str | None = None,
        must_exist: bool = False,
    ) -> Self:
        return super().__new__(
            cls,
            path,
            name,
            kind="event",
            participants=participants,
            locks=locks,
            mode=mode,
            group=group,
            label=label,
            must_exist=must_exist,
        )

    def set(self) -> bool:
        """Sets it: all that wait for it go on. Returns whether it was not set before."""
        return self._set()

    def clear(self) -> bool:
        """Clears it. Returns whether it was set."""
        return self._clear()

    def is_set(self) -> bool:
        """Returns whether it is set."""
        return self._is_set()

    def wait(self, timeout: float | None = None) -> bool:
        """Waits until it is set, for at most `timeout` seconds. Returns whether it was."""
        return self._wait_until_set(timeout)


class Barrier(_native.Coordination):
    """So many parties wait until all of them have come, again and again: `threading.Barrier`, in a file.

    `parties` is how many, if the barrier is created now; None is whatever it has, and then it must exist. Arguments are as for
    `Lock`.

    A party that is killed breaks the barrier for the others (`BrokenBarrierError`, which says who died), until a `reset`: one that
    waits, and one that has waited here before and has not ended in good order. So do a party whose time is over and one
    whose wait a signal handler ends.

    >>> import os, tempfile, threading, turnlock
    >>> path = os.path.join(tempfile.mkdtemp(), "app.lock")
    >>> stage = turnlock.Barrier(path, "stage", 2)
    >>> other = threading.Thread(target=stage.wait)
    >>> other.start()
    >>> stage.wait(timeout=60) in (0, 1)
    True
    >>> other.join()
    """

    __slots__ = ("__weakref__",)

    def __new__(
        cls,
        path: str | PathLike[str],
        name: str,
        parties: int | None = None,
        *,
        participants: int | None = None,
        locks: int | None = None,
        mode: int | None = None,
        group: int | None = None,
        label: str | None = None,
        must_exist: bool = False,
    ) -> Self:
        return super().__new__(
            cls,
            path,
            name,
            kind="barrier",
            parties=parties,
            participants=participants,
            locks=locks,
            mode=mode,
            group=group,
            label=label,
            must_exist=must_exist,
        )

    def wait(self, timeout: float | None = None) -> int:
        """Waits until all parties have come, for at most `timeout` seconds. Returns 0 for one of them, the last, and 1 for each
        other one. BrokenBarrierError if it is or gets broken, and if the time is over."""
        _leave_in_order()
        was_last = self._wait_for_all(timeout)
        if was_last is None:
            raise BrokenBarrierError(f"the other parties did not come within {timeout} s: the barrier is broken for all of them")
        return 0 if was_last else 1

    def reset(self) -> None:
        """Opens it anew. Those that wait get BrokenBarrierError; the deaths so far are forgotten."""
        self._reset()

    def abort(self) -> None:
        """Breaks it, for those that wait and those that come until a `reset`."""
        self._abort()

    @property
    def parties(self) -> int:
        """How many parties it has."""
        return self._parties()

    @property
    def n_waiting(self) -> int:
        """How many of them wait at this moment."""
        return self._waiting()

    @property
    def broken(self) -> bool:
        """Whether it is broken. A death is noticed by those that wait, within a moment."""
        return self._broken()


class Once(_native.Coordination):
    """What one participant does, of all that have the file open, and the others find done.

    One does it, and the others wait. If that one dies, or an exception ends its work, the next one does it. What is done stays
    done until a `reset`, or until the machine boots: unless the once was created with `across_boots`, for work on a disk. Other
    arguments are as for `Lock`.

    >>> import os, tempfile, turnlock
    >>> path = os.path.join(tempfile.mkdtemp(), "app.lock")
    >>> schema = turnlock.Once(path, "schema")
    >>> schema.run(lambda: print("creates the tables"))
    creates the tables
    True
    >>> schema.run(lambda: print("creates the tables"))
    False

    As a context manager it says whether there is something to do:

    >>> with schema as is_first:
    ...     if is_first:
    ...         print("creates the tables")
    """

    __slots__ = ("__weakref__",)

    def __new__(
        cls,
        path: str | PathLike[str],
        name: str,
        *,
        across_boots: bool = False,
        participants: int | None = None,
        locks: int | None = None,
        mode: int | None = None,
        group: int | None = None,
        label: str | None = None,
        must_exist: bool = False,
    ) -> Self:
        return super().__new__(
            cls,
            path,
            name,
            kind="once",
            across_boots=across_boots,
            participants=participants,
            locks=locks,
            mode=mode,
            group=group,
            label=label,
            must_exist=must_exist,
        )

    def run(self, work: Callable[[], object], timeout: float | None = None) -> bool:
        """Calls `work()` unless it is done, waiting for at most `timeout` seconds while another participant is at it (then
        `turnlock.Timeout`). Returns whether it was called. DeadlockError if this thread is at it already."""
        if not self._enter(timeout):
            return False
        try:
            work()
        except BaseException:
            self._give_up()
            raise
        self._complete()
        return True

    def _enter(self, timeout: float | None) -> bool:
        is_to_do = self._begin(timeout)
        if is_to_do is None:
            raise Timeout(self.path, "another participant is at it")
        return is_to_do

    def __enter__(self) -> bool:
        return self._enter(None)

    def __exit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        if not self._is_running():
            return
        if exc_type is None:
            self._complete()
        else:
            self._give_up()

    def is_done(self) -> bool:
        """Returns whether it is done."""
        return self._is_done()

    def reset(self) -> None:
        """Has it be done again. Waits while a participant is at it."""
        self._reset()

    @property
    def previous_runner(self) -> PreviousOwner | None:
        """For the one that is at it: who was at it before and died. Else None."""
        return self._previous_runner()
