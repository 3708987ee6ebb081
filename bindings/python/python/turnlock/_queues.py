"""The queues of `turnlock.multiprocessing`: the standard ones, over its locks and over connections that no death tears."""

from __future__ import annotations

import time
from multiprocessing import queues
from multiprocessing.reduction import ForkingPickler as _ForkingPickler
from queue import Empty
from typing import Any

from ._packets import Packets, Torn, pair
from ._primitives import BoundedSemaphore


class Room(BoundedSemaphore):
    """The room of a queue. What a process has taken of it is its own until what it puts is sent; a reader gives it back."""

    def sent(self) -> None:
        """What the calling process has put is in the connection."""
        self._semlock._disown()

    def got(self) -> None:
        """It was taken out."""
        self._semlock._give_got()


class Queue(queues.Queue):  # type: ignore[type-arg]
    """The standard one. What a process that is killed has taken out is lost, and what it had put and was not sent yet."""

    _maxsize: int
    _closed: bool
    _reader: Packets
    _writer: Packets
    _rlock: Any
    _wlock: Any

    def __init__(self, maxsize: int = 0, *, ctx: Any) -> None:
        super().__init__(maxsize, ctx=ctx)
        self._reader.close()
        self._writer.close()
        self._reader, self._writer = pair()
        self._sem = Room(self._maxsize)
        self._reset()

    def _reset(self, after_fork: bool = False) -> None:
        super()._reset(after_fork)  # type: ignore[misc]
        self._send_bytes = self._send

    def _send(self, content: Any) -> None:
        self._writer.send_bytes(content)
        self._sem.sent()

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        if self._closed:
            raise ValueError(f"Queue {self!r} is closed")
        if block and timeout is None:
            with self._rlock:
                content = self._reader.recv_bytes()
                self._sem.got()
        else:
            end = time.monotonic() + (timeout or 0.0) if block else 0.0
            if not self._rlock.acquire(block, timeout):
                raise Empty
            try:
                read = self._reader.read_within(max(end - time.monotonic(), 0.0) if block else 0.0, self._check_writer)
                if read is None:
                    raise Empty
                content = read
                self._sem.got()
            finally:
                self._rlock.release()
        return _ForkingPickler.loads(content)

    def _check_writer(self) -> None:
        """Waits for more of a message, as long as its writer lives."""
        while not self._reader.poll(0.1):
            if self._wlock.acquire(False):
                self._wlock.release()
                if not self._reader.poll():
                    raise Torn


class JoinableQueue(Queue, queues.JoinableQueue):  # type: ignore[type-arg]
    """The standard one. What a killed process has taken out, and said no `task_done` of, is waited for in `join`."""


class SimpleQueue(queues.SimpleQueue):  # type: ignore[type-arg]
    """The standard one."""

    _reader: Packets
    _writer: Packets

    def __init__(self, *, ctx: Any) -> None:
        super().__init__(ctx=ctx)
        self._reader.close()
        self._writer.close()
        self._reader, self._writer = pair()
        self._poll = self._reader.poll
