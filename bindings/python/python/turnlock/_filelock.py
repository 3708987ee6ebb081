"""`FileLock`, which can stand in for the one of the package filelock, and `lock`, a short way to one."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import threading
import warnings
from types import TracebackType
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from . import _native
from ._errors import LockIsADirectoryError, Timeout
from ._locks import Lock

if TYPE_CHECKING:
    from typing_extensions import Self

NAME = "default"

# filelock's own logger, so that what a program has set for it holds here too.
_LOGGER = logging.getLogger("filelock")


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
    # Also where the lock is free and no time is needed.
    if seconds != seconds:
        raise ValueError("timeout is not a number of seconds: nan")
    if seconds > threading.TIMEOUT_MAX:
        raise OverflowError(f"timeout is {seconds} seconds, and at most {threading.TIMEOUT_MAX}: say -1 for no limit")
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


def warn_of_spelling() -> None:
    """Of an argument that filelock has renamed."""
    warnings.warn("use poll_interval instead of poll_intervall", DeprecationWarning, stacklevel=3)


def log_wait(lock: object, path: str) -> None:
    """As filelock words it, which says how long until it tries again."""
    _LOGGER.debug("Lock %s not acquired on %s, waiting for it ...", id(lock), path)


def log_refusal(waits: bool, lock: object, path: str) -> None:
    """As filelock words it."""
    if waits:
        _LOGGER.debug("Timeout on acquiring lock %s on %s", id(lock), path)
    else:
        _LOGGER.debug("Failed to immediately acquire lock %s on %s", id(lock), path)


def check_path(path: str) -> None:
    """Raises for a path that no lock file can have what open(2) would, and makes the folders that lead to the others."""
    if not path:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    if "\0" in path:
        raise ValueError("embedded null byte")
    if os.path.isdir(path):
        raise LockIsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    os.makedirs(os.path.dirname(path), exist_ok=True)


class _Singletons(type):
    """Gives one object for each path, of those that are asked for with `is_singleton`."""

    _instances: WeakValueDictionary[str, Any]
    _defaults: dict[str, object]

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> None:
        super().__init__(name, bases, namespace)
        # A subclass has objects of its own.
        cls._instances = WeakValueDictionary()

    def __call__(cls, lock_file: str | os.PathLike[str], *arguments: Any, **options: Any) -> Any:
        if not options.get("is_singleton"):
            return super().__call__(lock_file, *arguments, **options)
        there = cls._instances.get(str(lock_file))
        if there is None:
            there = cls._instances[str(lock_file)] = super().__call__(lock_file, *arguments, **options)
            return there
        given = cls._defaults | dict(zip(("timeout", "mode", "thread_local"), arguments, strict=False)) | options
        differ = [
            f"{name} is {was!r}, and {given[name]!r} was given" for name, was in there._compared().items() if given[name] != was
        ]
        if differ:
            raise ValueError(
                f"Singleton lock instances cannot be initialized with differing arguments: there is one of {str(lock_file)!r} "
                f"whose {'; '.join(differ)}"
            )
        return there


class FileLock(contextlib.ContextDecorator, metaclass=_Singletons):
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
    A holder's death frees the lock, and the next holder is not told. Folders that lead to the file are made. With `is_singleton`
    the same object is given for the same path. As a decorator it is held while the function runs. What it does is logged as filelock
    does it (`logging.getLogger("filelock")`, DEBUG).

    The path must be turnlock's alone: an empty file that filelock has left is no lock file (`turnlock.FileError`), since
    two schemes on one file would not exclude each other. Not there: `lifetime`, `SoftFileLock`.
    """

    _defaults: dict[str, object] = {"timeout": -1, "mode": 0o644, "thread_local": True, "blocking": True}

    def __init__(
        self,
        lock_file: str | os.PathLike[str],
        timeout: float = -1,
        mode: int = 0o644,
        thread_local: bool = True,
        *,
        blocking: bool = True,
        is_singleton: bool = False,
        poll_interval: float = 0.05,
    ) -> None:
        self._lock_file = os.fspath(lock_file)
        if not isinstance(self._lock_file, str):
            raise TypeError("lock_file is a str or a path of str, not bytes")
        # As the working directory is now, and not when the lock is acquired first.
        self._path = os.path.abspath(self._lock_file) if self._lock_file else ""
        self._is_singleton = is_singleton
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

    def _compared(self) -> dict[str, object]:
        return {
            "timeout": self._timeout, "mode": self.mode, "thread_local": self._thread_local, "blocking": self.blocking
        }

    @property
    def is_singleton(self) -> bool:
        """Whether there is one object for the path."""
        return self._is_singleton

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
        poll_intervall: float | None = None,
        blocking: bool | None = None,
    ) -> AcquireReturnProxy:
        """Acquires the lock, or counts once more; `turnlock.Timeout` if the time passes first."""
        if poll_intervall is not None:
            warn_of_spelling()
        seconds = _seconds(timeout, self._timeout)
        context = self._context()
        if context.counter == 0:
            _LOGGER.debug("Attempting to acquire lock %s on %s", id(self), self._lock_file)
            lock = context.lock
            if lock is None or lock.closed:
                check_path(self._path)
                lock = Lock(self._path, NAME, mode=self._permissions)
            waits = self.blocking if blocking is None else blocking
            acquired = lock.acquire(blocking=False)
            if not acquired and waits and seconds != 0:
                log_wait(self, self._lock_file)
                acquired = lock.acquire(timeout=seconds)
            if not acquired:
                log_refusal(waits, self, self._lock_file)
                raise Timeout(self._lock_file, _native._refused_by())
            # Another thread that shares the context may have been faster, and let go of it since.
            context.lock, context.counter = lock, 0
        _LOGGER.debug("Lock %s acquired on %s", id(self), self._lock_file)
        context.counter += 1
        return AcquireReturnProxy(self)

    def release(self, force: bool = False) -> None:
        """Counts back; the last time, or with `force`, the lock is released. Nothing if it is not held."""
        context = self._context()
        if context.counter == 0:
            return
        context.counter = 0 if force else context.counter - 1
        if context.counter == 0 and context.lock is not None:
            _LOGGER.debug("Attempting to release lock %s on %s", id(self), self._lock_file)
            context.lock.release()
            _LOGGER.debug("Lock %s released on %s", id(self), self._lock_file)

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
