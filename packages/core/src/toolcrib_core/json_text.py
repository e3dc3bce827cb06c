r"""Strict, bounded reading of JSON text.

orjson parses and refuses most of what is wrong. What it lets pass (duplicate keys, integers beyond 64 bits turned into
floats, `\u0000`) leaves a trace in the text, and only a text with such a trace is scanned again.
"""

from __future__ import annotations

import re
from typing import Any

import orjson

from toolcrib_core.errors import ArgumentsTooLarge, MalformedJson
from toolcrib_core.schema.limits import INSTANCE_LIMITS, SMALL_BYTES, JsonLimits, find_limit_fault

_TO_ZERO = bytes.maketrans(b"123456789", b"000000000")
_LONG_INTEGER = b"0" * 19
# For text that is known to be valid; integers of fewer than 19 digits fit 64 bits and need no look.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|(?<![0-9.eE+-])-?[0-9]{19,}(?![0-9.eE])')
_NUL_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*(\\u0000)")
_BOM = "\ufeff"
_UNREAD = object()


def parse_json(data: str | bytes, *, limits: JsonLimits = INSTANCE_LIMITS) -> Any:
    """The value of a JSON text.

    Integers are exact and fit 64 bits; a number with a fraction or an exponent is read as the nearest double.

    Raises:
        MalformedJson: The text is not JSON, or is JSON that two readers would understand differently: duplicate keys,
            NaN or Infinity, numbers out of range, lone surrogates, NUL, a byte order mark, invalid UTF-8.
            `details` has line, column and offset, in characters.
        ArgumentsTooLarge: The text is over a limit.
    """
    if len(data) > limits.max_bytes:
        raise _too_large(f"it is longer than {limits.max_bytes:,} bytes", limits)
    if len(data) <= SMALL_BYTES and limits is INSTANCE_LIMITS:
        value = _read_small(data)
        if value is not _UNREAD:
            return value
    text = _decoded(data)
    if text.startswith(_BOM):
        raise _malformed(text, 0, "a byte order mark, which JSON must not start with")
    value = _loaded(text, limits)
    if text.count("{") + text.count("[") > limits.max_depth:
        _refuse_depth(text, limits)
    if "\\u" in text or _has_long_integer(text) or _has_lost_a_key(text, value):
        _refuse_ambiguity(text)
    fault = find_limit_fault(value, limits)
    if fault is not None:
        raise _too_large(fault.reason, limits)
    return value


def _read_small(data: str | bytes) -> Any:
    """The value of a text that is too short to be over a limit, or `_UNREAD` if there is any reason to look closer.

    This is on the way of every call that a model makes; it takes half the time of the long way.
    """
    try:
        text = data if isinstance(data, str) else data.decode()
        value = orjson.loads(text)
    except ValueError:
        return _UNREAD
    plain = "\\" not in text and not _has_long_integer(text)
    return _UNREAD if not plain or _has_lost_a_key(text, value) else value


def _decoded(data: str | bytes) -> str:
    if isinstance(data, str):
        try:
            data.encode()
        except UnicodeEncodeError as failure:
            raise _malformed(data, failure.start, "a lone surrogate") from None
        return data
    try:
        return data.decode()
    except UnicodeDecodeError as failure:
        before = data[: failure.start].decode()
        raise _malformed(before, len(before), "a byte that is not UTF-8") from None


def _loaded(text: str, limits: JsonLimits) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as failure:
        if failure.msg.startswith("depth limit"):
            raise _too_large(f"it is nested deeper than {limits.max_depth}", limits, text, failure.pos) from None
        raise _malformed(text, failure.pos, f"{failure.msg[:1].lower()}{failure.msg[1:]}") from None


def _has_long_integer(text: str) -> bool:
    # Digits made one digit: a search for one text takes a seventh of the time of `[0-9]{19}`.
    return _LONG_INTEGER in text.encode().translate(_TO_ZERO)


def _has_lost_a_key(text: str, value: object) -> bool:
    # Strings keep their colons (the caller has excluded escaped ones), so the writer puts as many colons as the reader
    # kept members. A duplicate key is a colon less.
    return orjson.dumps(value).count(b":") != text.count(":")


def _refuse_depth(text: str, limits: JsonLimits) -> None:
    depth = 0
    for token in _TOKEN.finditer(text):
        if token[0] in "{[":
            depth += 1
            if depth > limits.max_depth:
                raise _too_large(f"it is nested deeper than {limits.max_depth}", limits, text, token.start())
        elif token[0] in "}]":
            depth -= 1


def _refuse_ambiguity(text: str) -> None:
    """Raise at the first duplicate key, NUL or integer beyond 64 bits of a text that is otherwise valid JSON."""
    open_keys: list[set[str]] = []
    previous: re.Match[str] | None = None
    for token in _TOKEN.finditer(text):
        match token[0][0]:
            case "{" | "[":
                open_keys.append(set())
            case "}" | "]":
                open_keys.pop()
            case '"':
                nul = _NUL_ESCAPE.search(token[0])
                if nul:
                    raise _malformed(text, token.start() + nul.start(1), "a NUL character in a string")
            case ":" if previous is not None:
                key = orjson.loads(previous[0])
                if key in open_keys[-1]:
                    raise _malformed(text, previous.start(), "a key that its object already has")
                open_keys[-1].add(key)
            case ",":
                pass
            case _ if not -(2**63) <= int(token[0]) < 2**64:
                raise _malformed(text, token.start(), "an integer that does not fit 64 bits")
        previous = token


def _malformed(text: str, offset: int, reason: str) -> MalformedJson:
    place = _place(text, offset)
    return MalformedJson(
        f"The text is not JSON we accept: {reason}, at line {place['line']}, column {place['column']}.",
        hint="Send one JSON value, with every key once per object.",
        details={"reason": reason, **place},
    )


def _too_large(reason: str, limits: JsonLimits, text: str = "", offset: int | None = None) -> ArgumentsTooLarge:
    place = {} if offset is None else _place(text, offset)
    at = f", at line {place['line']}, column {place['column']}" if place else ""
    return ArgumentsTooLarge(
        f"The JSON text is too large: {reason}{at}.",
        hint="Send less at once.",
        details={
            "maxDepth": limits.max_depth,
            "maxNodes": limits.max_nodes,
            "maxBytes": limits.max_bytes,
            **place,
        },
    )


def _place(text: str, offset: int) -> dict[str, int]:
    line_start = text.rfind("\n", 0, offset) + 1
    return {"line": text.count("\n", 0, offset) + 1, "column": offset - line_start + 1, "offset": offset}
