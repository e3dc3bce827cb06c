"""JSON values that are checked once and cannot change afterwards."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from toolcrib_core.errors import NotJson

if TYPE_CHECKING:
    from collections.abc import Mapping

JsonScalar: TypeAlias = str | int | float | bool | None
JsonValue: TypeAlias = JsonScalar | list["JsonValue"] | dict[str, "JsonValue"]
JsonObject: TypeAlias = dict[str, JsonValue]

MAX_DEPTH = 200
MIN_INTEGER, MAX_INTEGER = -(2**63), 2**64 - 1


def _refuse(*_: object, **__: object) -> NoReturn:
    raise TypeError("this JSON value belongs to a frozen definition; copy it with `thaw` to change it")


class FrozenDict(dict[str, Any]):
    """A dict that refuses every change; equal to, and serialised like, a plain one."""

    __slots__ = ()
    __setitem__ = __delitem__ = clear = pop = popitem = setdefault = update = __ior__ = _refuse

    def __hash__(self) -> int:  # type: ignore[override]  # dict is unhashable only because it can change
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[object, ...]:
        return (FrozenDict, (dict(self),))


class FrozenList(list[Any]):
    """A list that refuses every change; equal to, and serialised like, a plain one."""

    __slots__ = ()
    __setitem__ = __delitem__ = append = clear = extend = insert = pop = remove = reverse = sort = _refuse
    __iadd__ = __imul__ = _refuse

    def __hash__(self) -> int:  # type: ignore[override]  # list is unhashable only because it can change
        return hash(tuple(self))

    def __reduce__(self) -> tuple[object, ...]:
        return (FrozenList, (list(self),))


def freeze(value: object, where: str = "") -> Any:
    """A deep, unchangeable copy of a JSON value.

    `where` is the path that errors start with, as in `metadata`.

    Raises:
        NotJson: Some part is not JSON (a cycle, NaN, bytes, a set, a key that is not text, a lone surrogate, an
            integer over 64 bits …) or the nesting is deeper than 200; the message has the path.
    """
    return _freeze(value, where, set(), 0)


def freeze_object(value: Mapping[str, object], where: str = "") -> FrozenDict:
    """`freeze` for a value that must be a JSON object."""
    if not isinstance(value, dict) and not hasattr(value, "keys"):
        raise _not_json(where, f"expected an object, got {_kind(value)}")
    frozen: FrozenDict = freeze(dict(value), where)
    return frozen


def thaw(value: Any) -> Any:
    """A plain, changeable deep copy of a frozen value."""
    if isinstance(value, dict):
        return {key: thaw(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [thaw(item) for item in value]
    return value


def check_text(text: str, where: str = "") -> str:
    """The text itself, if every reader of JSON and every database can carry it.

    Raises:
        NotJson: It holds a lone surrogate or a NUL character.
    """
    if "\x00" in text:
        raise _not_json(where, "the text holds a NUL character, which many readers cut it at")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise _not_json(where, "the text holds a lone surrogate, which JSON cannot carry") from None
    return str(text)


def pointer_join(where: str, key: str | int) -> str:
    """The JSON pointer of a child, with `~` and `/` escaped as RFC 6901 says."""
    return f"{where}/{str(key).replace('~', '~0').replace('/', '~1')}"


def _freeze(value: object, where: str, open_ids: set[int], depth: int) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return check_text(value, where)
    if isinstance(value, int):
        if not MIN_INTEGER <= value <= MAX_INTEGER:
            raise _not_json(where, "an integer of more than 64 bits would not survive most JSON readers")
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise _not_json(where, f"{value} is not a JSON number")
        return float(value)
    if not isinstance(value, dict | list | tuple):
        raise _not_json(where, f"{_kind(value)} is not a JSON value")
    if id(value) in open_ids:
        raise _not_json(where, "the value contains itself")
    if depth >= MAX_DEPTH:
        raise _not_json(where, f"nested deeper than {MAX_DEPTH}")
    open_ids.add(id(value))
    try:
        if isinstance(value, dict):
            return FrozenDict(
                {
                    _checked_key(key, where): _freeze(item, pointer_join(where, key), open_ids, depth + 1)
                    for key, item in value.items()
                }
            )
        return FrozenList(
            [_freeze(item, pointer_join(where, index), open_ids, depth + 1) for index, item in enumerate(value)]
        )
    finally:
        open_ids.discard(id(value))


def _checked_key(key: object, where: str) -> str:
    if not isinstance(key, str):
        raise _not_json(where, f"the key {key!r} is not text")
    return check_text(key, where)


def _kind(value: object) -> str:
    return f"a value of type `{type(value).__name__}`"


def _not_json(where: str, why: str) -> NotJson:
    return NotJson(
        f"`{where or '/'}` is not JSON: {why}.",
        hint="Use only null, booleans, finite numbers, text, lists and objects with text keys.",
        details={"pointer": where, "reason": why},
    )
