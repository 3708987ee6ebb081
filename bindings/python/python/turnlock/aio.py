"""The locks for asyncio: they block no event loop, and a wait that is cancelled leaves nothing in the queue.

    import asyncio, turnlock.aio

    async def transfer():
        async with turnlock.aio.Lock("app.lock", "accounts"):
            ...

A lock that is free is acquired at once, in the event loop's thread. One that is not is waited for in a thread of its own,
for as long as the wait lasts; each wait has a participant of its own in the lock file (`participants=`, 128 if not said).
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any

from . import _filelock, _locks, _native
from ._errors import Timeout

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Lock", "TurnRing", "FileLock"]


async def _acquire(lock: _native.Exclusive, blocking: bool = True, timeout: float = -1) -> bool:
    """Acquires `lock`, in a thread of its own if that takes a wait."""
    if lock.acquire(blocking=False):
        return True
    if not blocking or timeout == 0:
        return False
    loop = asyncio.get_running_loop()
    wait = lock._wait()
    done: asyncio.Future[bool] = loop.create_future()

    def tell(acquired: bool, error: BaseException | None) -> None:
        if done.done():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(acquired)

    def work() -> None:
        acquired, failed = False, None
        try:
            acquired = wait.acquire(timeout)
        except BaseException as error:
            failed = error
        try:
            loop.call_soon_threadsafe(tell, acquired, failed)
        except RuntimeError:
            # The loop is closed: nobody is left who would release it.
            if acquired:
                lock._give_back()

    threading.Thread(target=work, name="turnlock wait", daemon=True).start()
    try:
        return await asyncio.shield(done)
    except asyncio.CancelledError:
        wait.cancel()
        # The thread is done within microseconds, with the lock or without it. Whoever cancels again has to wait, too.
        while not done.done():
            try:
                await asyncio.shield(done)
            except asyncio.CancelledError:
                continue
            except BaseException:
                break
        if done.exception() is None and done.result():
            lock._give_back()
        raise


class _Async:
    """What the forms for asyncio have in common: `lock` is the native one under it."""

    lock: _native.Exclusive

    async def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Acquires the lock, waiting at most `timeout` seconds (-1: as long as it takes). Returns whether it was acquired.

        If the task is cancelled while it waits, nothing of the wait is left in the queue.
        """
        return await _acquire(self.lock, blocking, timeout)

    def release(self) -> None:
        """Releases the lock, from any task."""
        self.lock.release()

    def locked(self) -> bool:
        """Returns whether anybody holds the lock, in this process or another."""
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
        return f"<{type(self).__module__}.{type(self).__qualname__} of {self.lock!r}>"


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
        self.lock = _locks.Lock(path, name, **options)


class TurnRing(_Async):
    """`turnlock.TurnRing` for asyncio, on demand: each wait takes part until its turn is over."""

    def __init__(self, path: Any, name: str = "default", **options: Any) -> None:
        if options.get("standing"):
            raise ValueError("a task cannot stand in a ring, since it has no participant of its own: leave standing out")
        self.lock = _locks.TurnRing(path, name, **options)


class FileLock:
    """filelock's `AsyncFileLock`, over turnlock: `async with FileLock("build.lock"):`.

    One object holds the lock once, however often it acquires it: `acquire` counts, and the last `release` releases.
    """

    def __init__(
        self, lock_file: Any, timeout: float = -1, mode: int = 0o644, *, blocking: bool = True, poll_interval: float = 0.05
    ) -> None:
        # Checks the arguments as well.
        self._plan = _filelock.FileLock(lock_file, timeout, mode, False, blocking=blocking, poll_interval=poll_interval)
        self._lock: _locks.Lock | None = None
        self._counter = 0

    @property
    def lock_file(self) -> str:
        """The path, as it was given."""
        return self._plan.lock_file

    @property
    def is_locked(self) -> bool:
        """Whether this object has the lock."""
        return self._counter > 0

    @property
    def lock_counter(self) -> int:
        """How often this object has acquired the lock without releasing it."""
        return self._counter

    async def acquire(
        self, timeout: float | None = None, poll_interval: float | None = None, *, blocking: bool | None = None
    ) -> "_Release":
        """Acquires the lock, or counts once more; `turnlock.Timeout` if the time passes first."""
        seconds = _filelock._seconds(timeout, self._plan.timeout)
        if self._counter == 0:
            if self._lock is None:
                plan = self._plan
                self._lock = _locks.Lock(plan._path, _filelock.NAME, death_policy="release", mode=plan._permissions)
            waits = self._plan.blocking if blocking is None else blocking
            if not await _acquire(self._lock, waits, seconds):
                raise Timeout(self.lock_file)
            self._counter = 0
        self._counter += 1
        return _Release(self.release)

    async def release(self, force: bool = False) -> None:
        """Counts back; the last time, or with `force`, the lock is released. Nothing if it is not held."""
        if self._counter == 0:
            return
        self._counter = 0 if force else self._counter - 1
        if self._counter == 0 and self._lock is not None:
            self._lock.release()

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

    def __init__(self, release: Callable[[], Awaitable[None]]) -> None:
        self._release = release

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._release()
