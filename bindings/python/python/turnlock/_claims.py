"""`RWLock`, `Semaphore`, `RangeLock`, `KeyedLock` and `GroupLock`: locks that several may have at a time.

What they give is a `Hold`, a context manager that is released at its end, or by its `release`.
"""

from __future__ import annotations

from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

from . import _native
from ._errors import Timeout
from ._native import Hold

if TYPE_CHECKING:
    from typing_extensions import Self

Want = tuple[Any, ...]


def _key(key: str | bytes) -> bytes:
    if isinstance(key, str):
        return key.encode()
    if isinstance(key, bytes):
        return key
    raise TypeError(f"a key is a str or bytes, not {type(key).__name__}")


def _range(first: int, end: int | None) -> tuple[int, int | None]:
    if not isinstance(first, int) or not isinstance(end, (int, type(None))):
        raise TypeError("a range is of whole numbers: the first, and the first that is not in it, or None for no end")
    if first < 0 or first >= 2**64 or (end is not None and not first < end < 2**64):
        raise ValueError(f"a range begins at 0 or later, ends before 2**64 and has something in it: not {first}..{end}")
    return first, end


def _group(group: int) -> int:
    if not isinstance(group, int):
        raise TypeError(f"a group is a whole number, not {type(group).__name__}")
    if not 0 <= group < 2**64:
        raise ValueError(f"a group is a number from 0 to 2**64 - 1, not {group}")
    return group


class _Claims(_native.Claimed):
    __slots__ = ()

    def _hold(self, want: Want, blocking: bool, timeout: float) -> Hold:
        hold = self._take(want, blocking, timeout)
        if hold is None:
            raise Timeout(self.path, _native._refused_by())
        return hold


class RWLock(_Claims):
    """A reader/writer lock: several that read, or one that writes; first come first served.

    Each call gives a `Hold`, or raises `turnlock.Timeout`. Any thread of the process may release it. A thread that reads and
    wants to write waits for itself: take it `upgradable`, which is beside readers, and beside no other that is upgradable.
    A reader's death changes nothing; a writer's is told as a `Lock`'s is. Arguments are as for `Lock`.

    >>> import os, tempfile, turnlock
    >>> path = os.path.join(tempfile.mkdtemp(), "app.lock")
    >>> accounts = turnlock.RWLock(path, "accounts")
    >>> with accounts.read(), accounts.read():
    ...     print("both read")
    both read
    >>> with accounts.upgradable() as hold:
    ...     if hold.upgrade(timeout=5):
    ...         print("alone, with fencing token", hold.fencing_token > 0)
    alone, with fencing token True
    """

    __slots__ = ("__weakref__",)

    def __new__(
        cls,
        path: str | PathLike[str],
        name: str = "default",
        *,
        death_policy: Literal["inform", "release"] | None = None,
        patience: float | None = None,
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
            kind="rwlock",
            death_policy=death_policy,
            patience=patience,
            participants=participants,
            locks=locks,
            mode=mode,
            group=group,
            label=label,
            must_exist=must_exist,
        )

    def read(self, blocking: bool = True, timeout: float = -1) -> Hold:
        """Reads beside others that do."""
        return self._hold(("read",), blocking, timeout)

    def upgradable(self, blocking: bool = True, timeout: float = -1) -> Hold:
        """Reads, and may write later (`Hold.upgrade`): beside readers, and beside no other one of these."""
        return self._hold(("upgradable",), blocking, timeout)

    def write(self, blocking: bool = True, timeout: float = -1) -> Hold:
        """Writes, alone."""
        return self._hold(("write",), blocking, timeout)


class Semaphore(_Claims):
    """So many permits, first come first served: `threading.BoundedSemaphore`, in a file.

    `value` is how many there are, if the semaphore is created now (`resize` changes it). Permits belong to the process that
    acquired them: when it dies they come back by themselves. So none can be released that this object did not acquire
    (ValueError), and there is no semaphore of 0: this is where it differs from `threading.Semaphore`.

    >>> import os, tempfile, turnlock
    >>> path = os.path.join(tempfile.mkdtemp(), "app.lock")
    >>> workers = turnlock.Semaphore(path, "workers", 2)
    >>> with workers, workers:
    ...     workers.acquire(blocking=False)
    False
    >>> with workers.take(2):  # all of them at once
    ...     workers.permits
    2
    """

    __slots__ = ("__weakref__",)

    def __new__(
        cls,
        path: str | PathLike[str],
        name: str = "default",
        value: int = 1,
        *,
        patience: float | None = None,
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
            kind="semaphore",
            value=value,
            patience=patience,
            participants=participants,
            locks=locks,
            mode=mode,
            group=group,
            label=label,
            must_exist=must_exist,
        )

    def acquire(self, blocking: bool = True, timeout: float | None = None) -> bool:
        """Acquires a permit, waiting at most `timeout` seconds (None: as long as it takes). Returns whether it did."""
        if not blocking and timeout is not None:
            raise ValueError("can't specify timeout for non-blocking acquire")
        return self._acquire(("permits", 1), blocking, -1 if timeout is None else max(timeout, 0))

    def release(self, n: int = 1) -> None:
        """Gives `n` permits back, from any thread of the process. ValueError if this object has not so many."""
        if not isinstance(n, int):
            raise TypeError(f"n is a whole number, not {type(n).__name__}")
        if n < 1:
            raise ValueError("n must be one or more")
        try:
            self._release(n)
        except RuntimeError as error:
            raise ValueError(f"Semaphore released too many times: this object has not acquired {n} permits") from error

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.release()

    def take(self, permits: int = 1, blocking: bool = True, timeout: float = -1) -> Hold:
        """Takes so many permits at once, as a `Hold`."""
        return self._hold(("permits", permits), blocking, timeout)

    @property
    def permits(self) -> int:
        """How many there are, taken or not."""
        return self._permits()

    def resize(self, permits: int) -> None:
        """Makes it have so many, for all processes and at once. Those that are taken stay taken."""
        self._resize(permits)

    def __repr__(self) -> str:
        kind = f"{type(self).__module__}.{type(self).__qualname__} at {id(self):#x}"
        try:
            value = f"value={self._shown()}"
        except (OSError, ValueError, RuntimeError):
            value = "closed" if self.closed else "unusable"
        return f"<{kind}, {self.name!r} in {self.path}: {value}>"

    def get_value(self) -> int:
        """Returns how many permits are free. It may be out of date at once."""
        return self._free()

    def _shown(self) -> str:
        return str(self._free())


