"""The locks for asyncio: they block no event loop, and a wait that is cancelled leaves nothing in the queue.

    import asyncio, turnlock.aio

    async def transfer():
        async with turnlock.aio.Lock("app.lock", "accounts"):
            ...

A lock that is free is acquired at once, in the event loop's thread. Tasks that wait by the same object stand in line, first come
first served; the first of them waits in a thread of its own, with a participant of its own in the lock file (`participants=`,
128 if not said). Of a `RangeLock` and a `KeyedLock` each of them does, since a wait for one part keeps no task from another.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from types import TracebackType
from typing import TYPE_CHECKING, Any

from . import _claims, _errors, _filelock, _locks, _native
from ._errors import Timeout
from ._wait import Lines, Waited, in_thread

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Lock", "TurnRing", "RWLock", "Semaphore", "BoundedSemaphore", "RangeLock", "KeyedLock", "GroupLock", "FileLock"]


async def _acquire(lock: _native.Exclusive, lines: Lines, blocking: bool = True, timeout: float = -1) -> bool:
    """Acquires `lock`; behind the tasks that wait already, if it waits."""
    if (not blocking or lines.here().is_empty) and lock.acquire(blocking=False):
        return True
    if not blocking or timeout == 0:
        return False
    return bool((await lines.wait(lock._wait, timeout, lambda _: lock._give_back())).got)


def _representation(lock: Any, state: Callable[[], str]) -> str:
    """What `repr` shows, in asyncio's form, with the name of the lock and its path."""
    under = lock.lock
    kind = f"{type(lock).__module__}.{type(lock).__qualname__}"
    try:
        extras = [state()]
        waiters = len(under.waiters())
        if waiters:
            extras.append(f"waiters:{waiters}")
    except (OSError, ValueError, RuntimeError):
        extras = ["closed" if under.closed else "unusable"]
    return f"<{kind} {under.name!r} in {under.path} object at {id(lock):#x} [{', '.join(extras)}]>"


