"""A secret as it may appear: plain, escaped for JSON, Python and URLs, in hexadecimal and in base64."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import quote, quote_plus

from toolcrib_runtime.guards.secrets.secret import Secret

MIN_SECRET_LENGTH: Final = 6
"""Shorter secrets are not searched for: `a` or `test` would turn every text into bullets."""


def spellings(secrets: Iterable[Secret]) -> tuple[Secret, ...]:
    """Every spelling of every secret that is long enough, the longest first: one may be a part of another."""
    long_enough = (text for secret in secrets if len(text := secret.reveal()) >= MIN_SECRET_LENGTH)
    return longest_first(spelling for text in long_enough for spelling in _spellings(text))


def longest_first(texts: Iterable[str]) -> tuple[Secret, ...]:
    """Each of the texts once, as secrets, in the order in which they have to be replaced."""
    return tuple(map(Secret, sorted(set(texts), key=lambda each: (-len(each), each))))


def _spellings(text: str) -> Iterator[str]:
    data = text.encode()
    yield text
    yield repr(text)[1:-1]
    yield from (json.dumps(text, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False))
    for quoted in (quote(text), quote(text, safe=""), quote_plus(text)):
        yield from (quoted, re.sub("%..", lambda escape: escape[0].lower(), quoted))
    yield from (data.hex(), data.hex().upper())
    for standard in _in_base64(data):
        yield from (standard, standard.replace("+", "-").replace("/", "_"))


def _in_base64(data: bytes) -> Iterator[str]:
    """The data in base64, alone and inside longer data, as in `user:password`.

    A character holds six bits. Those that hold bits of a neighbour, too, are left out.
    """
    yield base64.b64encode(data).decode()
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + data).decode()
        yield encoded[-(-before * 8 // 6) : (before + len(data)) * 8 // 6]
