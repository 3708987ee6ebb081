"""The locks of `turnlock.multiprocessing`: the interfaces of the standard ones, in memory without a name."""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Callable
from multiprocessing import context, reduction, synchronize
from typing import Any

from . import _native
from ._coordination import _leave_in_order
from ._errors import BrokenBarrierError

_PATH = "/memfd:turnlock"
_RECURSIVE, _SEMAPHORE = range(2)
_MAX: int = synchronize.SEM_VALUE_MAX  # type: ignore[attr-defined]


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


class Arena:
    """Memory files in which primitives are, as this process has them open. It lives as long as one of its primitives does."""

    def __init__(self, descriptor: int, words: int) -> None:
        self.descriptors = descriptor, words
        self.native = _native.Arena(descriptor, words)
        weakref.finalize(self, _close, descriptor, words).atexit = False
        _arenas[os.fstat(descriptor).st_ino] = self

    def __reduce__(self) -> tuple[Any, ...]:
        context.assert_spawning(self)
        return _arena_of, tuple(map(reduction.DupFd, self.descriptors))

    def mutex(self, number: int) -> _native.Exclusive:
        """The mutex of a place."""
        return _native.Exclusive(_PATH, f"mutex {number}", kind="mutex", descriptor=self.descriptors[0])

    def coordination(self, kind: str, name: str, **options: Any) -> _native.Coordination:
        """A condition, an event or a barrier."""
        return _native.Coordination(_PATH, name, kind=kind, descriptor=self.descriptors[0], **options)


# Those of this process, by the numbers of their files.
_arenas: weakref.WeakValueDictionary[int, Arena] = weakref.WeakValueDictionary()
# The one in which the next primitive is.
_newest: Arena | None = None


def _arena_of(*given: Any) -> Arena:
    """In a child: the arena of two descriptors that it has inherited."""
    descriptors = [each.detach() for each in given]
    known = _arenas.get(os.fstat(descriptors[0]).st_ino)
    if known is None:
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)
        return Arena(descriptors[0], descriptors[1])
    _close(*set(descriptors).difference(known.descriptors))
    return known


def place(value: int = 0) -> tuple[Arena, int]:
    """A place for one more primitive, in an arena."""
    global _newest
    while True:
        arena = _newest
        if arena is None:
            words = os.memfd_create("turnlock words")
            os.ftruncate(words, _native.Arena.BYTES)
            arena = _newest = Arena(os.memfd_create("turnlock"), words)
        number = arena.native.take_place(value)
        if number is not None:
            return arena, number
        _newest = None


class SemLock(synchronize.SemLock):
    """What the locks and the semaphores have in common."""

    _semlock: _native.SemLock

    def __init__(self, kind: int, value: int, maxvalue: int, *, is_owned: bool = True) -> None:
        if not 0 <= value <= _MAX:
            raise ValueError(f"a semaphore has a value of 0 to {_MAX}, and not of {value}")
        arena, number = place(value)
        self.__setstate__((arena, (number, maxvalue, kind == _RECURSIVE, is_owned)))

    def __getstate__(self) -> Any:
        context.assert_spawning(self)
        return self._arena, self._made_of

    def __setstate__(self, state: Any) -> None:
        self._arena, self._made_of = state
        self._is_fork_ctx = False
        self._semlock = _native.SemLock(self._arena.native, *self._made_of)
        self._make_methods()  # type: ignore[attr-defined]


class Lock(SemLock, synchronize.Lock):
    """The standard one. Any process may release it; it is free when the process that acquired it is dead."""

    def __init__(self, *, ctx: Any = None) -> None:
        super().__init__(_SEMAPHORE, 1, 1)


class RLock(SemLock, synchronize.RLock):
    """The standard one, which its thread releases; likewise."""

    def __init__(self, *, ctx: Any = None) -> None:
        super().__init__(_RECURSIVE, 1, 1)


class Semaphore(SemLock, synchronize.Semaphore):
    """The standard one. If it is created with permits it is a limit: a permit belongs to the process that acquired it, until any
    process releases one, and is free again when that process is dead. One of 0 is a count of what was released: what was
    acquired is gone."""

    def __init__(self, value: int = 1, *, ctx: Any = None) -> None:
        super().__init__(_SEMAPHORE, value, _MAX, is_owned=value > 0)


class BoundedSemaphore(SemLock, synchronize.BoundedSemaphore):
    """The standard one; likewise."""

    def __init__(self, value: int = 1, *, ctx: Any = None) -> None:
        super().__init__(_SEMAPHORE, value, value, is_owned=value > 0)


