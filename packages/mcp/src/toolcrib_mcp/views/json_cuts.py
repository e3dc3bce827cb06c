"""Where JSON text may be cut: between its tokens, or inside a string between whole characters and escapes."""

from __future__ import annotations

import re

_REST_OF_STRING = re.compile(r'[^"\\]*(?:\\.[^"\\]*)*', re.DOTALL)
_OUTSIDE = re.compile(r'[^"]*')
# Two escaped surrogates are one character.
_ESCAPE = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{0,4}|\\.?", re.DOTALL)
_BREAKS = ",[]{}:\n"


def json_cut(text: str, limit: int, *, in_string: bool) -> tuple[int, bool]:
    """The last good place to cut at or before `limit`, and whether it lies inside a string.

    `text` is a stretch of valid JSON that begins between tokens, or inside a string. The place is never 0.
    """
    at, best = 0, 0
    while at < limit:
        if in_string:
            rest = _REST_OF_STRING.match(text, at)
            end = at if rest is None else rest.end()
            if end >= limit or text[end] != '"':
                return (best, False) if best else (_inside_string(text, at, limit), True)
            at, in_string = end + 1, False
            best = at
        else:
            outside = _OUTSIDE.match(text, at, limit)
            end = at if outside is None else outside.end()
            best = max(best, *(text.rfind(each, at, end) + 1 for each in _BREAKS))
            if end == limit:
                break
            at, in_string = end + 1, True
    # Without any break there is one number that is longer than a page.
    return (best, False) if best else (limit, in_string)


def _inside_string(text: str, start: int, limit: int) -> int:
    last = None
    for escape in _ESCAPE.finditer(text, start):
        if escape.start() >= limit:
            break
        last = escape
    # At the end of the text an escape may lack its last characters.
    if last is not None and (last.end() > limit or last.end() == limit == len(text)):
        return last.start() or last.end()
    return limit
