"""Whether a URI may come from a URI template: enough of RFC 6570 to find the server, in time linear in the URI."""

from __future__ import annotations

import re
from typing import Final

MAX_TEMPLATE: Final = 4_096
"""Characters of a template that is looked at; a longer one fits nothing."""

_EXPRESSION = re.compile(r"\{([^{}]*)\}")
# Expressions that begin with one of these may stand for text with a slash in it.
_WIDE = "+#/?&;."


def fits(template: str, uri: str) -> bool:
    """Whether the fixed parts of the template stand in the URI in their order, with something legal between them."""
    if len(template) > MAX_TEMPLATE:
        return False
    # Literal and expression take turns, beginning and ending with a literal.
    parts = _EXPRESSION.split(template)
    if len(parts) == 1:
        return template == uri
    first, last = parts[0], parts[-1]
    if len(uri) < len(first) + len(last) or not uri.startswith(first) or not uri.endswith(last):
        return False
    at, end = len(first), len(uri) - len(last)
    for expression, literal in zip(parts[1:-2:2], parts[2:-1:2], strict=True):
        found = uri.find(literal, at, end)
        if found < 0 or not _may_be(expression, uri[at:found]):
            return False
        at = found + len(literal)
    return _may_be(parts[-2], uri[at:end])


def _may_be(expression: str, text: str) -> bool:
    return expression.startswith(tuple(_WIDE)) or "/" not in text
