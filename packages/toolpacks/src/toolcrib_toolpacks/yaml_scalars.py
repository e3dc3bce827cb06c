"""What an unquoted word of YAML means, where every reader agrees on it; all else must be put in quotes."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias

from toolcrib_core.wording import quoted

Scalar: TypeAlias = str | int | float | bool | None

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
# What YAML 1.1 and 1.2, or two libraries, take for different things: words for booleans, octal and hexadecimal numbers,
# numbers with underscores, base 60 (`1:30`), infinities, dates.
_AMBIGUOUS = re.compile(
    r"(?i:yes|no|on|off)|[-+]?(?:0[xob]?[0-9a-fA-F_]+|[0-9][0-9_]*)"
    r"|[-+]?(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?"
    r"|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
    r"|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt \t].*)?|="
)
_MAYBE_SPECIAL: Final = frozenset("+-.0123456789tTfFnNyYoO~=")
_CONSTANTS: Final[Mapping[str, bool | None]] = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
}
_TOO_LARGE: Final = "number-too-large"
# Beyond this, readers that know only doubles lose digits, and there is no canonical JSON.
_MAX_INTEGER: Final = 2**53 - 1
_MAX_DIGITS: Final = len(str(-_MAX_INTEGER))


class Meaning(NamedTuple):
    """What a word stands for; with a `code` it may not be used, and `problem` says why."""

    value: Scalar
    code: str | None = None
    problem: str = ""


def meaning_of(text: str) -> Meaning:
    """The meaning of an unquoted word."""
    if text and text[0] not in _MAYBE_SPECIAL:
        return Meaning(text)
    if text in _CONSTANTS:
        return Meaning(_CONSTANTS[text])
    if _NUMBER.fullmatch(text):
        return _number(text)
    if _AMBIGUOUS.fullmatch(text):
        problem = f"{quoted(text)} means different things to different readers. {_advice(text)}"
        return Meaning(text, "ambiguous-value", problem)
    return Meaning(text)


def _number(text: str) -> Meaning:
    if not _INTEGER.fullmatch(text):
        number = float(text)
        return Meaning(number) if math.isfinite(number) else Meaning(text, _TOO_LARGE, "The number is out of range.")
    if len(text) <= _MAX_DIGITS and abs(int(text)) <= _MAX_INTEGER:
        return Meaning(int(text))
    return Meaning(text, _TOO_LARGE, "An integer of more than 53 bits loses digits in many readers; put it in quotes.")


def _advice(text: str) -> str:
    if text.lower() in {"yes", "on"}:
        return "Write `true`, or put it in quotes."
    if text.lower() in {"no", "off"}:
        return "Write `false`, or put it in quotes."
    return "Put it in quotes, or write a plain decimal number."
