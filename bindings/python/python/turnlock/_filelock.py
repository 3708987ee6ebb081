"""`FileLock`, which can stand in for the one of the package filelock, and `lock`, a short way to one."""

from __future__ import annotations

import os
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Any

from . import _native
from ._errors import Timeout
from ._locks import Lock

if TYPE_CHECKING:
    from typing_extensions import Self

NAME = "default"


class AcquireReturnProxy:
    """What `FileLock.acquire` returns: a context manager that releases the lock at its end."""

    def __init__(self, lock: "FileLock") -> None:
        self.lock = lock

    def __enter__(self) -> "FileLock":
        return self.lock

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.lock.release()


class _Context:
    """What one thread has of a `FileLock`, or all threads together."""

    def __init__(self) -> None:
        self.counter = 0
        self.lock: Lock | None = None
        self.pid = os.getpid()

    def in_this_process(self) -> "_Context":
        """A forked child has nothing of its parent's."""
        if self.pid != os.getpid():
            self.counter, self.lock, self.pid = 0, None, os.getpid()
        return self


class _ThreadContext(threading.local):
    def __init__(self) -> None:
        self.context = _Context()


def _seconds(timeout: float | None, default: float) -> float:
    """A time limit as `Lock.acquire` takes it: anything negative is no limit, as filelock has it."""
    seconds = default if timeout is None else timeout
    if not isinstance(seconds, (int, float)):
        raise TypeError(f"timeout is a number of seconds or None, not {type(seconds).__name__}")
    return -1 if seconds < 0 else seconds


def permissions(mode: int) -> int:
    """The permissions of a lock file for filelock's `mode`: what it says of its owner's group, and nothing for others.

    A user who can open a lock file of turnlock can block it, so one that every user may write is refused.
    """
    if not isinstance(mode, int):
        raise TypeError(f"mode is a number such as 0o660, not {type(mode).__name__}")
    if mode & 0o002:
        raise ValueError(
            f"mode {mode:#o} lets every user write the lock file, and so block it: "
            "use 0o660 and a group that the users who share it belong to (turnlock.Lock(..., group=))"
        )
    return 0o660 if mode & 0o020 else 0o600


class FileLock:
    """A lock file as the package filelock has it, over turnlock: no polling, first come first served.

    >>> import os, tempfile, turnlock
    >>> path = os.path.join(tempfile.mkdtemp(), "build.lock")
    >>> build = turnlock.FileLock(path, timeout=10)
    >>> with build:
    ...     with build.acquire(timeout=1):  # the same thread again: counted
    ...         build.lock_counter
    2
    >>> build.is_locked
    False

    With `thread_local` (the default, as in filelock) each thread that uses the object acquires the lock by itself; without,
    the threads of the process share one acquisition and its counter. `poll_interval` is accepted and means nothing.
    A holder's death frees the lock, and the next holder is not told.

    The path must be turnlock's alone: an empty file that filelock has left is no lock file (`turnlock.FileError`), since
    two schemes on one file would not exclude each other. Not there: `is_singleton`, `lifetime`, `SoftFileLock`.
    """

    def __init__(
        self,
        lock_file: str | os.PathLike[str],
        timeout: float = -1,
        mode: int = 0o644,
        thread_local: bool = True,
        *,
        blocking: bool = True,
        poll_interval: float = 0.05,
    ) -> None:
        self._lock_file = os.fspath(lock_file)
        if not isinstance(self._lock_file, str):
            raise TypeError("lock_file is a str or a path of str, not bytes")
        # As the working directory is now, and not when the lock is acquired first.
        self._path = os.path.abspath(self._lock_file) if self._lock_file else ""
        if not self._path:
            raise ValueError("lock_file is empty: name the lock file")
        self._timeout = float(_seconds(timeout, -1))
        self._permissions = permissions(mode)
        self.mode = mode
        self.blocking = blocking
        self.poll_interval = poll_interval
        self._thread_local = thread_local
        self._contexts = _ThreadContext() if thread_local else None
        self._shared = _Context()

    def _context(self) -> _Context:
        context = self._shared if self._contexts is None else self._contexts.context
        return context.in_this_process()

    def __getstate__(self) -> dict[str, Any]:
        # For another process, which has nothing of it.
        left_out = ("_contexts", "_shared")
        return {name: value for name, value in self.__dict__.items() if name not in left_out}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._contexts = _ThreadContext() if self._thread_local else None
        self._shared = _Context()

    @property
    def lock_file(self) -> str:
        """The path, as it was given."""
        return self._lock_file

    @property
    def timeout(self) -> float:
        """How many seconds `acquire` waits if it is not told otherwise; negative: as long as it takes."""
        return self._timeout

    @timeout.setter
    def timeout(self, value: float | str) -> None:
        self._timeout = float(value)

    def is_thread_local(self) -> bool:
        """Whether each thread acquires the lock by itself."""
        return self._thread_local

    @property
    def is_locked(self) -> bool:
        """Whether this object has the lock (in this thread, if it is thread-local)."""
        return self._context().counter > 0

    @property
    def lock_counter(self) -> int:
        """How often this object has acquired the lock without releasing it."""
        return self._context().counter

    @property
    def native(self) -> Lock | None:
        """The `turnlock.Lock` under it while it has the lock: fencing token, previous owner; else None."""
        context = self._context()
        return context.lock if context.counter > 0 else None

    def acquire(
        self,
        timeout: float | None = None,
        poll_interval: float | None = None,
        *,
        blocking: bool | None = None,
    ) -> AcquireReturnProxy:
        """Acquires the lock, or counts once more; `turnlock.Timeout` if the time passes first."""
        seconds = _seconds(timeout, self._timeout)
        context = self._context()
        if context.counter == 0:
            lock = context.lock
            if lock is None or lock.closed:
                lock = Lock(self._path, NAME, mode=self._permissions)
            waits = self.blocking if blocking is None else blocking
            acquired = lock.acquire(timeout=seconds) if waits else lock.acquire(blocking=False)
            if not acquired:
                raise Timeout(self._lock_file, _native._refused_by())
            # Another thread that shares the context may have been faster, and let go of it since.
            context.lock, context.counter = lock, 0
        context.counter += 1
        return AcquireReturnProxy(self)

    def release(self, force: bool = False) -> None:
        """Counts back; the last time, or with `force`, the lock is released. Nothing if it is not held."""
        context = self._context()
        if context.counter == 0:
            return
        context.counter = 0 if force else context.counter - 1
        if context.counter == 0 and context.lock is not None:
            context.lock.release()

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.release()

    def __del__(self) -> None:
        # One whose constructor failed has none.
        if hasattr(self, "_shared"):
            self.release(force=True)

    def __repr__(self) -> str:
        state = "locked" if self.is_locked else "unlocked"
        return f"<{state} turnlock.FileLock of {self._lock_file!r} at {id(self):#x}>"


def lock(
    path: str | os.PathLike[str],
    timeout: float = -1,
    *,
    blocking: bool = True,
    mode: int = 0o644,
) -> FileLock:
    """A lock file to be held for a while: `with turnlock.lock("build.lock"):`. As `FileLock(path, timeout)`.

    >>> import os, tempfile, turnlock
    >>> path = os.path.join(tempfile.mkdtemp(), "build.lock")
    >>> with turnlock.lock(path, timeout=5):
    ...     try:
    ...         turnlock.lock(path, blocking=False).acquire()
    ...     except turnlock.Timeout:
    ...         print("another process is busy")
    another process is busy
    """
    return FileLock(path, timeout, mode, blocking=blocking)
