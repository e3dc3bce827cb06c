"""The arguments of a call, for a person to look at: nothing in them is hidden, and what is cut says so."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from toolcrib_core.wording import count
from toolcrib_mcp.front.confirming import visible

MAX_TEXT: Final = 300
MAX_ITEMS: Final = 50
MAX_LINES: Final = 200


def argument_lines(arguments: Mapping[str, Any], *, full: bool) -> list[str]:
    """The arguments as lines of JSON, whole or with long values cut; a character that is not drawn is an escape."""
    value = arguments if full else _cut(dict(arguments))
    lines = [visible(line) for line in json.dumps(value, indent=2, ensure_ascii=False).split("\n")]
    if full or len(lines) <= MAX_LINES:
        return lines
    return [*lines[:MAX_LINES], f"… ({count(len(lines) - MAX_LINES, 'more line')})"]


def is_cut(arguments: Mapping[str, Any]) -> bool:
    """Whether anything of the arguments is left out unless all is asked for."""
    return argument_lines(arguments, full=False) != argument_lines(arguments, full=True)


def _cut(value: Any) -> Any:
    match value:
        case str() if len(value) > MAX_TEXT:
            return f"{value[:MAX_TEXT]}… ({count(len(value) - MAX_TEXT, 'more character')})"
        case list():
            kept = [_cut(each) for each in value[:MAX_ITEMS]]
            return kept if len(value) <= MAX_ITEMS else [*kept, f"… ({count(len(value) - MAX_ITEMS, 'more item')})"]
        case dict():
            # Not the names: two that begin alike would become one.
            return {name: _cut(each) for name, each in value.items()}
    return value
