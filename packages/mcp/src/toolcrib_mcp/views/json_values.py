"""JSON content read into values, with every integer exact."""

from __future__ import annotations

import json
from typing import NoReturn

from toolcrib_core import JsonValue
from toolcrib_mcp.firewall.json_reading import UnreadableJson, read_json
from toolcrib_mcp.firewall.lines import without_bom
from toolcrib_mcp.views.failing import unreadable

_TO_ZERO = bytes.maketrans(b"123456789", b"000000000")
_LONG_INTEGER = b"0" * 19


def json_value(content: bytes) -> JsonValue:
    """The value that the content holds.

    Raises:
        ViewFailed: It is not JSON, nested too deeply, or has too many values; the hint names what still works.
    """
    try:
        value = read_json(content)
    except UnreadableJson as error:
        raise unreadable(str(error)) from None
    # The fast reader turns integers of more than 64 bits into floats, which would show other digits than there are.
    if _LONG_INTEGER in content.translate(_TO_ZERO):
        return _read_exactly(content, value)
    return value


def _read_exactly(content: bytes, otherwise: JsonValue) -> JsonValue:
    try:
        value: JsonValue = json.loads(without_bom(content), parse_constant=_refused)
    except (ValueError, RecursionError):
        return otherwise
    return value


def _refused(name: str) -> NoReturn:
    raise ValueError(name)  # pragma: no cover  # what holds such a word was refused before
