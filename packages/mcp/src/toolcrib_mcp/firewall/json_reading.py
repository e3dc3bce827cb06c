"""JSON from elsewhere, read whole or refused: floods of values would take the memory of the process."""

from __future__ import annotations

import json
import re
from enum import StrEnum
from typing import Final

import orjson

from toolcrib_core import JsonObject, JsonValue
from toolcrib_mcp.firewall.lines import without_bom

MAX_JSON_VALUES: Final = 4_000_000
"""How many values one document may hold to be read as JSON; an empty object takes 72 bytes once it is read."""

_BEGINNING = 256 * 1024
_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\r\n]*")


class JsonFault(StrEnum):
    """Why content that may be meant as JSON is not read as JSON."""

    DEEP = "nested too deeply to read as JSON"
    MANY = "too many values to read as JSON"
    INVALID = "not valid JSON"


class UnreadableJson(ValueError):
    """The content is not JSON, or JSON that is not read."""

    def __init__(self, fault: JsonFault) -> None:
        super().__init__(fault.value)
        self.fault = fault


def first_records(content: bytes) -> list[JsonObject]:
    """The whole objects at the beginning of a list, from JSON that is not read whole; [] when it is no such list."""
    text = content[:_BEGINNING].decode("utf-8", "replace")
    place = _past_space(text, 0)
    found: list[JsonObject] = []
    if not text.startswith("[", place):
        return found
    try:
        while text.startswith("{", place := _past_space(text, place + 1)):
            value, end = _DECODER.raw_decode(text, place)
            found.append(value)
            place = _past_space(text, end)
            if not text.startswith(",", place):
                break
    except (ValueError, RecursionError):
        # The beginning ends inside this object, or it is not JSON from here on.
        return found
    return found


def read_json(content: bytes) -> JsonValue:
    """The value that the content holds as JSON; of a key given twice the last value counts.

    Raises:
        UnreadableJson: The content is not JSON, nested too deeply, or holds more than `MAX_JSON_VALUES` values.
    """
    plain = without_bom(content)
    # Each value but the first of a list or object stands behind a comma: an upper bound found without reading.
    if len(plain) > MAX_JSON_VALUES and sum(map(plain.count, (b",", b"[", b"{"))) >= MAX_JSON_VALUES:
        raise UnreadableJson(JsonFault.MANY)
    try:
        value: JsonValue = orjson.loads(plain)
    except orjson.JSONDecodeError as error:
        too_deep = "depth limit" in str(error) or "ecursion" in str(error)
        raise UnreadableJson(JsonFault.DEEP if too_deep else JsonFault.INVALID) from None
    return value


def _past_space(text: str, place: int) -> int:
    space = _SPACE.match(text, place)
    return place if space is None else space.end()
