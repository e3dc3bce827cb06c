"""What part of an artifact is asked for: one frozen class for each `type` of selector."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from toolcrib_core.json_values import JsonScalar

Operator: TypeAlias = Literal["=", "!=", "<", "<=", ">", ">=", "contains", "in", "is null", "is not null"]

OPERATORS: Final[tuple[Operator, ...]] = ("=", "!=", "<", "<=", ">", ">=", "contains", "in", "is null", "is not null")

DEFAULT_LINES: Final = 50
"""How many lines `head` and `tail` take when they are told nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Head:
    """The beginning of a text: so many lines, or so many characters."""

    lines: int | None = DEFAULT_LINES
    chars: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Tail:
    """The end of a text, in its order: so many lines, or so many characters."""

    lines: int | None = DEFAULT_LINES
    chars: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Lines:
    """Lines from `start` to `end`, counted from 1, both included."""

    start: int = 1
    end: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Bytes:
    """Bytes from `start`, counted from 0, up to but without `end`."""

    start: int = 0
    end: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Search:
    """The lines that hold a text, or that a pattern matches, with lines around them; `max` of them in one answer."""

    text: str | None = None
    pattern: str | None = None
    ignore_case: bool = False
    context: int = 1
    max: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Pointer:
    """The JSON value that a pointer (RFC 6901) leads to."""

    pointer: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Path:
    """The JSON values that a JSONPath (RFC 9535) finds."""

    path: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Keys:
    """The keys of a JSON object, of the objects in a list, or the columns of a table, with the types found there."""

    pointer: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Condition:
    """What the cell of one column must be."""

    column: str
    op: Operator
    value: JsonScalar | tuple[JsonScalar, ...] = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Order:
    """By which column rows are sorted."""

    column: str
    desc: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Rows:
    """Rows of a table, or objects of a JSON list: those that fulfil every condition, sorted, a part of them.

    `start` counts from 0 among the rows that are left after `where` and `sort`.
    """

    pointer: str = ""
    columns: tuple[str, ...] | None = None
    where: tuple[Condition, ...] = ()
    sort: tuple[Order, ...] = ()
    start: int = 0
    count: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Shape:
    """Which types stand where in a JSON value or a table."""

    pointer: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class All:
    """The whole text from beginning to end, page by page."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Raw:
    """The content as the block that it is: an image, a sound, or a file."""


Selector: TypeAlias = Head | Tail | Lines | Bytes | Search | Pointer | Path | Keys | Rows | Shape | All | Raw

SELECTORS: Final[dict[str, type[Selector]]] = {
    "head": Head,
    "tail": Tail,
    "lines": Lines,
    "bytes": Bytes,
    "search": Search,
    "pointer": Pointer,
    "path": Path,
    "keys": Keys,
    "rows": Rows,
    "shape": Shape,
    "all": All,
    "raw": Raw,
}
"""The classes by the `type` that names them."""

EXAMPLES: Final[dict[str, str]] = {
    "head": '{"type": "head", "lines": 50}',
    "tail": '{"type": "tail", "lines": 50}',
    "lines": '{"type": "lines", "start": 1, "end": 120}',
    "bytes": '{"type": "bytes", "start": 0, "end": 4096}',
    "search": '{"type": "search", "text": "error", "context": 2}',
    "pointer": '{"type": "pointer", "pointer": "/items/0/name"}',
    "path": '{"type": "path", "path": "$.items[?(@.price > 10)].name"}',
    "keys": '{"type": "keys", "pointer": "/items/0"}',
    "rows": '{"type": "rows", "columns": ["id", "name"], "where": [{"column": "id", "op": ">", "value": 10}], '
    '"sort": [{"column": "name"}], "count": 20}',
    "shape": '{"type": "shape"}',
    "all": '{"type": "all"}',
    "raw": '{"type": "raw"}',
}
"""One correct selector of each type."""


def type_of(selector: Selector) -> str:
    """The `type` that names this selector."""
    return type(selector).__name__.lower()
