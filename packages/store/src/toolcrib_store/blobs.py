"""Content in the database: in pieces, each with its checksum, so that what is read is what was written."""

from __future__ import annotations

import hashlib
from typing import Final

from sqlalchemy import Connection, delete, exists, insert, select

from toolcrib_store.faults import damaged
from toolcrib_store.tables import ARTIFACTS, BLOBS, CHUNKS

CHUNK_BYTES: Final = 256 * 1024


def add_blob(connection: Connection, digest: bytes, content: bytes, *, now: float) -> None:
    """Store content under its digest, unless it is there."""
    if connection.scalar(select(exists().where(BLOBS.c.digest == digest))):
        return
    connection.execute(insert(BLOBS).values(digest=digest, size=len(content), created_at=now))
    pieces = [content[start : start + CHUNK_BYTES] for start in range(0, len(content), CHUNK_BYTES)]
    rows = [
        {"digest": digest, "number": number, "content": piece, "sha256": hashlib.sha256(piece).digest()}
        for number, piece in enumerate(pieces)
    ]
    if rows:
        connection.execute(insert(CHUNKS), rows)


def read_blob(connection: Connection, digest: bytes, start: int, stop: int, *, name: str) -> bytes:
    """The content from `start` to before `stop`.

    Raises:
        StoreDamaged: A piece is missing, or is not what was written.
    """
    if stop <= start:
        return b""
    first, last = start // CHUNK_BYTES, (stop - 1) // CHUNK_BYTES
    wanted = select(CHUNKS.c.number, CHUNKS.c.content, CHUNKS.c.sha256).where(
        CHUNKS.c.digest == digest, CHUNKS.c.number.between(first, last)
    )
    pieces = []
    for number, row in enumerate(connection.execute(wanted.order_by(CHUNKS.c.number)), start=first):
        if row.number != number or not _is_whole(row.content, row.sha256):
            raise damaged(name)
        pieces.append(row.content)
    content = b"".join(pieces)
    part = content[start - first * CHUNK_BYTES : stop - first * CHUNK_BYTES]
    if len(part) != stop - start:
        raise damaged(name)
    return part


def drop_unused(connection: Connection) -> None:
    """Delete the content that no artifact has any more."""
    connection.execute(delete(BLOBS).where(~exists().where(ARTIFACTS.c.digest == BLOBS.c.digest)))


def _is_whole(content: object, sha256: bytes) -> bool:
    # SQLite keeps any type in any column.
    return isinstance(content, bytes) and hashlib.sha256(content).digest() == sha256
