"""Waits of asyncio's tasks: one after the other by the same object, each in a thread of its own while it is first."""

from __future__ import annotations

import asyncio
import threading
import time
import weakref
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from . import _native


class Waited(NamedTuple):
    """What came of a wait."""

    got: Any
    """What was acquired, or None."""
    locked_by: str
    """If nothing was: who had the lock, as a sentence; "" if no holder was seen."""


class Line:
    """The tasks of one event loop that wait by one object, first come first served.

    Only the first of them waits in the library, so that many tasks take one thread and one participant more than those that
    hold something.
    """

    def __init__(self) -> None:
        self._has_first = False
        self._behind: deque[asyncio.Future[None]] = deque()

    @property
    def is_empty(self) -> bool:
        """Whether no task waits."""
        return not self._has_first

    @asynccontextmanager
    async def place(self, timeout: float) -> AsyncIterator[bool]:
        """Waits until the task is the first of the line, which it is for the block. False: the time passed before."""
        if not self._has_first:
            self._has_first = True
        elif not await self._until_first(timeout):
            yield False
            return
        try:
            yield True
        finally:
            self._pass_on()

    async def _until_first(self, timeout: float) -> bool:
        turn = asyncio.get_running_loop().create_future()
        self._behind.append(turn)
        try:
            await asyncio.wait_for(turn, None if timeout < 0 else timeout)
        except (TimeoutError, asyncio.TimeoutError):
            return False
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                # The turn came with the cancellation.
                self._pass_on()
            raise
        return True

    def _pass_on(self) -> None:
        while self._behind:
            turn = self._behind.popleft()
            # Those that gave up are still in the line.
            if not turn.done():
                turn.set_result(None)
                return
        self._has_first = False


class Lines:
    """The lines of one object, one for each event loop that uses it."""

    def __init__(self) -> None:
        self._of: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Line] = weakref.WeakKeyDictionary()

    def here(self) -> Line:
        """The one of the event loop that runs."""
        return self._of.setdefault(asyncio.get_running_loop(), Line())

    async def wait(
        self, begin: Callable[[], _native.Wait], timeout: float, give_back: Callable[[Any], None]
    ) -> Waited:
        """Waits at the end of the line, and then in the library, by what `begin` gives; for `timeout` seconds in all."""
        began = time.monotonic()
        async with self.here().place(timeout) as is_first:
            if not is_first:
                return Waited(None, "")
            left = timeout if timeout < 0 else max(timeout - (time.monotonic() - began), 0.0)
            return await in_thread(begin(), left, give_back)


async def in_thread(wait: _native.Wait, timeout: float, give_back: Callable[[Any], None]) -> Waited:
    """Has a thread of its own wait, and gives what it got. What comes after the caller has gone is given back."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Waited] = loop.create_future()

    def tell(waited: Waited, error: BaseException | None) -> None:
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(waited)

    def work() -> None:
        waited, failed = Waited(None, ""), None
        try:
            got = wait.acquire(timeout)
            waited = Waited(got, "" if got else _native._refused_by())
        except BaseException as error:
            failed = error
        try:
            loop.call_soon_threadsafe(tell, waited, failed)
        except RuntimeError:
            # The loop is closed: no task is left that would release it.
            if waited.got:
                give_back(waited.got)

    threading.Thread(target=work, name="turnlock wait", daemon=True).start()
    try:
        return await asyncio.shield(done)
    except asyncio.CancelledError:
        wait.cancel()
        # The thread is done within microseconds, with the lock or without it. A caller that cancels again has to wait,
        # too.
        while not done.done():
            try:
                await asyncio.shield(done)
            except asyncio.CancelledError:
                continue
            except BaseException:
                break
        if done.exception() is None and done.result().got:
            give_back(done.result().got)
        raise