class BoundedSemaphore(Semaphore):
    """The same as `Semaphore`, by the name that `threading` has for one that is not released too often."""

    __slots__ = ()

    def _shown(self) -> str:
        return f"{self._free()}/{self._permits()}"


class _Parts(_Claims):
    __slots__ = ("__weakref__",)

    _kind = ""

    def __new__(
        cls,
        path: str | PathLike[str],
        name: str = "default",
        *,
        death_policy: Literal["inform", "release"] | None = None,
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
            kind=cls._kind,
            death_policy=death_policy,
            participants=participants,
            locks=locks,
            mode=mode,
            group=group,
            label=label,
            must_exist=must_exist,
        )


class RangeLock(_Parts):
    """A lock of ranges of numbers: records of a file, pages, hours. A caller waits for the holders
    and the earlier waiters of ranges that overlap with its own, unless both only read.

    A range is the first number and the first that is not in it (None: no end). Each that is held is a participant of the file.

    >>> import os, tempfile, turnlock
    >>> path = os.path.join(tempfile.mkdtemp(), "app.lock")
    >>> records = turnlock.RangeLock(path, "records")
    >>> with records.write(0, 10), records.write(10, 20):
    ...     try:
    ...         records.read(5, 15, blocking=False)
    ...     except turnlock.Timeout:
    ...         print("another process writes there")
    another process writes there
    """

    __slots__ = ()

    _kind = "range"

    def read(self, first: int = 0, end: int | None = None, *, blocking: bool = True, timeout: float = -1) -> Hold:
        """Reads a range, beside others that do."""
        return self._hold(("range", False, *_range(first, end)), blocking, timeout)

    def write(self, first: int = 0, end: int | None = None, *, blocking: bool = True, timeout: float = -1) -> Hold:
        """Writes a range, alone in it."""
        return self._hold(("range", True, *_range(first, end)), blocking, timeout)


class KeyedLock(_Parts):
    """A lock for each key: user names, paths, identifiers. Keys need not be created.

    Each that is held is a participant of the file.

    >>> import os, tempfile, turnlock
    >>> path = os.path.join(tempfile.mkdtemp(), "app.lock")
    >>> users = turnlock.KeyedLock(path, "users")
    >>> with users.write("ada"), users.write("grace"):
    ...     print("at the same time")
    at the same time
    """

    __slots__ = ()

    _kind = "keyed"

    def read(self, key: str | bytes, blocking: bool = True, timeout: float = -1) -> Hold:
        """Reads what a key stands for, beside others that do."""
        return self._hold(("key", False, _key(key)), blocking, timeout)

    def write(self, key: str | bytes, blocking: bool = True, timeout: float = -1) -> Hold:
        """Writes what a key stands for, beside no other holder of the same key."""
        return self._hold(("key", True, _key(key)), blocking, timeout)


class GroupLock(_Parts):
    """Any number of participants of one group are inside together, and never two of different groups; first come first served.
    For programs that agree within a group and not across: two versions of a format, the phases of a batch.

    A group is any number from 0 to 2**64 - 1, and need not be created. Each place that is held is a participant of the file. A
    thread that is inside and enters another group waits for itself.

    The death of a member is told to each that enters afterwards, of whichever group, until one that was told has called
    `mark_consistent`; where another one has done so before, that is a `turnlock.NotInconsistentError`. A release without it closes
    nothing.

    >>> import os, tempfile, turnlock
    >>> path = os.path.join(tempfile.mkdtemp(), "app.lock")
    >>> store = turnlock.GroupLock(path, "store")
    >>> with store.enter(2), store.enter(2):
    ...     try:
    ...         store.enter(1, blocking=False)
    ...     except turnlock.Timeout:
    ...         print("group 2 is inside")
    group 2 is inside
    """

    __slots__ = ()

    _kind = "group"

    def enter(self, group: int, blocking: bool = True, timeout: float = -1) -> Hold:
        """Enters as a member of `group`, beside others of that group."""
        return self._hold(("group", _group(group)), blocking, timeout)
