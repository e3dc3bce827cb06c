"""A large result taken apart: what still passes as it is, and the parts that are to be kept."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from toolcrib_core import count_tokens
from toolcrib_core.wording import shown
from toolcrib_mcp.firewall import ContentKind, content_kind
from toolcrib_mcp.gateway.sizing import (
    MAX_MEDIA,
    is_light,
    is_media,
    json_values,
    text_of,
    utf8,
    without_repetition,
)
from toolcrib_mcp.rpc.codec import json_text

BRIEF_TOKENS: Final = 48
"""A block of up to so many tokens passes as it is, beside what stands for the large ones."""

META_BYTES: Final = 4_096
"""`_meta`, which no model reads, passes up to this size beside what stands for a large result."""

MAX_META_BYTES: Final = 64 * 1024
"""And up to this size beside a small one."""

MAX_PARTS: Final = 500
"""So many blocks of one result are kept each by itself; more are kept together, so that they leave room for others."""

_SMALL_BYTES = 2_048
_ALWAYS = frozenset({"isError", "resultType"})
_JSON = "application/json"
_DEFAULT_MEDIA = {ContentKind.IMAGE: "image/png", ContentKind.AUDIO: "audio/wav"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """One part of a result that is to be kept."""

    label: str
    """What it was in the result."""
    content: bytes
    media_type: str
    kind: ContentKind


@dataclass(kw_only=True)
class TakenApart:
    """A result in two: what passes, and what is to be kept."""

    blocks: list[Any] = field(default_factory=list)
    """Blocks that pass as they are."""
    fields: dict[str, Any] = field(default_factory=dict)
    """Fields beside the content that pass as they are."""
    parts: list[Part] = field(default_factory=list)
    beside_tokens: int = 0
    """What passes costs so much, pictures and sounds left aside."""


def take_apart(result: Mapping[str, Any], *, beside: int) -> TakenApart:
    """Take a result apart; what passes as it is may have `beside` tokens, pictures and sounds left aside.

    Structured content that only repeats the text is kept once. Many small blocks are kept together, as a list.

    Raises:
        TypeError: A part is nested too deeply to be written down.
    """
    return _Taking(result, beside).taken()


def take_meta(result: Mapping[str, Any]) -> TakenApart | None:
    """A small result without its `_meta`, which is to be kept; `None` if that passes.

    Raises:
        TypeError: It is nested too deeply to be written down.
    """
    if not (meta := result.get("_meta")) or len(utf8(json_text(meta))) <= MAX_META_BYTES:
        return None
    content = result.get("content")
    return TakenApart(
        blocks=content if isinstance(content, list) else [],
        fields={name: value for name, value in result.items() if name not in {"content", "_meta"}},
        parts=[_json_part("_meta", meta)],
    )


class _Taking:
    def __init__(self, result: Mapping[str, Any], beside: int) -> None:
        self._result = result
        self._beside = beside
        self._out = TakenApart()
        self._small: list[Any] = []
        self._rest: list[Any] = []
        self._media = 0

    def taken(self) -> TakenApart:
        blocks, structured = without_repetition(self._result)
        for block in blocks:
            if is_media(block):
                self._take_media(block)
            elif not self._passes(block):
                self._take(block)
        self._take_small()
        if self._rest:
            self._out.parts.append(_json_part(f"{len(self._rest):,} further blocks", self._rest))
        if structured is not None:
            self._out.parts.append(_json_part("structured content", structured))
        self._take_fields()
        return self._out

    def _take_media(self, block: Mapping[str, Any]) -> None:
        self._media += 1
        if self._media <= MAX_MEDIA and is_light(block):
            self._out.blocks.append(block)
            return
        if len(self._out.parts) >= MAX_PARTS:
            self._rest.append(block)
            return
        content = _decoded(block.get("data"))
        if content is None:
            self._out.parts.append(_json_part(str(block["type"]), block))
            return
        kind = ContentKind(block["type"])
        media_type = _media_type(block, default=_DEFAULT_MEDIA[kind])
        self._out.parts.append(Part(label=str(kind), content=content, media_type=media_type, kind=kind))

    def _passes(self, block: object) -> bool:
        text = text_of(block)
        if not self._has_room(json_text(block) if text is None else text):
            return False
        self._out.blocks.append(block)
        return True

    def _has_room(self, written: str) -> bool:
        """Whether something brief may pass, which is counted then."""
        tokens = count_tokens(written) if len(written) <= BRIEF_TOKENS * 8 else BRIEF_TOKENS + 1
        if tokens > BRIEF_TOKENS or self._out.beside_tokens + tokens > self._beside:
            return False
        self._out.beside_tokens += tokens
        return True

    def _take(self, block: object) -> None:
        part = _part_of(block)
        if len(part.content) <= _SMALL_BYTES and part.kind.is_text:
            self._small.append(block)
        elif len(self._out.parts) >= MAX_PARTS:
            self._rest.append(block)
        else:
            self._out.parts.append(part)

    def _take_small(self) -> None:
        if len(self._small) == 1:
            self._out.parts.append(_part_of(self._small[0]))
        elif self._small:
            texts = [text_of(each) for each in self._small]
            values = json_values([each for each in texts if each is not None]) if None not in texts else self._small
            self._out.parts.append(_json_part(f"{len(self._small):,} small blocks", values))

    def _take_fields(self) -> None:
        others: dict[str, Any] = {}
        for name, value in self._result.items():
            if name in _ALWAYS or (name == "_meta" and len(json_text(value)) <= META_BYTES):
                self._out.fields[name] = value
            elif name not in {"content", "structuredContent"}:
                others[name] = value
        if others and self._has_room(json_text(others)):
            self._out.fields.update(others)
        elif others:
            self._out.parts.append(_json_part("further fields", others))


def _part_of(block: object) -> Part:
    text = text_of(block)
    if text is not None:
        return _text_part("text", text, "text/plain")
    resource = block.get("resource") if isinstance(block, Mapping) else None
    if isinstance(resource, Mapping):
        label = f"resource {shown(str(resource.get('uri', '')))}"
        if isinstance(resource.get("text"), str):
            return _text_part(label, resource["text"], _media_type(resource, default="text/plain"))
        content = _decoded(resource.get("blob"))
        if content is not None:
            media_type = _media_type(resource, default="application/octet-stream")
            return Part(label=label, content=content, media_type=media_type, kind=content_kind(content, media_type))
    return _json_part("block", block)


def _text_part(label: str, text: str, media_type: str) -> Part:
    content = utf8(text)
    return Part(label=label, content=content, media_type=media_type, kind=content_kind(content, media_type))


def _json_part(label: str, value: object) -> Part:
    content = utf8(json_text(value))
    return Part(label=label, content=content, media_type=_JSON, kind=content_kind(content, _JSON))


def _decoded(data: object) -> bytes | None:
    if not isinstance(data, str):
        return None
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None


def _media_type(block: Mapping[str, Any], *, default: str) -> str:
    given = block.get("mimeType")
    return shown(given) if isinstance(given, str) and given else default
