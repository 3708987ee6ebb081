"""The exceptions, and which of turnlock's status numbers each of them stands for."""

import errno as _errno
import os
import sys
import threading
import warnings

from ._facts import Holder


class Error(Exception):
    """What turnlock raises is one of these, but for wrong arguments: those are TypeError, ValueError or OverflowError.

    `code` is the status number of the C ABI (include/turnlock.h), or None.
    """

    code: int | None = None


class Timeout(Error, TimeoutError):
    """The lock was not acquired in time. `lock_file` is the path, as in filelock's exception of this name.

    Raised by `turnlock.lock`, `FileLock` and `AsyncFileLock`; `acquire` of the other classes returns False instead.
    """

    def __init__(self, lock_file: str, locked_by: str = "") -> None:
        super().__init__(lock_file)
        self._lock_file = lock_file
        self._locked_by = locked_by

    def __reduce__(self) -> tuple[type["Timeout"], tuple[str, str]]:
        return self.__class__, (self._lock_file, self._locked_by)

    def __str__(self) -> str:
        why = f": {self._locked_by}; wait longer, or try later" if self._locked_by else "."
        return f"The file lock '{self._lock_file}' could not be acquired{why}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._lock_file!r})"

    @property
    def lock_file(self) -> str:
        """The path of the lock file."""
        return self._lock_file


def one_of(holders: list[Holder]) -> str:
    """Who has a lock, as a sentence; "" if no holder was seen. A wait that was cancelled does not say it."""
    if not holders:
        return ""
    holder, *others = holders
    name = f"process {holder.pid} ({holder.label})" if holder.label else f"process {holder.pid}"
    span = " has it" if holder.for_seconds is None else f" has had it for {holder.for_seconds:.1f} s"
    return name + span + (f", and {len(others)} more have it too" if others else "")


class NotOwnerError(Error, RuntimeError):
    """The lock was not acquired by whom it would have to be: by this object in this process, or for an RLock by this
    thread. A forked child does not have its parent's locks."""


class RecursionLimitError(Error, RuntimeError):
    """The thread has the lock as often as it can: release it as often as it was acquired."""


class DeadlockError(Error, RuntimeError):
    """The caller has or awaits what it asks for, so waiting would never end."""


class CircularWaitError(DeadlockError):
    """This wait without a timeout closed a circle of threads that wait for one another: the message says which, what they hold and
    what they wait for. Nothing of the wait is left in the queue; release what is held, for the others."""


class WaitCancelledError(Error):
    """Another thread ended the wait. Nothing of it is left in the queue."""


class NotRecoverableError(Error):
    """A holder died, and the next one released the lock without `mark_consistent`: the lock is closed until `reset`."""


class NotInconsistentError(Error, RuntimeError):
    """`mark_consistent`, and no holder had died: there is nothing to mark."""


class BrokenBarrierError(Error, threading.BrokenBarrierError):
    """The barrier is broken, until `reset`: a party died or gave up, or it was aborted or reset. The message says which, and who."""


class LeaseEndedError(Error):
    """The lock was released, and its lease had ended before: another host may have had it in the meantime."""


class ClosedError(Error, ValueError):
    """The lock object was closed: make another one."""


class StillHeldError(Error, RuntimeError):
    """The lock object is closed while it holds the lock: release it first."""


class FullError(Error, OSError):
    """The file has no more room for participants or for named locks, or less than was asked for: the message says who has
    them. Both numbers are fixed when the file is created (`participants=`, `locks=`)."""


class KindError(Error, ValueError):
    """The name belongs to a lock of another kind, or one that was created with another patience or death policy: take another
    name, or what it was made with."""


class FileError(Error, OSError):
    """Something is wrong with the lock file: the message says what, and what to do."""


class LockPermissionError(FileError, PermissionError):
    """The operating system does not allow it, or the file's permissions are unsafe."""


class LockNotFoundError(FileError, FileNotFoundError):
    """The file or the lock does not exist, and was not to be created; or it was removed."""


class LockIsADirectoryError(FileError, IsADirectoryError):
    """A folder where a lock file should be."""


class ReplacedError(FileError):
    """The path names another file than the one that is open: make the lock object anew."""


