"""Through every text of a result: what is changed is changed in place, so that no depth is too deep."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from toolcrib_runtime.guards.secrets import REDACTED, Secret
from toolcrib_runtime.guards.secrets.needles import Needles
from toolcrib_runtime.guards.secrets.shapes import SHAPES, names_a_secret, replace_shapes

_HEAD: Final = 600
_URL_SAFE: Final = str.maketrans("-_", "+/")
_BULLET: Final = b"*"


def has_encoded(data: bytes) -> bool:
    """Whether a result, as JSON, may have base64 in it that has to be decoded to be searched."""
    return b'"blob"' in data or b'"mimeType"' in data


def redact_in_place(value: dict[str, Any], *, found: Sequence[Secret], needles: Needles, known_formats: bool) -> int:
    """Take secrets out of a JSON value: those that were found in it, and those that base64 in it hides."""
    walk = _Walk(found=found, needles=needles, known_formats=known_formats)
    waiting: list[dict[str, Any] | list[Any]] = [value]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            walk.members(node)
            waiting += [each for each in node.values() if isinstance(each, (dict, list))]
        else:
            walk.items(node)
            waiting += [each for each in node if isinstance(each, (dict, list))]
    return walk.taken


@dataclass(kw_only=True)
class _Walk:
    found: Sequence[Secret]
    needles: Needles
    known_formats: bool
    taken: int = 0

    def items(self, items: list[Any]) -> None:
        for index, item in enumerate(items):
            if isinstance(item, str):
                items[index] = self.text(item)

    def members(self, members: dict[str, Any]) -> None:
        changed: dict[str, Any] = {}
        for position, (key, value) in enumerate(members.items()):
            name = self.text(key)
            unique = f"{name} ({position})" if name in changed else name
            changed[unique] = self.member(members, key, value) if isinstance(value, str) else value
        members.clear()
        members.update(changed)

    def member(self, members: dict[str, Any], key: str, value: str) -> str:
        if key == "blob" or (key == "data" and isinstance(members.get("mimeType"), str)):
            return self.encoded(value)
        if self.known_formats and value not in ("", REDACTED) and names_a_secret(key):
            self.taken += 1
            return REDACTED
        return self.text(value)

    def text(self, text: str) -> str:
        text = self.without(text, self.found)
        return self.without_shapes(text) if self.known_formats else text

    def without(self, text: str, spellings: Sequence[Secret]) -> str:
        for spelling in spellings:
            times = text.count(spelling.reveal())
            if times:
                self.taken += times
                text = text.replace(spelling.reveal(), REDACTED)
        return text

    def without_shapes(self, text: str) -> str:
        replaced = replace_shapes(text, SHAPES)
        if replaced != text:
            self.taken += max(1, replaced.count(REDACTED) - text.count(REDACTED))
        return replaced

    def encoded(self, encoded: str) -> str:
        plainly = any(each.reveal() in encoded for each in self.found)
        head = _decoded_head(encoded)
        if head is not None and not plainly and not _is_text(head):
            return encoded
        data = None if head is None else _decoded(encoded)
        if data is None:
            return self.text(encoded)
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return self.binary(encoded, data)
        replaced = self.without(text, self.needles.within(data))
        if self.known_formats:
            replaced = self.without_shapes(replaced)
        return encoded if replaced == text else base64.b64encode(replaced.encode()).decode()

    def binary(self, encoded: str, data: bytes) -> str:
        """A format may count bytes, so that as many stand where a secret was."""
        replaced = data
        for spelling in self.needles.within(data):
            secret = spelling.reveal().encode()
            self.taken += replaced.count(secret)
            replaced = replaced.replace(secret, _BULLET * len(secret))
        return encoded if replaced == data else base64.b64encode(replaced).decode()


def _decoded(encoded: str) -> bytes | None:
    try:
        return base64.b64decode("".join(encoded.split()).translate(_URL_SAFE), validate=True)
    except (binascii.Error, ValueError):
        return None


def _decoded_head(encoded: str) -> bytes | None:
    head = "".join(encoded[:_HEAD].split())
    return _decoded(head[: len(head) // 4 * 4])


def _is_text(head: bytes) -> bool:
    """Whether data that begins like this is text; the last character may be cut."""
    return b"\0" not in head and "\ufffd" not in head[:-4].decode("utf-8", "replace")
