"""JSON pointers (RFC 6901): from a path of keys to text, and from text to a place in a value."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any, Final, TypeAlias

from toolcrib_core.json_values import pointer_join

Path: TypeAlias = "tuple[Path, str | int] | None"
"""The way from a place up to the root. A walk carries it for next to nothing; text is made only for an error."""

MISSING: Final = object()
"""What `look_up` answers where there is nothing; JSON has no such value, null being one."""


def extended(path: Path, keys: Iterable[str | int]) -> Path:
    """The path that goes on through these keys."""
    for key in keys:
        path = (path, key)
    return path


def pointer_of(path: Path) -> str:
    """The pointer of a place that a walk has reached."""
    keys: list[str | int] = []
    while path is not None:
        path, key = path
        keys.append(key)
    return pointer_from(reversed(keys))


def pointer_from(keys: Iterable[str | int]) -> str:
    """The pointer that leads through these keys, fit to be printed: a lone surrogate is escaped."""
    return reduce(pointer_join, keys, "").encode("utf-8", "backslashreplace").decode()


def split_pointer(pointer: str) -> list[str]:
    """The keys that a pointer names."""
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def look_up(value: Any, keys: Iterable[str | int]) -> Any:
    """The value at the end of the keys, or `MISSING`."""
    for key in keys:
        if isinstance(value, dict):
            value = value.get(key, MISSING)
        elif isinstance(value, list) and str(key).isdecimal() and str(key).isascii() and int(key) < len(value):
            value = value[int(key)]
        else:
            return MISSING
    return value
