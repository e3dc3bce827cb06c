"""What an SDK's own type makes of a value: equal to the value, or the SDK does not know all of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from pydantic import TypeAdapter


def as_sdk_reads(kind: Any, value: object) -> Any:
    """The value as the type has read it. A TypedDict drops what it does not know, so compare with the value itself."""
    return _plain(_adapter(kind).validate_python(value))


def are_exactly(kind: Any, values: Iterable[object]) -> bool:
    """Whether every value is of the type, and nothing of it is unknown there."""
    return all(as_sdk_reads(kind, each) == each for each in values)


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)  # for the large unions of the SDKs this takes a second


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    # Where a type says `Iterable`, pydantic gives something to be read once.
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return [_plain(each) for each in value]
    return value
