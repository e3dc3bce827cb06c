"""Records in a chain: each holds the hash of the one before it, and now and then a signature of that.

A record is a line of JSON whose keys are sorted and whose values are texts and whole numbers, which makes it RFC 8785.
`hash` is the SHA-256 of the line without `hash`. `prevSig` signs the record before, and with it all that came before.
It is no signature of a head, so that none can be made of what stands in a file.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from toolcrib_mcp.audit.keys import AuditKey, PublicKeys

MAX_LINE: Final = 262_144
"""The longest line that is a record, in bytes."""

_SEGMENT: Final = re.compile(r"[0-9]{8}T[0-9]{9}Z-[0-9a-f]{16}")
_VERSION: Final = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Link:
    """What of a record holds the chain together."""

    seq: int
    prev: str
    hash: str
    prev_signature: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """A record that is what was written, as far as it alone can tell."""

    link: Link
    fields: Mapping[str, Any]
    """All of it."""

    @property
    def kind(self) -> str:
        """What it is about."""
        return str(self.fields.get("kind", ""))

    @property
    def time(self) -> str:
        """When it was noted, in UTC as RFC 3339; such texts sort as the times do."""
        return str(self.fields.get("time", ""))


@dataclass(frozen=True, kw_only=True, slots=True)
class Head:
    """How far a segment has come, signed: all records up to this one are what was written."""

    segment: str
    seq: int
    hash: str
    signature: str

    @classmethod
    def signed(cls, key: AuditKey, *, segment: str, seq: int, hash_: str) -> Head:
        """The head for a record."""
        return cls(segment=segment, seq=seq, hash=hash_, signature=key.sign(head_message(segment, seq, hash_)))

    def holds(self, keys: PublicKeys) -> bool:
        """Whether one of the keys has signed it."""
        return keys.signed(head_message(self.segment, self.seq, self.hash), self.signature)


def is_segment(name: str) -> bool:
    """Whether this is what a segment is called: when it began, and a number that nobody else has."""
    return _SEGMENT.fullmatch(name) is not None


def genesis(segment: str) -> str:
    """What the first record of a segment has in the place of the hash before it: no other segment begins so."""
    return hashlib.sha256(f"toolcrib-audit-{_VERSION}:{segment}".encode()).hexdigest()


def head_message(segment: str, seq: int, hash_: str) -> bytes:
    """What is signed of a head."""
    return f"toolcrib-audit-head-{_VERSION}\n{segment}\n{seq}\n{hash_}".encode()


def link_message(segment: str, seq: int, hash_: str) -> bytes:
    """What the `prevSig` of a record signs: the record before it."""
    return f"toolcrib-audit-link-{_VERSION}\n{segment}\n{seq}\n{hash_}".encode()


def sealed(fields: Mapping[str, str | int], *, seq: int, prev: str, prev_signature: str | None) -> tuple[bytes, str]:
    """The line of a record, with its end, and the hash of it."""
    record: dict[str, str | int] = {**fields, "seq": seq, "prev": prev, "v": _VERSION}
    if prev_signature is not None:
        record["prevSig"] = prev_signature
    record["hash"] = _hash_of(record)
    return _written(record) + b"\n", str(record["hash"])


def read_record(line: bytes) -> Record | None:
    """The record on a line, or `None` if it is not, byte for byte, one that was written."""
    fields = _read(line)
    if fields is None or type(fields.get("seq")) is not int or not isinstance(fields.get("prev"), str):
        return None
    hashed = {name: value for name, value in fields.items() if name != "hash"}
    if fields.get("hash") != _hash_of(hashed):
        return None
    signature = fields.get("prevSig")
    link = Link(
        seq=fields["seq"],
        prev=fields["prev"],
        hash=fields["hash"],
        prev_signature=None if signature is None else str(signature),
    )
    return Record(link=link, fields=fields)


def _read(line: bytes) -> dict[str, Any] | None:
    """The object on a line that was written as objects are written here."""
    if not line.endswith(b"\n") or len(line) > MAX_LINE:
        return None
    try:
        fields = orjson.loads(line)
        # Also a refusal: what is nested deeper than anything that was written.
        exact = isinstance(fields, dict) and _written(fields) + b"\n" == line
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        return None
    return fields if exact else None


def _hash_of(record: Mapping[str, Any]) -> str:
    return hashlib.sha256(_written(record)).hexdigest()


def _written(record: Mapping[str, Any]) -> bytes:
    return orjson.dumps(record, option=orjson.OPT_SORT_KEYS)
