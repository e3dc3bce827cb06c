"""How to look into one piece of content: the selectors of `tool_view` that make sense on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import orjson

from toolcrib_core import JsonObject, JsonValue, count_tokens
from toolcrib_mcp.firewall.kinds import ContentKind

SELECTOR_TOKENS: Final = 60
"""What the line about selectors may take."""

_COLUMN_CHARS = 24
_COLUMNS_SHOWN = 3
_POINTER_CHARS = 40
_SPAN = 40
_CHARS = 2_000
_LONG_LINE = 1_000
_ALSO = {
    ContentKind.JSON: "pointer, path, keys, shape, search",
    ContentKind.RECORDS: "where, sort; pointer, path, search",
    ContentKind.TABLE: "where, sort; lines, search",
    ContentKind.LOG: "search, tail, head",
    ContentKind.PROSE: "search, head, tail",
    ContentKind.CODE: "search, head, tail",
    ContentKind.MARKUP: "search, head, tail",
    ContentKind.BINARY: "raw",
    ContentKind.IMAGE: "bytes",
    ContentKind.AUDIO: "bytes",
}


def selectors_for(kind: ContentKind, facts: Mapping[str, JsonValue], handle: str) -> str:
    """One line with a call of `tool_view` that works on this content, and the other selectors worth trying.

    `facts` are those of the summary; names in them that are long or odd are not used.
    """
    for selector in (_example(kind, facts), _plain(kind)):
        arguments = orjson.dumps({"handle": handle, "selector": selector}).decode()
        line = f"tool_view {arguments}; also {_ALSO[kind]}."
        if count_tokens(line) <= SELECTOR_TOKENS:
            return line
    return f"tool_view; selectors: {_ALSO[kind]}."


def _example(kind: ContentKind, facts: Mapping[str, JsonValue]) -> JsonObject:
    rows_at, error = facts.get("rowsAt"), facts.get("firstError")
    match kind:
        case ContentKind.RECORDS | ContentKind.TABLE:
            return {"type": "rows", **_columns(facts), "count": 20}
        case ContentKind.JSON if isinstance(rows_at, str) and _is_plain(rows_at, _POINTER_CHARS):
            return {"type": "rows", "pointer": rows_at, **_columns(facts), "count": 20}
        case ContentKind.JSON:
            return {"type": "pointer", "pointer": _pointer(facts)}
        case ContentKind.LOG if isinstance(error, int):
            return {"type": "lines", "start": max(1, error - 2), "end": error + 10}
        case ContentKind.LOG if "commits" not in facts:
            return {"type": "tail", "lines": _SPAN}
    return {"type": "head", "chars": _CHARS} if kind.is_text and _has_long_lines(facts) else _plain(kind)


def _plain(kind: ContentKind) -> JsonObject:
    match kind:
        case ContentKind.RECORDS | ContentKind.TABLE:
            return {"type": "rows", "count": 20}
        case ContentKind.JSON:
            return {"type": "shape"}
        case ContentKind.IMAGE | ContentKind.AUDIO:
            return {"type": "raw"}
        case ContentKind.BINARY:
            return {"type": "bytes", "start": 0, "end": 256}
    return {"type": "lines", "start": 1, "end": _SPAN}


def _columns(facts: Mapping[str, JsonValue]) -> JsonObject:
    columns = facts.get("columns")
    names = [each.get("name") for each in columns if isinstance(each, dict)] if isinstance(columns, list) else []
    plain: list[JsonValue] = [name for name in names if isinstance(name, str) and _is_plain(name, _COLUMN_CHARS)]
    return {"columns": plain[:_COLUMNS_SHOWN]} if plain else {}


def _pointer(facts: Mapping[str, JsonValue]) -> str:
    """The largest branch with a pointer that is short enough to be an example."""
    largest = facts.get("largest")
    pointers = [each.get("pointer") for each in largest if isinstance(each, dict)] if isinstance(largest, list) else []
    return next((each for each in pointers if isinstance(each, str) and _is_plain(each, _POINTER_CHARS)), "")


def _has_long_lines(facts: Mapping[str, JsonValue]) -> bool:
    lines, size = facts.get("lines"), facts.get("bytes")
    return isinstance(lines, int) and isinstance(size, int) and size > _LONG_LINE * max(lines, 1)


def _is_plain(name: str, limit: int) -> bool:
    """Whether the name is itself, and not one that was cut or escaped to be shown."""
    return len(name) <= limit and name.isascii() and name.isprintable() and "\\" not in name
