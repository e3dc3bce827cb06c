"""An error as text for a model: what is wrong, what to do, and what the failed server or program said itself.

`details["excerpt"]` of an error is what the server or program answered, such as the beginning of the body of an HTTP
error. The code that raises the error takes secrets out of it; the length and the mark are kept here, for every outlet.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from toolcrib_core.errors import ToolError

EXCERPT: Final = "excerpt"
"""The member of `details` for what the server or program said itself."""

MAX_EXCERPT: Final = 500
"""How many characters of it a reader gets."""

_MARK: Final = "The server or program itself said"
# No character of the excerpt can end the quotation.
_QUOTES: Final = str.maketrans({"“": '"', "”": '"'})


def error_text(error: ToolError) -> str:
    """The message, the hint, and on a line of its own what the server or program said itself, marked as its words."""
    said = excerpt_text(error)
    return str(error) if said is None else f"{error}\n{said}"


def excerpt_text(error: ToolError) -> str | None:
    """What the server or program said itself, on one bounded line and marked as its words; None if it said nothing."""
    excerpt = excerpt_of(error.details)
    return None if excerpt is None else f"{_MARK}: “{excerpt}”"


def excerpt_of(details: Mapping[str, object]) -> str | None:
    """The excerpt in the details of an error, on one line of printable characters and cut to `MAX_EXCERPT`."""
    given = details.get(EXCERPT)
    if not isinstance(given, str):
        return None
    # Cut twice: what is given may be a whole page.
    printable = "".join(each if each.isprintable() else " " for each in given[: 4 * MAX_EXCERPT])
    line = " ".join(printable.split()).translate(_QUOTES)
    if len(line) > MAX_EXCERPT or len(given) > 4 * MAX_EXCERPT:
        line = f"{line[: MAX_EXCERPT - 1]}…"
    return line or None
