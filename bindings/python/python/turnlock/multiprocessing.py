"""`multiprocessing`, whose locks and queues survive the death of a process at any moment.

    from turnlock import multiprocessing

It has the names of the standard module. `Lock`, `RLock`, `Semaphore`, `BoundedSemaphore`, `Condition`, `Event` and `Barrier` are
turnlock's, in memory that has no name and is gone with the last process that has it open; `Queue`, `JoinableQueue`, `SimpleQueue`
and `Pool` are the standard ones, over them. Everything else is the standard module's own.

A process that is killed gives back what it had: a lock that it held is free, without a word, and a permit of a semaphore that it
had acquired too, unless that was created with none. A party of a `Barrier` that is killed breaks it.

>>> from turnlock import multiprocessing
>>> with multiprocessing.Pool(2) as pool:
...     pool.map(abs, [1, -2, 3])
[1, 2, 3]
"""

from __future__ import annotations

import multiprocessing as _standard
from collections.abc import Callable
from multiprocessing import context as _context
from multiprocessing.context import (
    AuthenticationError,
    BufferTooShort,
    Process,
    ProcessError,
    TimeoutError,
)
from typing import Any

from . import _primitives, _queues


class _Primitives(_context.BaseContext):
    """What a context has instead of the standard one's."""

    def Lock(self) -> _primitives.Lock:
        return _primitives.Lock()

    def RLock(self) -> _primitives.RLock:
        return _primitives.RLock()

    def Semaphore(self, value: int = 1) -> _primitives.Semaphore:
        return _primitives.Semaphore(value)

    def BoundedSemaphore(self, value: int = 1) -> _primitives.BoundedSemaphore:
        return _primitives.BoundedSemaphore(value)

    def Condition(self, lock: Any = None) -> _primitives.Condition:
        return _primitives.Condition(lock, ctx=self)

    def Event(self) -> _primitives.Event:
        return _primitives.Event()

    def Barrier(
        self, parties: int, action: Callable[[], object] | None = None, timeout: float | None = None
    ) -> _primitives.Barrier:
        return _primitives.Barrier(parties, action, timeout)

    def Queue(self, maxsize: int = 0) -> _queues.Queue:
        return _queues.Queue(maxsize, ctx=self.get_context())

    def JoinableQueue(self, maxsize: int = 0) -> _queues.JoinableQueue:
        return _queues.JoinableQueue(maxsize, ctx=self.get_context())

    def SimpleQueue(self) -> _queues.SimpleQueue:
        return _queues.SimpleQueue(ctx=self.get_context())

    def get_context(self, method: str | None = None) -> Any:
        if method is None:
            return self
        return _context_of(_standard.get_context(method).get_start_method())


class ForkContext(_Primitives, _context.ForkContext):
    pass


class SpawnContext(_Primitives, _context.SpawnContext):
    pass


class ForkServerContext(_Primitives, _context.ForkServerContext):
    pass


_contexts = {"fork": ForkContext(), "spawn": SpawnContext(), "forkserver": ForkServerContext()}


def _context_of(method: str) -> Any:
    return _contexts[method]


class _DefaultContext(_Primitives):
    """That of the program's start method, which is the standard module's."""

    Process = Process

    def get_context(self, method: str | None = None) -> Any:
        return super().get_context(_standard.get_start_method() if method is None else method)

    def get_start_method(self, allow_none: bool = False) -> Any:
        return _standard.get_start_method(allow_none)

    def set_start_method(self, method: str | None, force: bool = False) -> None:
        _standard.set_start_method(method, force)

    def get_all_start_methods(self) -> list[str]:
        return _standard.get_all_start_methods()


_default = _DefaultContext()

Array = _default.Array
Barrier = _default.Barrier
BoundedSemaphore = _default.BoundedSemaphore
Condition = _default.Condition
Event = _default.Event
JoinableQueue = _default.JoinableQueue
Lock = _default.Lock
Manager = _default.Manager
Pipe = _default.Pipe
Pool = _default.Pool
Queue = _default.Queue
RLock = _default.RLock
RawArray = _default.RawArray
RawValue = _default.RawValue
Semaphore = _default.Semaphore
SimpleQueue = _default.SimpleQueue
Value = _default.Value
active_children = _default.active_children
allow_connection_pickling = _default.allow_connection_pickling
cpu_count = _default.cpu_count
current_process = _default.current_process
freeze_support = _default.freeze_support
get_all_start_methods = _default.get_all_start_methods
get_context = _default.get_context
get_logger = _default.get_logger
get_start_method = _default.get_start_method
log_to_stderr = _default.log_to_stderr
parent_process = _default.parent_process
reducer = _default.reducer
set_executable = _default.set_executable
set_forkserver_preload = _default.set_forkserver_preload
set_start_method = _default.set_start_method

__all__ = [
    "Array",
    "AuthenticationError",
    "Barrier",
    "BoundedSemaphore",
    "BufferTooShort",
    "Condition",
    "Event",
    "JoinableQueue",
    "Lock",
    "Manager",
    "Pipe",
    "Pool",
    "Process",
    "ProcessError",
    "Queue",
    "RLock",
    "RawArray",
    "RawValue",
    "Semaphore",
    "SimpleQueue",
    "TimeoutError",
    "Value",
    "active_children",
    "allow_connection_pickling",
    "cpu_count",
    "current_process",
    "freeze_support",
    "get_all_start_methods",
    "get_context",
    "get_logger",
    "get_start_method",
    "log_to_stderr",
    "parent_process",
    "reducer",
    "set_executable",
    "set_forkserver_preload",
    "set_start_method",
]
