"""Which new tool of a server may be a pinned one that is listed no more, under another name and changed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from toolcrib_core.schema.canonical import digest
from toolcrib_mcp.pins.definitions import Definition, Pin
from toolcrib_mcp.pins.rows import ServerPins

MAX_PAIRS: Final = 10_000
"""So many pairs are compared; where there are more, every new tool counts as one that was pinned."""

_MAX_TEXT: Final = 2_000
_WORD: Final = re.compile(r"[^\W_]+")


def pair_replaced(
    known: ServerPins, listed: Mapping[str, Sequence[Definition]], gone: Sequence[Pin]
) -> Mapping[str, Pin]:
    """By their names: new tools that may be one of those that have gone, with that one.

    Every tool that has gone has one successor, the new tool which is most like it, unless one was approved before. A
    new tool with the texts or the schema of one that has gone may be that one in any case.
    """
    new = {name: found[0] for name, found in sorted(listed.items()) if name not in known.pins}
    taken = {pin.was for pin in known.pins.values()}
    open_ = [pin for pin in gone if pin.tool not in taken]
    if len(new) * len(gone) > MAX_PAIRS:
        return dict.fromkeys(new, gone[0])
    by_mark = {mark: pin for pin in gone for mark in _marks(pin.pinned)}
    found = {name: by_mark[mark] for name, each in new.items() for mark in _marks(each) if mark in by_mark}
    return found | _nearest(new, open_, without=found)


def _nearest(new: Mapping[str, Definition], gone: Sequence[Pin], *, without: Mapping[str, Pin]) -> dict[str, Pin]:
    paired = {pin.tool for pin in without.values()}
    words = {name: _words(each) for name, each in new.items() if name not in without}
    found: dict[str, Pin] = {}
    for pin in gone:
        if pin.tool in paired or not words:
            continue
        said = _words(pin.pinned)
        name = min(words, key=lambda each: (-_likeness(words[each], said), each))
        found[name] = pin
        del words[name]
    return found


def _marks(definition: Definition | None) -> list[str]:
    """What two tools hardly share by chance: what they say about themselves, and a schema that asks for something."""
    tool: Mapping[str, Any] = {} if definition is None else definition.tool
    schema = tool.get("inputSchema")
    asked = schema.get("properties") if isinstance(schema, dict) else None
    found = {"description": tool.get("description"), "inputSchema": schema if asked else None}
    return [digest([name, value]) for name, value in found.items() if value]


def _words(definition: Definition | None) -> frozenset[str]:
    tool: Mapping[str, Any] = {} if definition is None else definition.tool
    schema = tool.get("inputSchema")
    asked = schema.get("properties") if isinstance(schema, dict) else None
    texts = [tool.get("name"), tool.get("title"), tool.get("description"), *(asked if isinstance(asked, dict) else ())]
    said = " ".join(each[:_MAX_TEXT] for each in texts if isinstance(each, str))
    return frozenset(_WORD.findall(said[: 2 * _MAX_TEXT].lower()))


def _likeness(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / (len(one | other) or 1)
