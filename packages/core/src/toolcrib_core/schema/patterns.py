"""Regular expressions of schemas, matched in linear time: no look-around, no backreferences."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final

import jsonschema_rs

MAX_PATTERN_LENGTH: Final = 4096

_SIZES: Final = tuple(2**exponent for exponent in range(9, 22))
PATTERN_OPTIONS: Final = jsonschema_rs.RegexOptions(size_limit=_SIZES[-1], dfa_size_limit=4 * _SIZES[-1])
"""The options of the engine. The time for a character grows with the compiled pattern, so its size is bounded."""


@lru_cache(maxsize=1024)
def pattern_size(pattern: str) -> int | None:
    """About how many bytes the compiled pattern takes; None for one that is too large or cannot be matched."""
    if len(pattern) > MAX_PATTERN_LENGTH:
        return None
    return next((size for size in _SIZES if linear_matcher(pattern, size_limit=size) is not None), None)


def linear_matcher(pattern: str, *, size_limit: int) -> Callable[[str], bool] | None:
    """What tells whether some part of a text matches, in time linear in the text; None for a pattern it cannot match.

    `size_limit` bounds the compiled pattern in bytes, and with it the time for each character.
    """
    options = jsonschema_rs.RegexOptions(size_limit=size_limit, dfa_size_limit=size_limit * 4)
    try:
        validator = jsonschema_rs.Draft202012Validator({"pattern": pattern}, pattern_options=options, offline=True)
    except jsonschema_rs.ValidationError:
        return None
    return validator.is_valid
