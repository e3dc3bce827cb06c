"""Summaries of JSON values that are not lists of objects: what stands where, with the pointers that lead there."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator

import orjson

from toolcrib_core import JsonObject, JsonValue
from toolcrib_core.wording import count
from toolcrib_mcp.firewall.columns import keys_shown, short_value, type_name
from toolcrib_mcp.firewall.facts import name_facts
from toolcrib_mcp.firewall.fitting import MAX_LINES, Outline, Section
from toolcrib_mcp.firewall.records import described_fields, fields_section, is_records, rows_section
from toolcrib_mcp.firewall.shown import clipped, json_string, pointer_part

_KEY_CHARS = 48
_STRING_CHARS = 60
_LONG_STRING = 100
_MAX_DEPTH = 8
_MAX_OPENED = 32
_WALKED = 100_000
_SMALL = 80
_POINTER_CHARS = 120
_LARGEST_KEPT = 8


def summarised_json(value: JsonValue, *, size: int) -> Outline:
    """The outline of a JSON value of `size` bytes."""
    match value:
        case dict():
            head = f"JSON object with {count(len(value), 'key')}, {size:,} bytes."
            own: JsonObject = {"keys": name_facts(list(value)), "keyCount": len(value)}
        case list():
            head = f"JSON list of {_items(value)}, {size:,} bytes."
            own = {"items": len(value)}
        case _:
            return Outline(f"JSON {_leaf(value)}, {size:,} bytes.", [], {"type": type_name(value), "bytes": size})
    largest = list(_by_size(value))
    facts: JsonObject = {"type": type_name(value), **own, "bytes": size}
    facts["largest"] = [_fact(*each) for each in largest[:_LARGEST_KEPT]]
    inner, more = _inner(value, largest)
    return Outline(head, [_top_section(value), *inner], facts | more)


def _top_section(value: dict[str, JsonValue] | list[JsonValue]) -> Section:
    children = list(_children("", value, MAX_LINES))
    lines = [f"{_shown(pointer)} {_branch(child)}" for pointer, child in children]
    things = "keys" if isinstance(value, dict) else "items"
    names = list(value)[:200] if isinstance(value, dict) else []
    return Section("", lines, total=len(value), things=things, names=names, share=0.6)


def _inner(value: JsonValue, largest: list[tuple[int, str, JsonValue]]) -> tuple[list[Section], JsonObject]:
    """What lies deeper: the fields of a list of objects that makes up most of the whole, else the largest branches."""
    whole = _size(value)
    for size, pointer, child in largest:
        if 2 * size >= whole and isinstance(child, list) and len(child) > 1 and is_records(child):
            rows = [each for each in child if isinstance(each, dict)]
            columns, total, _ = described_fields(rows)
            fields = fields_section(f"Fields of {_shown(pointer)}:", columns, total)
            facts: JsonObject = {"rowsAt": clipped(pointer, _POINTER_CHARS), "rows": len(rows), "columnCount": total}
            facts["columns"] = [each.fact for each in columns]
            return [fields, rows_section(rows, columns, _shown(pointer))], facts
    deeper = [f"{_shown(pointer)} {_branch(child)}" for _, pointer, child in largest if pointer.count("/") > 1]
    return [Section("Largest inside:", deeper)], {}


def _by_size(root: JsonValue) -> Iterator[tuple[int, str, JsonValue]]:
    """The largest branches below the value, larger ones first; a branch is always behind the one that holds it."""
    heap: list[tuple[int, int, str, JsonValue]] = []
    _push(heap, "", root)
    for _ in range(_MAX_OPENED):
        if not heap:
            return
        negative, _, pointer, value = heapq.heappop(heap)
        yield -negative, pointer, value
        if pointer.count("/") < _MAX_DEPTH:
            _push(heap, pointer, value)


def _push(heap: list[tuple[int, int, str, JsonValue]], pointer: str, value: JsonValue) -> None:
    if not isinstance(value, (dict, list)):
        return
    sized = [(_size(child), where, child) for where, child in _children(pointer, value, None)]
    # One element of a list stands for the others: the largest.
    kept = sized if isinstance(value, dict) else heapq.nlargest(1, sized, key=lambda each: each[0])
    for size, where, child in heapq.nlargest(_MAX_OPENED, kept, key=lambda each: each[0]):
        if size > _SMALL:
            heapq.heappush(heap, (-size, len(heap), where, child))


def _children(
    pointer: str, value: dict[str, JsonValue] | list[JsonValue], most: int | None
) -> Iterator[tuple[str, JsonValue]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for number, (key, child) in enumerate(pairs):
        if number == most:
            return
        yield f"{pointer}/{pointer_part(str(key))}", child


def _branch(value: JsonValue) -> str:
    """One value in a few words, with the shape of what is directly inside."""
    match value:
        case dict() if value:
            return f"object of {count(len(value), 'key')} {keys_shown(value)}{_sized(value)}"
        case list() if value:
            inner = f" {keys_shown(value[0])}" if isinstance(value[0], dict) else ""
            return f"list of {_items(value)}{inner}{_sized(value)}"
    if isinstance(value, str) and len(value) > _LONG_STRING:
        return f"{json_string(value, _STRING_CHARS)} {count(len(value), 'character')}"
    return short_value(value, _STRING_CHARS)


def _items(value: list[JsonValue]) -> str:
    types = Counter(map(type, value))
    examples = {kind: type_name(next(each for each in value if type(each) is kind)) for kind in types}
    if len(types) == 1:
        kind = next(iter(examples.values()))
        return "1 " + kind if len(value) == 1 else f"{len(value):,} {kind}s"
    parts = ", ".join(f"{number:,} {examples[kind]}" for kind, number in types.most_common())
    return f"{len(value):,} items ({parts})" if value else "0 items"


def _leaf(value: JsonValue) -> str:
    return f"{type_name(value)} {json_string(value, 200) if isinstance(value, str) else short_value(value)}"


def _sized(value: JsonValue) -> str:
    size = _size(value)
    return f", {size:,} bytes" if size > _SMALL else ""


def _fact(size: int, pointer: str, value: JsonValue) -> JsonValue:
    fact: JsonObject = {"pointer": clipped(pointer, _POINTER_CHARS), "type": type_name(value), "bytes": size}
    return fact | {"items": len(value)} if isinstance(value, (list, dict)) else fact


def _shown(pointer: str) -> str:
    return clipped(pointer, 2 * _KEY_CHARS)


def _size(value: JsonValue) -> int:
    """How many bytes the value takes as compact JSON; about, for what is nested too deeply to be written."""
    try:
        return len(orjson.dumps(value))
    except TypeError:
        return _walked_size(value)


def _walked_size(value: JsonValue) -> int:
    size = 0
    open_values = [value]
    for _ in range(_WALKED):
        if not open_values:
            break
        each = open_values.pop()
        size += 2
        match each:
            case dict():
                size += sum(len(key) + 3 for key in each)
                open_values.extend(each.values())
            case list():
                open_values.extend(each)
            case str():
                size += len(each)
            case _:
                size += 4
    return size
