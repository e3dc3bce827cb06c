"""Tokens of pages: where the next page begins, signed, and good for one pack, revision and request only."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from toolcrib_contextpacks.chunks import Chunk
from toolcrib_contextpacks.errors import InvalidPack
from toolcrib_contextpacks.schemas import MAX_TOKEN

_VERSION: Final = "v1"
_MAC_BYTES: Final = 16


@dataclass(frozen=True, kw_only=True)
class PageRequest:
    """What a reader asked for, and what every page of the answer shares."""

    profile: str
    limit: int | None
    contains: str | None
    status: str | None


@dataclass(frozen=True, kw_only=True)
class PagePlace:
    """Where a page begins, of what."""

    pack_id: str
    revision: int
    offset: int
    request: PageRequest
    chunks: str
    """What the chunks are known by: the source tree may change which of them have a text in them."""


def fingerprint(chunks: Sequence[Chunk]) -> str:
    """What a row of chunks is known by."""
    return hashlib.sha256("\n".join(each.id for each in chunks).encode()).hexdigest()[:12]


def write_token(place: PagePlace, *, key: bytes) -> str:
    """The token that leads to the place."""
    asked = place.request
    body = [place.revision, place.offset, asked.profile, asked.limit, asked.contains, asked.status, place.chunks]
    text = _encoded(json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode())
    return f"{_VERSION}.{text}.{_mac(text, place.pack_id, key)}"


def read_token(token: str, *, pack_id: str, key: bytes) -> PagePlace:
    """The place that a token of this pack leads to.

    Raises:
        InvalidPack: It is no token of ours for this pack; the message has `invalid_page_token`.
    """
    parts = token.split(".")
    if len(token) > MAX_TOKEN or len(parts) != 3 or not token.isascii():  # noqa: PLR2004  # version, body, signature
        raise refused("it is not one that was given here")
    version, text, mac = parts
    if version != _VERSION:
        raise refused("its version is not known here")
    if not hmac.compare_digest(mac, _mac(text, pack_id, key)):
        raise refused("it is of another pack, or was changed")
    revision, offset, profile, limit, contains, status, chunks = _decoded(text)
    request = PageRequest(profile=profile, limit=limit, contains=contains, status=status)
    return PagePlace(pack_id=pack_id, revision=revision, offset=offset, request=request, chunks=chunks)


def next_place(token: str, *, pack_id: str, revision: int, said: Mapping[str, object], key: bytes) -> PagePlace:
    """The place that a token leads to, for a reader who says no more than what it was made for, if anything.

    Raises:
        InvalidPack: The token is not one for this pack, revision and request.
    """
    place = read_token(token, pack_id=pack_id, key=key)
    if any(value is not None and value != getattr(place.request, name) for name, value in said.items()):
        raise refused("the request is another than it was made for")
    if place.revision != revision:
        raise refused("the pack has changed since it was made")
    return place


def refused(reason: str) -> InvalidPack:
    """The refusal of a token."""
    return InvalidPack(
        f"invalid_page_token: the token cannot be used: {reason}.",
        hint="Read again without `page_token`, and go on with the `next_page_token` that you get.",
        details={"requested_field": "page_token", "reason": reason},
    )


def _mac(text: str, pack_id: str, key: bytes) -> str:
    made = hmac.digest(key, f"{_VERSION}\n{pack_id}\n{text}".encode(), "sha256")
    return _encoded(made[:_MAC_BYTES])


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _decoded(text: str) -> list[Any]:
    # Signed by us: it is what we wrote.
    body: list[Any] = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    return body
