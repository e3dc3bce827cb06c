"""Whether a text holds what looks like a secret: a token of a known form, a private key, a random value by its name."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

from toolcrib_mcp.config.secret_names import is_secret_name
from toolcrib_mcp.redaction.configured import is_plain
from toolcrib_runtime.guards.secrets.shapes import PRIVATE_KEY, TOKENS

LEAST_ENTROPY: Final = 2.65
"""In bits per character: of sixteen random hexadecimal digits, 99 in 100 have more."""

_ASSIGNED: Final = re.compile(
    r"(?<![\w-])(?P<name>[A-Za-z_][\w-]{1,60})[\"']?[ \t]{0,4}(?:=>|[:=])[ \t]{0,4}[A-Za-z.]{0,24}\(?[\"']?"
    r"(?P<value>[A-Za-z0-9+/_=.~-]{16,200})(?![A-Za-z0-9+/_=.~(\[-])"
)


class Suspicion(NamedTuple):
    """What was found, without its text: a report of a secret must not spread it."""

    line: int
    what: str


def suspicions_in(text: str) -> list[Suspicion]:
    """Everything in a text that looks like a secret, from its beginning to its end."""
    found = {(text.count("\n", 0, start) + 1, what) for start, what in _found(text)}
    return [Suspicion(*each) for each in sorted(found)]


def _found(text: str) -> Iterator[tuple[int, str]]:
    lowered = text.lower()
    for what, shapes in (("a private key", (PRIVATE_KEY,)), ("a token of a known form", TOKENS)):
        for shape in shapes:
            if any(trace in lowered for trace in shape.traces):
                yield from ((match.start(), what) for match in shape.pattern.finditer(text))
    for match in _ASSIGNED.finditer(text):
        name = match["name"]
        if is_secret_name(name) and "public" not in name.lower() and _is_random(match["value"]):
            yield match.start(), f"a random value of `{name}`"


def _is_random(value: str) -> bool:
    return any(map(str.isdigit, value)) and not is_plain(value) and _entropy(value) >= LEAST_ENTROPY


def _entropy(text: str) -> float:
    shares = [times / len(text) for times in Counter(text).values()]
    return -sum(share * math.log2(share) for share in shares)
