"""The demo's `data` server: tables, numbers, encodings and units."""

from __future__ import annotations

import ast
import base64
import csv
import hashlib
import io
import json
import math
import operator
import statistics
import uuid
from collections.abc import Callable
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from toolcrib_core.wording import listed
from toolcrib_runtime import tool

_Text = Annotated[str, Field(max_length=200_000)]
_Numbers = Annotated[list[float], Field(min_length=1, max_length=100_000)]
_OPERATORS: Final[dict[type[ast.AST], Callable[..., float]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}
_FUNCTIONS: Final[dict[str, Callable[..., float]]] = {
    each.__name__: each for each in (abs, round, min, max, math.sqrt, math.log, math.sin, math.cos, math.tan, math.exp)
}
_CONSTANTS: Final = {"pi": math.pi, "e": math.e}
# By unit: what it measures, and how many base units it is.
_UNITS: Final = {
    "mm": ("length", 0.001),
    "cm": ("length", 0.01),
    "m": ("length", 1.0),
    "km": ("length", 1000.0),
    "in": ("length", 0.0254),
    "ft": ("length", 0.3048),
    "mi": ("length", 1609.344),
    "g": ("mass", 0.001),
    "kg": ("mass", 1.0),
    "oz": ("mass", 0.028349523125),
    "lb": ("mass", 0.45359237),
    "ml": ("volume", 0.001),
    "l": ("volume", 1.0),
    "gal": ("volume", 3.785411784),
}


@tool(effects="none", tags=["data"])
def read_csv(text: _Text, delimiter: Annotated[str, Field(min_length=1, max_length=1)] = ",") -> list[dict[str, str]]:
    """Read CSV text with a header line into a list of records."""
    rows = csv.DictReader(io.StringIO(text), delimiter=delimiter, restkey="", restval="")
    return [{str(key): str(value) for key, value in row.items()} for row in rows]


@tool(effects="none", tags=["data"])
def write_csv(records: Annotated[list[dict[str, Any]], Field(max_length=10_000)]) -> str:
    """Write a list of records as CSV text with a header line."""
    out = io.StringIO()
    fields = list(dict.fromkeys(name for record in records for name in record))
    writer = csv.DictWriter(out, fields, lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return out.getvalue()


@tool(effects="none", tags=["data"])
def describe_numbers(numbers: _Numbers) -> dict[str, float]:
    """Describe numbers by their count, sum, minimum, maximum, mean, median and standard deviation."""
    return {
        "count": len(numbers),
        "sum": math.fsum(numbers),
        "minimum": min(numbers),
        "maximum": max(numbers),
        "mean": statistics.fmean(numbers),
        "median": statistics.median(numbers),
        "deviation": statistics.pstdev(numbers),
    }


@tool(effects="none", tags=["data"])
def calculate(expression: Annotated[str, Field(max_length=500)]) -> float:
    """Calculate an arithmetic expression, as in `(3 + 4) * sqrt(2)`."""
    try:
        return _value(ast.parse(expression, mode="eval").body)
    except (SyntaxError, RecursionError, MemoryError):
        raise ValueError("this is no arithmetic expression; write it as in `(3 + 4) * sqrt(2)`") from None
    except (TypeError, OverflowError, ZeroDivisionError) as failure:
        raise ValueError(f"it cannot be calculated: {failure}") from None


@tool(effects="none", tags=["data"])
def convert_unit(value: float, from_unit: str, to_unit: str) -> dict[str, float | str]:
    """Convert a length, mass or volume between metric and imperial units, as in 5 `mi` to `km`."""
    for unit in (from_unit, to_unit):
        if unit not in _UNITS:
            raise ValueError(f"there is no such unit; the units are {listed(_UNITS)}")
    (kind, size), (other_kind, other_size) = _UNITS[from_unit], _UNITS[to_unit]
    if kind != other_kind:
        raise ValueError(f"the one measures {kind}, the other {other_kind}")
    return {"value": value * size / other_size, "unit": to_unit}


@tool(effects="none", tags=["data"])
def hash_text(text: _Text, algorithm: Literal["sha256", "sha512", "blake2b"] = "sha256") -> str:
    """Give the hexadecimal digest of a text by SHA-256, SHA-512 or BLAKE2b."""
    return hashlib.new(algorithm, text.encode()).hexdigest()


@tool(effects="none", tags=["data"])
def base64_text(text: _Text, action: Literal["encode", "decode"] = "encode") -> str:
    """Encode a text as base64, or decode base64 to text."""
    if action == "encode":
        return base64.b64encode(text.encode()).decode()
    try:
        return base64.b64decode(text, validate=True).decode()
    except ValueError:  # as those of base64 and of UTF-8 are
        raise ValueError("it is not base64 of UTF-8 text") from None


@tool(effects="none", tags=["data"])
def format_json(text: _Text) -> str:
    """Check JSON text and write it indented, with its keys in order."""
    try:
        return json.dumps(json.loads(text), indent=2, sort_keys=True, ensure_ascii=False)
    except json.JSONDecodeError as failure:
        raise ValueError(f"it is not JSON: {failure.msg}, at line {failure.lineno}") from None
    except RecursionError:
        raise ValueError("it is nested too deep") from None


@tool(effects="read", tags=["data"])
def make_uuids(count: Annotated[int, Field(ge=1, le=1000)] = 1) -> list[str]:
    """Make random UUIDs (version 4)."""
    return [str(uuid.uuid4()) for _ in range(count)]


TOOLS = (
    read_csv,
    write_csv,
    describe_numbers,
    calculate,
    convert_unit,
    hash_text,
    base64_text,
    format_json,
    make_uuids,
)


def _value(node: ast.AST) -> float:
    match node:
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.Name(id=name) if name in _CONSTANTS:
            return _CONSTANTS[name]
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_value(operand))
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            # A whole number could grow until it fills the memory; a float cannot.
            return math.pow(_value(left), _value(right))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_value(left), _value(right))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*map(_value, arguments))
    functions = listed([*_FUNCTIONS, *_CONSTANTS])
    raise ValueError(f"an expression holds numbers, + - * / // % **, parentheses, and {functions}")
