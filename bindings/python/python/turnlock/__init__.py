"""Locks between processes that are nothing but a memory-mapped file.

    import turnlock

    accounts = turnlock.Lock("app.lock", "accounts")  # created if it is not there
    with accounts:
        ...  # one at a time, among all threads of all processes, in whatever language

`Lock`, `RLock`, `Semaphore`, `Condition`, `Event` and `Barrier` are used as those of `threading`; `RWLock`, `RangeLock` and
`KeyedLock` have readers and writers, of all, of a range, of a key; `GroupLock` is for members of one group, of any number of them at
a time; `Once` is for what one process does and the others find
done; `TurnRing` is a lock whose turn goes round; `lock` and `FileLock` are used as the package filelock's; `turnlock.aio` has
the forms for asyncio, and `turnlock.multiprocessing` is the standard module over these locks. A process that is killed with a
lock leaves it to the next holder, which is told (`previous_owner_died`).
"""

from . import _native

# The native half is of the same package, unless an installation went wrong.
ABI_VERSION = 4
if _native.abi_version != ABI_VERSION:
    raise ImportError(
        f"turnlock: the native half has ABI version {_native.abi_version}, and {ABI_VERSION} is needed: "
        "install the package anew"
    )

from ._claims import BoundedSemaphore, GroupLock, KeyedLock, RangeLock, RWLock, Semaphore
from ._coordination import Barrier, Condition, Event, Once
from ._errors import (
    BadNameError,
    BrokenBarrierError,
    CircularWaitError,
    ClosedError,
    DamagedError,
    DeadlockError,
    Error,
    FileError,
    FullError,
    InternalError,
    InvalidArgumentError,
    KindError,
    LeaseEndedError,
    LockIsADirectoryError,
    LockNotFoundError,
    LockPermissionError,
    NotInconsistentError,
    NotOwnerError,
    NotRecoverableError,
    NotRecoverableWarning,
    OutOfMemoryError,
    RecursionLimitError,
    ReplacedError,
    StillHeldError,
    Timeout,
    WaitCancelledError,
    WaitInterruptedError,
)
from ._facts import Claim, Holder, PreviousOwner, Waiter
from ._filelock import AcquireReturnProxy, FileLock, lock
from ._locks import Lock, RLock, TurnRing
from ._native import Hold

__version__ = _native.version

__all__ = [
    "AcquireReturnProxy",
    "BadNameError",
    "Barrier",
    "BoundedSemaphore",
    "BrokenBarrierError",
    "CircularWaitError",
    "Claim",
    "ClosedError",
    "Condition",
    "DamagedError",
    "DeadlockError",
    "Error",
    "Event",
    "FileError",
    "FileLock",
    "FullError",
    "GroupLock",
    "Hold",
    "Holder",
    "InternalError",
    "InvalidArgumentError",
    "KeyedLock",
    "KindError",
    "LeaseEndedError",
    "Lock",
    "LockIsADirectoryError",
    "LockNotFoundError",
    "LockPermissionError",
    "NotInconsistentError",
    "NotOwnerError",
    "NotRecoverableError",
    "NotRecoverableWarning",
    "Once",
    "OutOfMemoryError",
    "PreviousOwner",
    "RLock",
    "RWLock",
    "RangeLock",
    "RecursionLimitError",
    "ReplacedError",
    "Semaphore",
    "StillHeldError",
    "Timeout",
    "TurnRing",
    "WaitCancelledError",
    "WaitInterruptedError",
    "Waiter",
    "lock",
]

# A class is shown, and pickled, by the name that it is known by.
for _public in (
    Barrier,
    BoundedSemaphore,
    Condition,
    Event,
    FileLock,
    GroupLock,
    KeyedLock,
    Lock,
    Once,
    RangeLock,
    RLock,
    RWLock,
    Semaphore,
    TurnRing,
):
    _public.__module__ = __name__
