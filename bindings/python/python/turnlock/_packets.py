"""The connection of `turnlock.multiprocessing`'s queues: a message of which a killed process has sent or received a part is skipped.

A pipe is a stream of bytes. A reader that is killed between the length of a message and its content leaves the content to the next
reader, which takes it for a length; so does a writer that is killed in the midst of a long message. Here a message is one packet
of a socket, or several of which the first says that it is the first.
"""

from __future__ import annotations

import io
import os
import socket
import struct
import time
from multiprocessing import reduction
from multiprocessing.connection import Connection
from typing import Any

# What a packet begins with: what it is, and of how many bytes the message is.
_HEAD = struct.Struct("!BQ")
_WHOLE, _FIRST, _MORE = range(3)
# How many bytes of a message are in a packet: what the kernel lets a socket have, with some room.
_BYTES = 65536


class Torn(Exception):
    """The message ends in its midst: its writer was killed."""


class Packets(Connection):
    """One end of such a connection, for one reader at a time and one writer."""

    def _send_bytes(self, buf: Any) -> None:
        size = len(buf)
        if size <= _BYTES:
            self._write_packet(_HEAD.pack(_WHOLE, size), buf)
            return
        for begin in range(0, size, _BYTES):
            kind = _MORE if begin else _FIRST
            self._write_packet(_HEAD.pack(kind, size), buf[begin : begin + _BYTES])

    def _write_packet(self, head: bytes, content: Any) -> None:
        # All of it, or nothing.
        os.writev(self.fileno(), (head, content))

    def _read_packet(self) -> tuple[int, int, bytes]:
        packet = os.read(self.fileno(), _HEAD.size + _BYTES)
        if not packet:
            raise EOFError
        kind, size = _HEAD.unpack_from(packet)
        return kind, size, packet[_HEAD.size :]

    def _recv_bytes(self, maxsize: int | None = None) -> io.BytesIO | None:
        return self._read_message(maxsize, lambda: None)

    def _read_message(self, maxsize: int | None, before_more: Any) -> io.BytesIO | None:
        """The next message; `before_more` is called before each wait for more of it."""
        message = io.BytesIO()
        wanted = None
        while True:
            if wanted is not None:
                before_more()
            kind, size, content = self._read_packet()
            if kind != _MORE:
                # What there was before is of a writer that was killed.
                message, wanted = io.BytesIO(), size
            elif wanted is None:
                # The rest of a message that a killed reader has begun.
                continue
            message.write(content)
            if message.tell() >= wanted:
                break
        if maxsize is not None and wanted > maxsize:
            return None
        return message

    def read_within(self, timeout: float, before_more: Any) -> bytes | None:
        """The next message, if its beginning comes within `timeout` seconds."""
        end = time.monotonic() + timeout
        while True:
            if not self.poll(max(end - time.monotonic(), 0.0)):
                return None
            if self._peek() == _MORE:
                # The rest of a message that a killed reader has begun.
                self._read_packet()
                continue
            try:
                message = self._read_message(None, before_more)
            except Torn:
                continue
            return None if message is None else message.getvalue()

    def _peek(self) -> int:
        with socket.socket(fileno=os.dup(self.fileno())) as own:
            head = own.recv(1, socket.MSG_PEEK)
        return head[0] if head else _WHOLE


def pair() -> tuple[Packets, Packets]:
    """A reader and a writer."""
    reading, writing = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    reading.setblocking(True)
    writing.setblocking(True)
    reading.shutdown(socket.SHUT_WR)
    return Packets(reading.detach(), writable=False), Packets(writing.detach(), readable=False)


def _rebuild(descriptor: Any, readable: bool, writable: bool) -> Packets:
    return Packets(descriptor.detach(), readable, writable)


def _reduce(packets: Packets) -> tuple[Any, tuple[Any, bool, bool]]:
    return _rebuild, (reduction.DupFd(packets.fileno()), packets.readable, packets.writable)


reduction.register(Packets, _reduce)
