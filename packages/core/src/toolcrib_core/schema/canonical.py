"""Canonical JSON (RFC 8785): one text for equal values, and the digest of it.

orjson writes the text, which is the RFC's unless the value holds a float that is integral or needs an exponent, NaN
(becomes null), a UUID (becomes text) or a key beyond the Basic Multilingual Plane. The text shows traces of all these,
so that only a value with such a trace is looked at again, and only one that has such a part goes the exact way: a walk
in Python.
"""

from __future__ import annotations

import hashlib
import math
from enum import Enum
from typing import Any, Final

import jsonschema_rs
import orjson

from toolcrib_core.errors import NotJson
from toolcrib_core.schema.pointers import Path, pointer_of
from toolcrib_core.schema.traces import UUID_TRACE, trace_finder

MAX_CANONICAL_DEPTH: Final = 254
"""The nesting at which orjson stops; the exact way stops there too, so that both take the same values."""

_SAFE_INTEGERS = range(-(2**53) + 1, 2**53)
_INTEGERS_OF_64_BITS = range(-(2**63), 2**64)
# Beyond these, ECMAScript's Number::toString changes to an exponent.
_ES6_MAX_WHOLE_DIGITS = 21
_ES6_MAX_LEADING_ZEROS = 5
_OPTIONS = (
    orjson.OPT_SORT_KEYS
    | orjson.OPT_STRICT_INTEGER
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
)

# Looked up once: to a small value the looking up is a twentieth of the whole.
_dumps, _sha256 = orjson.dumps, hashlib.sha256


def _without_floats(levels: int) -> dict[str, Any]:
    # Draft 4, because there `1.0` is not an integer. Written out level by level, since following a `$ref` costs the
    # engine as much as the check itself.
    schema: dict[str, Any] = {"$ref": "#"}
    for _ in range(levels):
        kinds = ["null", "boolean", "integer", "string", "array", "object"]
        schema = {"type": kinds, "items": schema, "additionalProperties": schema}
    return schema


_shows_odd_number_or_uuid = trace_finder(r"[:,\[](?:-?[0-9]+(?:\.0[,\]}]|(?:\.[0-9]+)?e)|null)", UUID_TRACE)
_shows_astral_key = trace_finder(r'[\x{10000}-\x{10FFFF}](?:[^"\\]|\\.)*":')
_has_neither_float_nor_uuid = jsonschema_rs.Draft4Validator(_without_floats(levels=4), offline=True).is_valid


def canonical_json(value: object) -> bytes:
    """The RFC 8785 bytes of a JSON value.

    Tuples count as lists, subclasses as what they extend, and an enum member as its value.

    Raises:
        NotJson: Some part is not JSON, is an integer beyond ±(2^53 - 1), or is nested too deep; `details["pointer"]`
            says where.
    """
    try:
        encoded = _dumps(value, None, _OPTIONS)
        # A bare number shows no trace; that of any other is ASCII, and is found fastest in text of one byte a letter.
        # And orjson has bounded the depth before the engine looks at the value: on one nested 20,000 deep it would
        # overflow its stack.
        if (
            (type(value) is dict or isinstance(value, (dict, list, tuple)))
            and (not _shows_odd_number_or_uuid(encoded.decode("latin-1")) or _has_neither_float_nor_uuid(value))
            and (encoded.isascii() or not _has_astral_text(encoded) or not _shows_astral_key(encoded.decode()))
        ):
            return encoded
    except (TypeError, ValueError):
        # What orjson and the engine raise for a type that is not JSON; the exact way says which and where.
        pass
    return orjson.dumps(_ordered(value, None, 0, _SAFE_INTEGERS))