class _Async:
    """What the forms for asyncio have in common: `lock` is the native one under it."""

    lock: _native.Exclusive

    def __init__(self, lock: _native.Exclusive) -> None:
        self.lock = lock
        self._lines = Lines()

    async def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Acquires the lock, waiting at most `timeout` seconds (-1: as long as it takes). Returns whether it was acquired.

        If the task is cancelled while it waits, nothing of the wait is left in the queue.
        """
        return await _acquire(self.lock, self._lines, blocking, timeout)

    def release(self) -> None:
        """Releases the lock, from any task."""
        self.lock.release()

    def locked(self) -> bool:
        """Returns whether the lock has a holder, in this process or another."""
        return self.lock.locked()

    async def __aenter__(self) -> Self:
        await self.acquire()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.release()

    def __getattr__(self, name: str) -> Any:
        # What needs no waiting: fencing_token, previous_owner_died, mark_consistent and so on.
        if name.startswith("_") or name == "lock":
            raise AttributeError(name)
        return getattr(self.lock, name)

    def __repr__(self) -> str:
        return _representation(self, lambda: "locked" if self.locked() else "unlocked")


class Lock(_Async):
    """`turnlock.Lock` for asyncio. Made with the same arguments; what needs no waiting is as there.

    >>> import asyncio, os, tempfile, turnlock.aio
    >>> path = os.path.join(tempfile.mkdtemp(), "app.lock")
    >>> async def main():
    ...     async with turnlock.aio.Lock(path, "accounts") as accounts:
    ...         return accounts.previous_owner_died
    >>> asyncio.run(main())
    False
    """

    def __init__(self, path: Any, name: str = "default", **options: Any) -> None:
        super().__init__(_locks.Lock(path, name, **options))


class TurnRing(_Async):
    """`turnlock.TurnRing` for asyncio, on demand: each wait takes part until its turn is over."""

    def __init__(self, path: Any, name: str = "default", **options: Any) -> None:
        if options.get("member"):
            raise ValueError("a task cannot be a member of a ring, since it has no participant of its own: leave member out")
        if options.get("slot") is not None:
            raise ValueError("a task has no place of its own on a ring, since it has no participant of its own: leave slot out")
        super().__init__(_locks.TurnRing(path, name, **options))


class _Holding:
    """What `RWLock.read` and its like give: awaited, or entered by `async with`, it is a `turnlock.Hold`."""

    def __init__(
        self, lock: _native.Claimed, lines: Lines | None, want: _claims.Want, blocking: bool, timeout: float
    ) -> None:
        self._lock, self._lines, self._want = lock, lines, want
        self._blocking, self._timeout = blocking, timeout
        self._hold: _native.Hold | None = None

    async def _take(self) -> _native.Hold:
        lock, lines, want = self._lock, self._lines, self._want
        waited = Waited(None, "")
        if not self._blocking or lines is None or lines.here().is_empty:
            waited = Waited(lock._take(want, False, -1), _native._refused_by())
        if waited.got is None and self._blocking and self._timeout != 0:
            if lines is None:
                waited = await in_thread(lock._wait(want), self._timeout, lambda hold: hold._give_back())
            else:
                waited = await lines.wait(lambda: lock._wait(want), self._timeout, lambda hold: hold._give_back())
        if waited.got is None:
            raise Timeout(lock.path, waited.locked_by)
        hold: _native.Hold = waited.got
        return hold

    def __await__(self) -> Generator[Any, None, _native.Hold]:
        return self._take().__await__()

    async def __aenter__(self) -> _native.Hold:
        self._hold = await self._take()
        return self._hold

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._hold is not None:
            self._hold.release()


class RWLock:
    """`turnlock.RWLock` for asyncio: `async with lock.read():`. `Hold.upgrade` waits; say `blocking=False` there.

    >>> import asyncio, os, tempfile, turnlock.aio
    >>> path = os.path.join(tempfile.mkdtemp(), "app.lock")
    >>> async def main():
    ...     accounts = turnlock.aio.RWLock(path, "accounts")
    ...     async with accounts.read(), accounts.read():
    ...         print("both read")
    >>> asyncio.run(main())
    both read
    """

    def __init__(self, path: Any, name: str = "default", **options: Any) -> None:
        self.lock = _claims.RWLock(path, name, **options)
        self._lines = Lines()

    def read(self, blocking: bool = True, timeout: float = -1) -> _Holding:
        """Reads beside others that do."""
        return _Holding(self.lock, self._lines, ("read",), blocking, timeout)

    def upgradable(self, blocking: bool = True, timeout: float = -1) -> _Holding:
        """Reads, and may write later."""
        return _Holding(self.lock, self._lines, ("upgradable",), blocking, timeout)

    def write(self, blocking: bool = True, timeout: float = -1) -> _Holding:
        """Writes, alone."""
        return _Holding(self.lock, self._lines, ("write",), blocking, timeout)


class RangeLock:
    """`turnlock.RangeLock` for asyncio."""

    def __init__(self, path: Any, name: str = "default", **options: Any) -> None:
        self.lock = _claims.RangeLock(path, name, **options)

    def read(self, first: int = 0, end: int | None = None, *, blocking: bool = True, timeout: float = -1) -> _Holding:
        """Reads a range, beside others that do."""
        return _Holding(self.lock, None, ("range", False, *_claims._range(first, end)), blocking, timeout)

    def write(self, first: int = 0, end: int | None = None, *, blocking: bool = True, timeout: float = -1) -> _Holding:
        """Writes a range, alone in it."""
        return _Holding(self.lock, None, ("range", True, *_claims._range(first, end)), blocking, timeout)


class KeyedLock:
    """`turnlock.KeyedLock` for asyncio."""

    def __init__(self, path: Any, name: str = "default", **options: Any) -> None:
        self.lock = _claims.KeyedLock(path, name, **options)

    def read(self, key: str | bytes, blocking: bool = True, timeout: float = -1) -> _Holding:
        """Reads what a key stands for, beside others that do."""
        return _Holding(self.lock, None, ("key", False, _claims._key(key)), blocking, timeout)

    def write(self, key: str | bytes, blocking: bool = True, timeout: float = -1) -> _Holding:
        """Writes what a key stands for, beside no other holder of the same key."""
        return _Holding(self.lock, None, ("key", True, _claims._key(key)), blocking, timeout)


class GroupLock:
    """`turnlock.GroupLock` for asyncio: `async with store.enter(2):`."""

    def __init__(self, path: Any, name: str = "default", **options: Any) -> None:
        self.lock = _claims.GroupLock(path, name, **options)
        self._lines = Lines()

    def enter(self, group: int, blocking: bool = True, timeout: float = -1) -> _Holding:
        """Enters as a member of `group`, beside others of that group."""
        return _Holding(self.lock, self._lines, ("group", _claims._group(group)), blocking, timeout)


class Semaphore:
    """`turnlock.Semaphore` for asyncio."""

    def __init__(self, path: Any, name: str = "default", value: int = 1, **options: Any) -> None:
        self.lock = _claims.Semaphore(path, name, value, **options)
        self._lines = Lines()
        self._holds: list[_native.Hold] = []

    def take(self, permits: int = 1, blocking: bool = True, timeout: float = -1) -> _Holding:
        """Takes so many permits at once, as a `Hold`."""
        return _Holding(self.lock, self._lines, ("permits", permits), blocking, timeout)

    async def acquire(self) -> bool:
        """Acquires a permit. If the task is cancelled while it waits, nothing of the wait is left in the queue."""
        self._holds.append(await self.take())
        return True

    def locked(self) -> bool:
        """Returns whether no permit is to be had at once. It takes one for a moment to see that."""
        hold = self.lock._take(("permits", 1), False, -1)
        if hold is None:
            return True
        hold.release()
        return False

    def release(self) -> None:
        """Gives a permit back, from any task. ValueError if this object has none."""
        if not self._holds:
            raise ValueError("Semaphore released too many times: this object has acquired no permit")
        self._holds.pop().release()

    def __repr__(self) -> str:
        return _representation(self, self._state)

    def _state(self) -> str:
        free = self.lock._free()
        return f"unlocked, value:{free}" if free else "locked"

    async def __aenter__(self) -> None:
        await self.acquire()

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.release()


class BoundedSemaphore(Semaphore):
    """The same as `Semaphore`."""


class FileLock(metaclass=_filelock._Singletons):
    """filelock's `AsyncFileLock`, over turnlock: `async with FileLock("build.lock"):`.

    One object holds the lock once, however often it acquires it: `acquire` counts, and the last `release` releases. A wait has a
    thread of its own: `thread_local`, `loop`, `run_in_executor` and `executor` are accepted, and mean nothing.
    """

    _defaults: dict[str, object] = {"timeout": -1, "mode": 0o644, "thread_local": False, "blocking": True}

    def __init__(
        self,
        lock_file: Any,
        timeout: float = -1,
        mode: int = 0o644,
        thread_local: bool = False,
        *,
        blocking: bool = True,
        is_singleton: bool = False,
        poll_interval: float = 0.05,
        loop: asyncio.AbstractEventLoop | None = None,
        run_in_executor: bool = True,
        executor: Any = None,
    ) -> None:
        if thread_local and run_in_executor:
            raise ValueError("run_in_executor is not supported when thread_local is True")
        # Checks the arguments as well.
        self._plan = _filelock.FileLock(lock_file, timeout, mode, False, blocking=blocking, poll_interval=poll_interval)
        self._thread_local, self._is_singleton = thread_local, is_singleton
        self.loop, self.run_in_executor, self.executor = loop, run_in_executor, executor
        self._lock: _locks.Lock | None = None
        self._lines = Lines()
        self._counter = 0

    def _compared(self) -> dict[str, object]:
        return self._plan._compared() | {"thread_local": self._thread_local}

    @property
    def lock_file(self) -> str:
        """The path, as it was given."""
        return self._plan.lock_file

    @property
    def timeout(self) -> float:
        """How many seconds `acquire` waits if it is not told otherwise; negative: as long as it takes."""
        return self._plan.timeout

    @timeout.setter
    def timeout(self, value: float | str) -> None:
        self._plan.timeout = float(value)

    @property
    def blocking(self) -> bool:
        """Whether `acquire` waits if it is not told otherwise."""
        return self._plan.blocking

    @blocking.setter
    def blocking(self, value: bool) -> None:
        self._plan.blocking = value

    @property
    def mode(self) -> int:
        """The permissions that were asked for."""
        return self._plan.mode

    @property
    def is_singleton(self) -> bool:
        """Whether there is one object for the path."""
        return self._is_singleton

    def is_thread_local(self) -> bool:
        """What was said of it."""
        return self._thread_local

    @property
    def is_locked(self) -> bool:
        """Whether this object has the lock."""
        return self._counter > 0

    @property
    def lock_counter(self) -> int:
        """How often this object has acquired the lock without releasing it."""
        return self._counter

    async def acquire(
        self,
        timeout: float | None = None,
        poll_interval: float | None = None,
        *,
        poll_intervall: float | None = None,
        blocking: bool | None = None,
    ) -> "_Release":
        """Acquires the lock, or counts once more; `turnlock.Timeout` if the time passes first."""
        if poll_intervall is not None:
            _filelock.warn_of_spelling()
        seconds = _filelock._seconds(timeout, self._plan.timeout)
        if self._counter == 0:
            _filelock._LOGGER.debug("Attempting to acquire lock %s on %s", id(self), self.lock_file)
            if self._lock is None:
                plan = self._plan
                _filelock.check_path(plan._path)
                self._lock = _locks.Lock(plan._path, _filelock.NAME, mode=plan._permissions)
            waits = self._plan.blocking if blocking is None else blocking
            acquired = await _acquire(self._lock, self._lines, False)
            if not acquired and waits and seconds != 0:
                _filelock.log_wait(self, self.lock_file)
                acquired = await _acquire(self._lock, self._lines, True, seconds)
            if not acquired:
                _filelock.log_refusal(waits, self, self.lock_file)
                raise Timeout(self.lock_file, _errors.one_of(self._lock.holders()))
            self._counter = 0
        _filelock._LOGGER.debug("Lock %s acquired on %s", id(self), self.lock_file)
        self._counter += 1
        return _Release(self)

    async def release(self, force: bool = False) -> None:
        """Counts back; the last time, or with `force`, the lock is released. Nothing if it is not held."""
        if self._counter == 0:
            return
        self._counter = 0 if force else self._counter - 1
        if self._counter == 0 and self._lock is not None:
            _filelock._LOGGER.debug("Attempting to release lock %s on %s", id(self), self.lock_file)
            self._lock.release()
            _filelock._LOGGER.debug("Lock %s released on %s", id(self), self.lock_file)

    async def __aenter__(self) -> Self:
        await self.acquire()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.release()


class _Release:
    """What `FileLock.acquire` returns: an asynchronous context manager that releases the lock at its end."""

    def __init__(self, lock: FileLock) -> None:
        self._lock = lock

    async def __aenter__(self) -> FileLock:
        return self._lock

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._lock.release()
