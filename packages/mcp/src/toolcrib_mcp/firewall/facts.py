"""Facts about content, kept small enough to travel with every mention of it."""

from __future__ import annotations

from typing import Final

import orjson

from toolcrib_core import JsonObject, JsonValue
from toolcrib_mcp.firewall.shown import clipped

FACTS_BYTES: Final = 2_048
"""How large the facts about one artifact may be, as JSON."""

NAMES_KEPT: Final = 24
"""How many columns, keys or other names the facts hold at most."""

_NAME_CHARS = 64


def name_facts(names: list[str]) -> list[JsonValue]:
    """The first names, each short and visible."""
    return [clipped(name, _NAME_CHARS) for name in names[:NAMES_KEPT]]


def bounded(facts: JsonObject) -> JsonObject:
    """The facts in at most `FACTS_BYTES`: the longest lists lose their ends until they fit."""
    kept = dict(facts)
    while len(orjson.dumps(kept)) > FACTS_BYTES:
        lists = {key: value for key, value in kept.items() if isinstance(value, list) and value}
        longest = max(lists, key=lambda key: len(orjson.dumps(lists[key])))
        kept[longest] = lists[longest][: len(lists[longest]) // 2]
    return kept
