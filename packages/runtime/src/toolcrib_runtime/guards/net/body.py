"""Bodies of answers: unpacked piece by piece, so that a small answer never becomes a large one unseen."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterable, AsyncIterator
from typing import Final

from toolcrib_core.wording import quoted
from toolcrib_runtime.errors import MalformedOutput, OutputTooLarge

ACCEPTED_ENCODINGS: Final = "gzip, identity"

_PIECE: Final = 64 * 1024
_GZIP: Final = 16 + zlib.MAX_WBITS


def is_packed(encoding: str | None) -> bool:
    """Whether a body of this `Content-Encoding` has to be unpacked.

    Raises:
        MalformedOutput: The encoding is one that was not asked for: only gzip can be bounded while it is unpacked.
    """
    name = (encoding or "identity").strip().lower()
    if name not in ("identity", "gzip", "x-gzip"):
        raise MalformedOutput(
            f"The answer is packed as {quoted(name)}, which was not asked for.",
            hint="Ask the server for gzip or for a plain body.",
            details={"accepted": ACCEPTED_ENCODINGS},
        )
    return name != "identity"


async def unpacked(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The plain bytes of a gzip body, in pieces of at most 64 KB however well they were packed.

    Raises:
        MalformedOutput: The body is not gzip, or stops before its end.
    """
    unpacker = zlib.decompressobj(_GZIP)
    started = False
    async for chunk in chunks:
        rest = chunk
        while rest:
            started = True
            # A body may consist of several gzip members, one after the other.
            if unpacker.eof:
                unpacker = zlib.decompressobj(_GZIP)
            piece = _piece(unpacker, rest)
            rest = unpacker.unused_data or unpacker.unconsumed_tail
            if piece:
                yield piece
                # A kilobyte may hold a megabyte: others get their turn, and a deadline its chance, in between.
                await asyncio.sleep(0)
    if started and not unpacker.eof:
        raise _malformed("stops before its end")


async def read_body(chunks: AsyncIterable[bytes], *, max_bytes: int) -> bytes:
    """The whole body, unless it is too large.

    Raises:
        OutputTooLarge: There is more than `max_bytes`; what follows is not read.
    """
    body = bytearray()
    async for chunk in chunks:
        body += chunk
        if len(body) > max_bytes:
            raise OutputTooLarge(
                f"The answer is longer than {max_bytes:,} bytes.",
                hint="Ask for less, for instance for one page.",
                details={"maxBytes": max_bytes},
            )
    return bytes(body)


def _piece(unpacker: zlib._Decompress, packed: bytes) -> bytes:
    try:
        return unpacker.decompress(packed, _PIECE)
    except zlib.error:
        raise _malformed("is damaged") from None


def _malformed(fault: str) -> MalformedOutput:
    return MalformedOutput(f"The gzip body of the answer {fault}.", hint="Try again, or ask for a plain body.")
