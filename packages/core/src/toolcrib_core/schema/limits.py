"""Bounds on the size and shape of schemas and of the values they are applied to.

Whatever is within its bounds can be walked by recursion and given to the validation engine, which would overflow its
stack, and end the process, on a value nested 20,000 deep.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple

import orjson

from toolcrib_core.schema.pointers import Path, pointer_of
from toolcrib_core.schema.traces import UUID_TRACE, trace_finder

_OPTIONS = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME
_INTEGERS = range(-(2**63), 2**64)
# A node takes at least two bytes of text: itself, and the comma or bracket behind it.
_BYTES_PER_NODE = 2
_DASHES_OF_A_UUID = 4

NUL_TRACE: Final = b"\\u0000"
"""What a NUL character leaves in JSON that orjson writes; the text `\\u0000` leaves the same behind a backslash."""

# NaN is written as null, a UUID as text.
_hides_nan_or_uuid = trace_finder("null", UUID_TRACE)


@dataclass(frozen=True, kw_only=True)
class JsonLimits:
    """How deep, how many and how long a JSON value may be.

    A node is an object, a list or a scalar; the size is that of the compact UTF-8 text.
    """

    max_depth: int
    max_nodes: int
    max_bytes: int


INSTANCE_LIMITS: Final = JsonLimits(max_depth=200, max_nodes=100_000, max_bytes=4 * 1024 * 1024)
"""For arguments and results."""

SMALL_BYTES: Final = 2 * INSTANCE_LIMITS.max_depth
"""A level of nesting takes two bytes, and a node at least two: a text of this length is neither deep nor many."""

SCHEMA_LIMITS: Final = JsonLimits(max_depth=64, max_nodes=20_000, max_bytes=1024 * 1024)
"""For schemas. The largest of 2,318 schemas of published MCP servers has 428 nodes, 10 KB and a depth of 14."""


@dataclass(frozen=True, kw_only=True)
class LimitFault:
    """The first thing found wrong with the shape of a value."""

    pointer: str
    reason: str
    over_limit: bool
    """Whether it is too much of something; otherwise it is not JSON at all."""


def find_limit_fault(value: object, limits: JsonLimits) -> LimitFault | None:
    """What stops the value from being looked at, or None when it is JSON within the limits.

    A small value costs one serialisation in native code. Integers must fit 64 bits; an enum member counts as its value.
    """
    try:
        encoded = orjson.dumps(value, option=_OPTIONS)
    except TypeError:
        return _first_fault(value, limits)
    if len(encoded) > limits.max_bytes:
        return _over("", f"it is {len(encoded):,} bytes long as JSON, and at most {limits.max_bytes:,} are allowed")
    may_be_deep = encoded.count(b"{") + encoded.count(b"[") > limits.max_depth
    may_be_many = len(encoded) > limits.max_nodes * _BYTES_PER_NODE
    if _hides_nan_or_uuid(encoded.decode()):
        return _first_fault(value, limits)
    if may_be_deep or may_be_many:
        levels = measure_levels(value)
        if len(levels) > limits.max_depth or sum(level.values for level in levels) > limits.max_nodes:
            return _first_fault(value, limits)
    return None


def is_small_json(value: object) -> bool:
    """Whether the value is JSON too short to be over `INSTANCE_LIMITS`; False means only that it must be looked at.

    It spares small values the exact way where violations are told; `CompiledSchema.accepts` has it in place.
    """
    try:
        encoded = orjson.dumps(value, option=_OPTIONS)
    except TypeError:
        return False
    # NaN is written as null, a UUID with four dashes. `bytes in bytes` would take four times as long as `find`.
    return len(encoded) <= SMALL_BYTES and encoded.find(b"null") < 0 and encoded.count(b"-") < _DASHES_OF_A_UUID


def find_nul(value: object) -> str | None:
    """The place of the first NUL character in a value that is within its limits, as a JSON pointer."""
    if orjson.dumps(value).find(NUL_TRACE) < 0:
        return None
    waiting: list[tuple[object, Path]] = [(value, None)]
    while waiting:
        item, path = waiting.pop()
        if isinstance(item, Enum):
            item = item.value
        if isinstance(item, dict):
            if any("\x00" in key for key in item):
                return pointer_of(path)
            waiting += reversed([(child, (path, key)) for key, child in item.items()])
        elif isinstance(item, (list, tuple)):
            waiting += reversed([(child, (path, at)) for at, child in enumerate(item)])
        elif isinstance(item, str) and "\x00" in item:
            return pointer_of(path)
    return None


class LevelSize(NamedTuple):
    """What a value has on one level of nesting."""

    values: int
    slow_to_compare: int
    """Values that the engine compares with the members of an `enum` one by one: all but texts and integers."""
    text_bytes: int
    """Of texts, and of the names of the objects on this level and on the one above."""


def measure_levels(value: object) -> list[LevelSize]:
    """What a value that is within its limits has on each level."""
    levels, level, names_above = [], [value], 0
    while level:
        slow = text = names = 0
        below: list[object] = []
        for member in level:
            item = member.value if isinstance(member, Enum) else member
            if isinstance(item, str):
                text += len(item) if item.isascii() else 4 * len(item)
            elif isinstance(item, dict):
                slow += 1
                names += sum(len(key) if key.isascii() else 4 * len(key) for key in item)
                below += item.values()
            elif isinstance(item, (list, tuple)):
                slow += 1
                below += item
            elif isinstance(item, float):
                slow += 1
        levels.append(LevelSize(len(level), slow, text + names + names_above))
        level, names_above = below, names
    return levels


def _first_fault(value: object, limits: JsonLimits) -> LimitFault | None:
    """Walk without recursion, so that a value nested without end is only one of too many levels."""
    nodes = 0
    waiting: list[tuple[object, Path, int]] = [(value, None, 0)]
    while waiting:
        item, path, depth = waiting.pop()
        nodes += 1
        if nodes > limits.max_nodes:
            return _over("", f"it has more than {limits.max_nodes:,} values")
        if isinstance(item, Enum):
            item = item.value
        if isinstance(item, (dict, list, tuple)):
            if depth >= limits.max_depth:
                return _over(pointer_of(path), f"it is nested deeper than {limits.max_depth}")
            pairs = item.items() if isinstance(item, dict) else enumerate(item)
            waiting += [(child, (path, key), depth + 1) for key, child in pairs]
        reason = _not_json(item)
        if reason:
            return LimitFault(pointer=pointer_of(path), reason=reason, over_limit=False)
    return None


def _not_json(value: object) -> str | None:
    if isinstance(value, dict):
        return next((reason for key in value if (reason := _bad_key(key))), None)
    if isinstance(value, str):
        return "it holds a lone surrogate, which JSON cannot carry" if _has_lone_surrogate(value) else None
    if value is None or isinstance(value, (bool, list, tuple)):
        return None
    if isinstance(value, int):
        return None if value in _INTEGERS else "it is an integer beyond 64 bits"
    if isinstance(value, float):
        return None if math.isfinite(value) else "it is not a finite number, which JSON cannot carry"
    return f"a value of type `{type(value).__name__}` is not JSON"


def _bad_key(key: object) -> str | None:
    if not isinstance(key, str):
        return f"it has a key of type `{type(key).__name__}`, and keys must be text"
    return "it has a key with a lone surrogate, which JSON cannot carry" if _has_lone_surrogate(key) else None


def _has_lone_surrogate(text: str) -> bool:
    if text.isascii():
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _over(pointer: str, reason: str) -> LimitFault:
    return LimitFault(pointer=pointer, reason=reason, over_limit=True)