class Condition(synchronize.Condition):
    """The standard one, over turnlock's condition."""

    _mutex: _native.Exclusive
    _waiting: _native.Coordination

    # A waiter has the mutex from before it releases the lock until it waits, and a notifier has it too.
    def __init__(self, lock: Any = None, *, ctx: Any) -> None:
        arena, number = place()
        self.__setstate__((lock or ctx.RLock(), arena, number))

    def __getstate__(self) -> Any:
        context.assert_spawning(self)
        return self._lock, self._arena, self._number

    def __setstate__(self, state: Any) -> None:
        self._lock, self._arena, self._number = state
        self._mutex = self._arena.mutex(self._number)
        self._waiting = self._arena.coordination("condition", f"condition {self._number}")
        self._make_methods()  # type: ignore[attr-defined]

    def __repr__(self) -> str:
        return f"<{type(self).__name__}({self._lock}, {self._waiting._waiting()})>"

    def wait(self, timeout: float | None = None) -> bool:
        semlock = self._lock._semlock
        assert semlock._is_mine(), "must acquire() condition before using wait()"
        released = 0
        try:
            with self._mutex:
                for released in range(1, semlock._count() + 1):
                    self._lock.release()
                return self._waiting._wait_with(self._mutex, timeout)
        finally:
            self._acquire_again(released)

    def _acquire_again(self, times: int) -> None:
        raised = None
        for _ in range(times):
            while True:
                try:
                    self._lock.acquire()
                    break
                except (OSError, RuntimeError, ValueError):
                    raise
                except BaseException as error:
                    # Of a signal handler: it is raised with the lock held.
                    raised = error
        if raised is not None:
            raise raised

    def notify(self, n: int = 1) -> None:
        assert self._lock._semlock._is_mine(), "lock is not owned"
        with self._mutex:
            while n > 0 and self._waiting._notify():
                n -= 1

    def notify_all(self) -> None:
        self.notify(sys.maxsize)


class Event(synchronize.Event):
    """The standard one, which is turnlock's event."""

    _event: _native.Coordination

    def __init__(self, *, ctx: Any = None) -> None:
        self.__setstate__(place())

    def __getstate__(self) -> Any:
        context.assert_spawning(self)
        return self._arena, self._number

    def __setstate__(self, state: Any) -> None:
        self._arena, self._number = state
        self._event = self._arena.coordination("event", f"event {self._number}")

    def is_set(self) -> bool:
        return self._event._is_set()

    def set(self) -> None:
        self._event._set()

    def clear(self) -> None:
        self._event._clear()

    def wait(self, timeout: float | None = None) -> bool:
        return self._event._wait_until_set(timeout)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {id(self):#x} {'set' if self.is_set() else 'unset'}>"


class Barrier(synchronize.Barrier):
    """The standard one, over turnlock's barrier: a party that is killed breaks it."""

    _parties: int
    _draws: _native.SemLock
    _barriers: list[_native.Coordination]

    def __init__(
        self, parties: int, action: Callable[[], object] | None = None, timeout: float | None = None, *, ctx: Any = None
    ) -> None:
        if parties < 1:
            raise ValueError("parties must be > 0")
        arena, number = place()
        self.__setstate__((arena, number, RLock(), parties, action, timeout))

    def __getstate__(self) -> Any:
        context.assert_spawning(self)
        return self._arena, self._number, self._is_reset, self._parties, self._action, self._timeout

    def __setstate__(self, state: Any) -> None:
        # `_is_reset` is held while it is reset: who gets to know of it and comes again waits until that is over.
        self._arena, self._number, self._is_reset, self._parties, self._action, self._timeout = state
        self._draws = _native.SemLock(self._arena.native, self._number, _MAX, False, False)
        names = ["come", "act"] if self._action else ["come"]
        self._barriers = [
            self._arena.coordination("barrier", f"{name} {self._number}", parties=self._parties) for name in names
        ]

    def wait(self, timeout: float | None = None) -> int:
        _leave_in_order()
        if timeout is None:
            timeout = self._timeout
        with self._is_reset:
            index = self._draws._draw() % self._parties
        is_last = self._pass(self._barriers[0], timeout)
        if self._action is not None:
            # All are parties of the second one before the action begins, so that a death in its midst breaks that.
            self._pass(self._barriers[1], None)
            if is_last:
                try:
                    self._action()
                except BaseException:
                    self.abort()
                    raise
            self._pass(self._barriers[1], None)
        return index

    def _pass(self, barrier: _native.Coordination, timeout: float | None) -> bool:
        is_last = barrier._wait_for_all(timeout)
        if is_last is None:
            raise BrokenBarrierError(f"the other parties did not come within {timeout} s: the barrier is broken")
        return is_last

    def reset(self) -> None:
        with self._is_reset:
            for barrier in self._barriers:
                barrier._reset()

    def abort(self) -> None:
        for barrier in self._barriers:
            barrier._abort()

    @property
    def parties(self) -> int:
        return self._parties

    @property
    def n_waiting(self) -> int:
        return sum(barrier._waiting() for barrier in self._barriers)

    @property
    def broken(self) -> bool:
        return any(barrier._broken() for barrier in self._barriers)