class DamagedError(FileError):
    """The file was truncated or overwritten: what was inside may not have been alone."""


class InternalError(Error, RuntimeError):
    """A defect in turnlock: please report it."""


class BadNameError(Error, ValueError):
    """A lock's name that cannot be stored."""


class InvalidArgumentError(Error, ValueError):
    """An argument that is out of range or contradicts another."""


class OutOfMemoryError(Error, MemoryError):
    """No memory; nothing was done."""


class WaitInterruptedError(Error, InterruptedError):
    """A wait that the end of the interpreter interrupted."""


class NotRecoverableWarning(RuntimeWarning):
    """A release has closed a lock for everyone, until a reset: its death policy is "inform", a holder had died, and the next one
    released it without `mark_consistent`."""


def warn_of_closed(name: str, path: str) -> None:
    """Says so, at the line that released the lock. The native half calls it."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("turnlock."):
        frame, level = frame.f_back, level + 1
    text = (
        f"the lock {name!r} in {path} is closed for everyone from now on: a holder died inside, and the next one released it "
        "without mark_consistent(); look at the data, then call reset(), or run `turnlock reset`"
    )
    warnings.warn(text, NotRecoverableWarning, stacklevel=level)


# By the numbers of include/turnlock.h; a test compares them.
CLASSES: dict[int, tuple[type[Error], int | None]] = {
    -1: (InvalidArgumentError, None),
    -2: (Error, None),  # would block: `acquire` returns False
    -3: (Error, None),  # timed out: likewise
    -4: (WaitCancelledError, None),
    -5: (DeadlockError, None),
    -6: (NotOwnerError, None),
    -7: (NotRecoverableError, None),
    -8: (ClosedError, None),
    -9: (FullError, _errno.EAGAIN),
    -10: (FullError, _errno.ENOSPC),
    -11: (BadNameError, None),
    -12: (FileError, _errno.EINVAL),
    -13: (FileError, _errno.EPROTO),
    -14: (DamagedError, _errno.EIO),
    -15: (ReplacedError, _errno.ESTALE),
    -16: (LockPermissionError, _errno.EACCES),
    -17: (LockNotFoundError, _errno.ENOENT),
    -18: (FileError, _errno.EOPNOTSUPP),
    -19: (FileError, _errno.ENOSPC),
    -20: (FileError, _errno.EIO),
    -21: (KindError, None),
    -22: (Error, None),  # a participant in two calls at once: another one is taken instead
    -23: (InternalError, None),
    -24: (StillHeldError, None),
    -25: (NotInconsistentError, None),
    -26: (FullError, _errno.ENOSPC),
    -27: (FileError, _errno.ENOSYS),
    -28: (WaitInterruptedError, _errno.EINTR),
    -29: (OutOfMemoryError, None),
    -30: (FileError, _errno.EBUSY),
    -31: (RecursionLimitError, None),
    -32: (InvalidArgumentError, None),
    -33: (NotOwnerError, None),
    -34: (InvalidArgumentError, None),
    -35: (InvalidArgumentError, None),
    -36: (InvalidArgumentError, None),
    -37: (BrokenBarrierError, None),
    -38: (CircularWaitError, None),
    -39: (LeaseEndedError, None),
}

# What to do, where the library's own words speak of its other languages.
_MESSAGES: dict[int, str] = {
    -6: (
        "the lock is not held: it was not acquired by this object in this process (an RLock: by this thread), or was "
        "released already; a forked child does not have its parent's locks"
    ),
    -7: (
        "the lock is not recoverable: a holder died, and the next one released the lock without mark_consistent(); "
        "repair the data, then call reset(), or run `turnlock reset`"
    ),
    -8: "the lock object was closed: make another one",
    -24: "the lock is still held: release it before closing",
}


def of(code: int, message: str, errno: int | None) -> Error:
    """The exception for a status number. The native half calls it."""
    cls, usual = CLASSES.get(code, (Error, None))
    text = _MESSAGES.get(code, message)
    if issubclass(cls, OSError):
        number = errno or usual or _errno.EIO
        error: Error = cls(number, text or os.strerror(number))
    else:
        error = cls(text)
    error.code = code
    return error