def digest(value: object) -> str:
    """The SHA-256 of the canonical JSON, in hex.

    Integers up to 64 bits count digit by digit, which the RFC leaves out: schemas do bound values by 2^63 - 1.

    Raises:
        NotJson: Some part is not JSON, or an integer beyond 64 bits; `details["pointer"]` says where.
    """
    try:
        encoded = canonical_json(value)
    except NotJson:
        encoded = orjson.dumps(_ordered(value, None, 0, _INTEGERS_OF_64_BITS))
    return _sha256(encoded).hexdigest()


def _has_astral_text(encoded: bytes) -> bool:
    # What lies beyond the Basic Multilingual Plane begins with one of these bytes in UTF-8, and nothing else does. To
    # look for each takes a tenth of the time of the search for such a key, and no loop: that would take the rest.
    return 0xF0 in encoded or 0xF1 in encoded or 0xF2 in encoded or 0xF3 in encoded or 0xF4 in encoded  # noqa: PLR2004  # named above


def _ordered(value: object, path: Path, depth: int, integers: range) -> Any:
    """The value with its keys in order and its floats in their final form, for orjson to write down."""
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, str):
        return _text(value, path, "the text")
    if isinstance(value, (dict, list, tuple)):
        if depth >= MAX_CANONICAL_DEPTH:
            raise _not_json(path, f"it is nested deeper than {MAX_CANONICAL_DEPTH}, or contains itself")
        if isinstance(value, dict):
            keys = sorted([_text(key, path, "a key") for key in value], key=_utf16)
            return {key: _ordered(value[key], (path, key), depth + 1, integers) for key in keys}
        return [_ordered(item, (path, at), depth + 1, integers) for at, item in enumerate(value)]
    return _scalar(value, path, integers)


def _scalar(value: object, path: Path, integers: range) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if int(value) not in integers:
            raise _not_json(path, f"an integer beyond {integers[0]} … {integers[-1]} loses digits elsewhere")
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise _not_json(path, f"{value} is not a JSON number")
        return orjson.Fragment(_es6_number(float(value)))
    raise _not_json(path, f"a value of type `{type(value).__name__}` is not a JSON value")


def _text(value: object, path: Path, what: str) -> str:
    if not isinstance(value, str):
        raise _not_json(path, f"{what} is of type `{type(value).__name__}`, not text")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise _not_json(path, f"{what} holds a lone surrogate, which JSON cannot carry") from None
    # A key may be a member of `class Colour(str, Enum)`, which says "Colour.RED" to str() but holds "red".
    return str.__str__(value)


def _utf16(key: str) -> bytes:
    return key.encode("utf-16-be")


def _es6_number(value: float) -> bytes:
    """What JavaScript's Number::toString writes: the same shortest digits as `repr`, placed by other rules."""
    if value == 0:
        return b"0"
    sign, digits, point = _shortest_digits(value)
    if 0 < point <= _ES6_MAX_WHOLE_DIGITS:
        whole, part = digits[:point].ljust(point, "0"), digits[point:]
        text = f"{whole}.{part}" if part else whole
    elif -_ES6_MAX_LEADING_ZEROS <= point <= 0:
        text = f"0.{'0' * -point}{digits}"
    else:
        exponent = point - 1
        mantissa = f"{digits[0]}.{digits[1:]}" if len(digits) > 1 else digits
        text = f"{mantissa}e{exponent:+d}"
    return (sign + text).encode()


def _shortest_digits(value: float) -> tuple[str, str, int]:
    """Sign, significant digits, and how many of them stand before the decimal point."""
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, part = mantissa.partition(".")
    digits = (whole + part).lstrip("0")
    leading_zeros = len(whole + part) - len(digits)
    point = len(whole) - leading_zeros + int(exponent or 0)
    return ("-" if value < 0 else "", digits.rstrip("0"), point)


def _not_json(path: Path, why: str) -> NotJson:
    pointer = pointer_of(path)
    return NotJson(
        f"`{pointer or '/'}` has no canonical JSON: {why}.",
        hint="Use null, booleans, finite numbers, text, lists and objects with text keys; write big integers as text.",
        details={"pointer": pointer, "reason": why},
    )
