"""From the JSON object that a model sends to a selector; every mistake is answered with how to do it right."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, Final, Literal, TypeVar

from toolcrib_core.json_values import JsonScalar
from toolcrib_core.wording import kind_of, listed, nearest, quoted
from toolcrib_mcp.errors import ViewFailed
from toolcrib_mcp.views import selectors as known
from toolcrib_mcp.views.failing import wrong
from toolcrib_mcp.views.json_pointers import check_pointer
from toolcrib_mcp.views.selectors import OPERATORS, SELECTORS, Condition, Operator, Order, Selector
from toolcrib_runtime.errors import JsonPathError
from toolcrib_runtime.json_paths import MAX_PATH_LENGTH, parse_json_path

MAX_NUMBER: Final = 2**53 - 1
"""Greater numbers are not exact in every reader of JSON."""

MAX_TEXT: Final = 1_000
MAX_PATTERN: Final = 500
MAX_POINTER: Final = 4_000
MAX_CONTEXT: Final = 20
MAX_COLUMNS: Final = 200
MAX_CONDITIONS: Final = 20
MAX_ORDERS: Final = 5
MAX_OPTIONS: Final = 200
"""How many values `in` may name."""

T = TypeVar("T")


def read_selector(raw: object) -> Selector:
    """The selector that this JSON value describes.

    Raises:
        ViewFailed: It describes none; the hint has a correct one.
    """
    if not isinstance(raw, Mapping):
        raise wrong(f"A selector is a JSON object with a `type`, not {kind_of(raw)}.", type_="head")
    given = dict(raw)
    name = given.pop("type", None)
    if not isinstance(name, str):
        raise wrong("The selector has no `type`.", hint=f"Known types: {listed(SELECTORS)}.", type_="head")
    if name not in SELECTORS:
        raise _unknown("selector type", name, list(SELECTORS), type_=None)
    _refuse_unknown(given, SELECTORS[name], type_=name)
    return _READERS[name](_Fields(given, name))


class _Fields:
    """The fields of one selector, taken by name and checked."""

    def __init__(self, given: Mapping[Any, object], type_: str) -> None:
        self._given = given
        self.type = type_

    def anything(self, name: str) -> object:
        return self._given.get(name)

    def integer(self, name: str, *, least: int, most: int = MAX_NUMBER) -> int | None:
        value = self._given.get(name)
        if value is None:
            return None
        # JSON has one kind of number: 3.0 is 3.
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.wrong(name, "an integer", value)
        if not least <= value <= most:
            raise wrong(f"`{name}` must be from {least:,} to {most:,}.", type_=self.type)
        return value

    def text(self, name: str, *, most: int, least: int = 0) -> str | None:
        value = self._given.get(name)
        if value is None:
            return None
        if not isinstance(value, str):
            raise self.wrong(name, "a string", value)
        if not least <= len(value) <= most:
            raise wrong(f"`{name}` must have {least:,} to {most:,} characters.", type_=self.type)
        if not _is_text(value):
            raise wrong(f"`{name}` holds a lone surrogate, which is no character.", type_=self.type)
        return value

    def flag(self, name: str) -> bool:
        value = self._given.get(name)
        if value is not None and not isinstance(value, bool):
            raise self.wrong(name, "true or false", value)
        return value is True

    def pointer(self) -> str:
        pointer = self.text("pointer", most=MAX_POINTER) or ""
        check_pointer(pointer, type_=self.type)
        return pointer

    def items(self, name: str, *, most: int) -> list[object] | None:
        value = self._given.get(name)
        if value is None:
            return None
        if not isinstance(value, list | tuple):
            raise self.wrong(name, "a list", value)
        if len(value) > most:
            raise wrong(f"`{name}` may have {most:,} items, not {len(value):,}.", type_=self.type)
        return list(value)

    def wrong(self, name: str, expected: str, value: object) -> ViewFailed:
        return wrong(f"`{name}` must be {expected}, not {kind_of(value)}.", type_=self.type)


def _head(given: _Fields) -> Selector:
    return known.Head(**_amount(given))


def _tail(given: _Fields) -> Selector:
    return known.Tail(**_amount(given))


def _amount(given: _Fields) -> dict[Literal["lines", "chars"], int | None]:
    lines, chars = given.integer("lines", least=1), given.integer("chars", least=1)
    if lines is not None and chars is not None:
        raise wrong(f"`{given.type}` takes `lines` or `chars`, not both.", type_=given.type)
    return {"lines": known.DEFAULT_LINES if chars is None and lines is None else lines, "chars": chars}


def _lines(given: _Fields) -> Selector:
    start, end = given.integer("start", least=1), given.integer("end", least=1)
    start = 1 if start is None else start
    if end is not None and end < start:
        raise wrong("`end` lies before `start`; lines count from 1, and `end` is included.", type_="lines")
    return known.Lines(start=start, end=end)


def _bytes(given: _Fields) -> Selector:
    start, end = given.integer("start", least=0) or 0, given.integer("end", least=1)
    if end is not None and end <= start:
        raise wrong("`end` must lie behind `start`; bytes count from 0, and `end` is not included.", type_="bytes")
    return known.Bytes(start=start, end=end)


def _search(given: _Fields) -> Selector:
    text, pattern = given.text("text", least=1, most=MAX_TEXT), given.text("pattern", least=1, most=MAX_PATTERN)
    if (text is None) == (pattern is None):
        raise wrong("`search` takes either `text` or `pattern`.", type_="search")
    if text is not None and "\n" in text:
        raise wrong("`search` goes line by line, and `text` holds a line break.", type_="search")
    context = given.integer("context", least=0, most=MAX_CONTEXT)
    return known.Search(
        text=text,
        pattern=pattern,
        ignore_case=given.flag("ignore_case"),
        context=known.Search().context if context is None else context,
        max=given.integer("max", least=1),
    )


def _pointer(given: _Fields) -> Selector:
    if given.anything("pointer") is None:
        raise wrong("`pointer` is missing.", hint="The empty pointer is the whole value.", type_="pointer")
    return known.Pointer(pointer=given.pointer())


def _path(given: _Fields) -> Selector:
    path = given.text("path", least=1, most=MAX_PATH_LENGTH)
    if path is None:
        raise wrong("`path` is missing.", type_="path")
    try:
        parse_json_path(path)
    except JsonPathError as error:
        raise wrong(error.message, type_="path") from None
    return known.Path(path=path)


def _rows(given: _Fields) -> Selector:
    columns = given.items("columns", most=MAX_COLUMNS)
    if columns is not None and not (columns and all(isinstance(each, str) and _is_text(each) for each in columns)):
        raise wrong("`columns` must be a list of names, and not an empty one.", type_="rows")
    where = [_condition(each) for each in given.items("where", most=MAX_CONDITIONS) or ()]
    sort = [_order(each) for each in given.items("sort", most=MAX_ORDERS) or ()]
    return known.Rows(
        pointer=given.pointer(),
        columns=None if columns is None else tuple(dict.fromkeys(map(str, columns))),
        where=tuple(where),
        sort=tuple(sort),
        start=given.integer("start", least=0) or 0,
        count=given.integer("count", least=1),
    )


def _condition(raw: object) -> Condition:
    given = _part("where", raw, Condition)
    column, op = given.text("column", most=MAX_TEXT), given.text("op", most=MAX_TEXT)
    if column is None or op is None:
        raise wrong("Each condition in `where` needs `column` and `op`.", type_="rows")
    operator = _operator(op)
    values = given.items("value", most=MAX_OPTIONS) if operator == "in" else None
    if operator == "in":
        if values is None or not all(map(_is_scalar, values)):
            raise wrong("`in` needs a `value` that is a list of strings, numbers, booleans or nulls.", type_="rows")
        return Condition(column=column, op=operator, value=tuple(_scalar(each) for each in values))
    value = given.anything("value")
    if not _is_scalar(value):
        raise wrong("`value` must be a string, a number, a boolean or null.", type_="rows")
    if operator not in {"=", "!=", "is null", "is not null"} and value is None:
        raise wrong(f"{quoted(op)} needs a `value`.", type_="rows")
    return Condition(column=column, op=operator, value=_scalar(value))


def _operator(op: str) -> Operator:
    spelled = _OTHER_SPELLINGS.get(op.strip().lower(), op.strip().lower())
    for each in OPERATORS:
        if each == spelled:
            return each
    raise _unknown("operator", op, list(OPERATORS), type_="rows")


def _order(raw: object) -> Order:
    given = _part("sort", raw, Order)
    column = given.text("column", most=MAX_TEXT)
    if column is None:
        raise wrong("Each entry of `sort` needs a `column`.", type_="rows")
    return Order(column=column, desc=given.flag("desc"))


def _part(name: str, raw: object, kind: type) -> _Fields:
    if not isinstance(raw, Mapping):
        raise wrong(f"Each entry of `{name}` is an object, not {kind_of(raw)}.", type_="rows")
    _refuse_unknown(raw, kind, type_="rows")
    return _Fields(raw, "rows")


def _refuse_unknown(given: Mapping[Any, object], kind: type, *, type_: str) -> None:
    names = [each.name for each in fields(kind)]
    for each in given:
        if each not in names:
            raise _unknown("field", str(each), names, type_=type_)


def _unknown(what: str, word: str, options: list[str], *, type_: str | None) -> ViewFailed:
    meant = nearest(word, options)
    suggestion = f" Did you mean {quoted(meant)}?" if meant is not None else ""
    hint = f"Known: {listed(options)}." if options else "It takes none but `type`."
    example = meant if what == "selector type" else type_
    return wrong(f"There is no {what} {quoted(word)}.{suggestion}", hint=hint, type_=example)


def _is_scalar(value: object) -> bool:
    return value is None or isinstance(value, int | float) or (isinstance(value, str) and _is_text(value))


def _scalar(value: object) -> JsonScalar:
    return value if value is None or isinstance(value, str | int | float) else str(value)


def _is_text(value: str) -> bool:
    return value.isascii() or not any("\ud800" <= each <= "\udfff" for each in value)


_OTHER_SPELLINGS = {
    "==": "=",
    "<>": "!=",
    "is_null": "is null",
    "is_not_null": "is not null",
    "not null": "is not null",
}
_READERS: dict[str, Callable[[_Fields], Selector]] = {
    "head": _head,
    "tail": _tail,
    "lines": _lines,
    "bytes": _bytes,
    "search": _search,
    "pointer": _pointer,
    "path": _path,
    "keys": lambda given: known.Keys(pointer=given.pointer()),
    "rows": _rows,
    "shape": lambda given: known.Shape(pointer=given.pointer()),
    "all": lambda _: known.All(),
    "raw": lambda _: known.Raw(),
}
