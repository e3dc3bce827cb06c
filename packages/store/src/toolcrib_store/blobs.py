"""Content in the database: in pieces, each with its checksum, so that what is read is what was written."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

from sqlalchemy import Connection, bindparam, delete, exists, insert, select

from toolcrib_store.faults import damaged
from toolcrib_store.tables import ARTIFACTS, BLOBS, CHUNKS

CHUNK_BYTES: Final = 256 * 1024

# Built once: to build a statement takes several times as long as to execute it.
_ADD_BLOBS = insert(BLOBS)
_ADD_CHUNKS = insert(CHUNKS)
_PIECES = (
    select(CHUNKS.c.number, CHUNKS.c.content, CHUNKS.c.sha256)
    .where(CHUNKS.c.digest == bindparam("digest"), CHUNKS.c.number.between(bindparam("first"), bindparam("last")))
    .order_by(CHUNKS.c.number)
)
_DROP_UNUSED = delete(BLOBS).where(~exists().where(ARTIFACTS.c.digest == BLOBS.c.digest))

_GROUP_BYTES = 4 * 1024 * 1024
_GROUP_MEMBERS = 500


def add_blobs(connection: Connection, contents: Mapping[bytes, bytes], *, now: float) -> None:
    """Store contents under their digests; none of them is there yet."""
    for group in _groups(contents):
        blobs = [{"digest": digest, "size": len(content), "created_at": now} for digest, content in group]
        connection.execute(_ADD_BLOBS, blobs)
        chunks = [piece for digest, content in group for piece in _pieces(digest, content)]
        if chunks:
            connection.execute(_ADD_CHUNKS, chunks)


def read_blob(connection: Connection, digest: bytes, start: int, stop: int, *, name: str) -> bytes:
    """The content from `start` to before `stop`.

    Raises:
        StoreDamaged: A piece is missing, or is not what was written.
    """
    if stop <= start:
        return b""
    first, last = start // CHUNK_BYTES, (stop - 1) // CHUNK_BYTES
    rows = connection.execute(_PIECES, {"digest": digest, "first": first, "last": last})
    pieces = []
    for number, row in enumerate(rows, start=first):
        if row.number != number or not is_whole(row.content, row.sha256):
            raise damaged(name)
        pieces.append(row.content)
    content = b"".join(pieces)
    part = content[start - first * CHUNK_BYTES : stop - first * CHUNK_BYTES]
    if len(part) != stop - start:
        raise damaged(name)
    return part


def drop_unused(connection: Connection) -> None:
    """Delete the content that no artifact has any more."""
    connection.execute(_DROP_UNUSED)


def is_whole(content: object, sha256: bytes) -> bool:
    """Whether a piece is what was written."""
    # SQLite keeps any type in any column.
    return isinstance(content, bytes) and hashlib.sha256(content).digest() == sha256


def _groups(contents: Mapping[bytes, bytes]) -> Iterator[list[tuple[bytes, bytes]]]:
    """The contents in groups that are small enough to be copied for one statement."""
    group: list[tuple[bytes, bytes]] = []
    for each in contents.items():
        group.append(each)
        if sum(len(content) for _, content in group) >= _GROUP_BYTES or len(group) >= _GROUP_MEMBERS:
            yield group
            group = []
    if group:
        yield group


def _pieces(digest: bytes, content: bytes) -> Iterator[dict[str, Any]]:
    for number, start in enumerate(range(0, len(content), CHUNK_BYTES)):
        piece = content[start : start + CHUNK_BYTES]
        yield {"digest": digest, "number": number, "content": piece, "sha256": hashlib.sha256(piece).digest()}
