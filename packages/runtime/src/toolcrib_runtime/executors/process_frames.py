"""Frames between this process and a worker: a length in four bytes, then so many bytes of JSON."""

from __future__ import annotations

import os
import struct
from typing import Any, BinaryIO, Final, Protocol

import orjson

MAX_FRAME: Final = 64 * 1024 * 1024
"""How many bytes of JSON one frame may hold; a toolbox takes 16 MiB of output unless it is told otherwise."""

_LENGTH = struct.Struct(">I")
_CHUNK = 64 * 1024


class FrameTooLarge(Exception):
    """A message is larger than a frame may be."""


class BrokenFrames(Exception):
    """What came is not a frame: something else wrote into the pipe."""


class ByteReader(Protocol):
    """The part of `PipeReader` that is needed here."""

    async def read(self, max_bytes: int, /) -> bytes:
        """What has come; empty at the end."""


def frame_of(message: dict[str, Any]) -> bytes:
    """A message as a frame.

    Raises:
        FrameTooLarge: It does not fit.
        TypeError: A part of it is not JSON.
    """
    body = orjson.dumps(message)
    if len(body) > MAX_FRAME:
        raise FrameTooLarge
    return _LENGTH.pack(len(body)) + body


class FrameReader:
    """Reads frames on the event loop; a reader that is cancelled loses nothing of a frame."""

    def __init__(self, pipe: ByteReader) -> None:
        self._pipe = pipe
        self._buffer = bytearray()

    async def next(self, max_bytes: int = MAX_FRAME) -> dict[str, Any] | None:
        """The next message; `None` at the end of the stream, also in the middle of a frame.

        Raises:
            FrameTooLarge: It has more bytes than the caller takes; nothing of it was read beyond its beginning.
            BrokenFrames: There is something else in the stream.
        """
        buffer = self._buffer
        while (missing := _missing(buffer, max_bytes)) > 0:
            chunk = await self._pipe.read(max(missing, _CHUNK))
            if not chunk:
                return None
            buffer += chunk
        end = _LENGTH.size + _LENGTH.unpack_from(buffer)[0]
        message = _message(buffer[_LENGTH.size : end])
        del buffer[:end]
        return message


def read_frame(stream: BinaryIO) -> dict[str, Any] | None:
    """The next message of a stream that blocks; `None` at its end.

    Raises:
        BrokenFrames: There is something else in the stream.
    """
    head = stream.read(_LENGTH.size)
    _missing(bytearray(head))
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    body = stream.read(length)
    return _message(body) if len(body) == length else None


def write_frame(handle: int, frame: bytes) -> None:
    """Write all of a frame to a descriptor that blocks."""
    rest = memoryview(frame)
    while rest:
        rest = rest[os.write(handle, rest) :]


def _missing(buffer: bytearray, max_bytes: int = MAX_FRAME) -> int:
    """How many bytes must come before there is a whole frame."""
    if len(buffer) < _LENGTH.size:
        return _LENGTH.size - len(buffer)
    (length,) = _LENGTH.unpack_from(buffer)
    if length > MAX_FRAME:
        raise BrokenFrames
    if length > max_bytes:
        raise FrameTooLarge
    return int(length) + _LENGTH.size - len(buffer)


def _message(body: bytes | bytearray) -> dict[str, Any]:
    try:
        message = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise BrokenFrames from None
    if not isinstance(message, dict):
        raise BrokenFrames
    return message
