"""JSONPath (RFC 9535), read by the parser of python-jsonpath and followed with a bound on how much is looked at."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from toolcrib_runtime.json_paths.walking import (
    MAX_VISITED,
    Found,
    JsonPath,
    find_values,
    is_equal,
    is_ordered,
)

MAX_PATH_LENGTH: Final = 1_000

__all__ = [
    "MAX_PATH_LENGTH",
    "MAX_VISITED",
    "Found",
    "JsonPath",
    "find_values",
    "is_equal",
    "is_ordered",
    "parse_json_path",
]


@lru_cache(maxsize=64)
def parse_json_path(text: str) -> JsonPath:
    """Read a path.

    Raises:
        JsonPathError: It is not one, or too long; `details["position"]` is the character, counted from 1.
    """
    # Here: the parser takes 50 ms to load, and few programs ever read a path.
    from toolcrib_runtime.json_paths.reading import read_path

    return read_path(text, most=MAX_PATH_LENGTH)
