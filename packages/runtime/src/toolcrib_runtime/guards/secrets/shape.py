"""One kind of secret text, and where a token may begin."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from toolcrib_runtime.guards.secrets.secret import REDACTED

EDGE: Final = r"(?:(?<![A-Za-z0-9])|(?<=%[0-9A-Fa-f]{2})|(?<=\\[nrt]))"
"""Where a token may begin: not inside a word, unless what is before is the end of an escape."""


@dataclass(frozen=True)
class Shape:
    """One kind of secret text: where it may be at all, what it looks like, and what takes its place."""

    traces: tuple[str, ...]
    """One of these is in the lower-case text, or the pattern need not be tried: that is ten times as fast."""

    expression: str
    replacement: str = REDACTED
    ignore_case: bool = False

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The compiled expression: compiling all of them would cost every start of a process 30 ms."""
        return re.compile(self.expression, re.IGNORECASE if self.ignore_case else 0)


def shape(*traces: str, pattern: str, replacement: str = REDACTED, ignore_case: bool = False) -> Shape:
    """A shape, told by its traces and its pattern."""
    return Shape(traces, pattern, replacement, ignore_case)
