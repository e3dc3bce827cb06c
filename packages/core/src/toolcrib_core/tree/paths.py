"""Browse paths: `/`, `/github`, `/github/issues`, `/github/issues/*`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from toolcrib_core.errors import PathInvalid, PathNotFound
from toolcrib_core.wording import listed, quoted, shown

ROOT = "/"
MAX_SEGMENT_LENGTH = 64

_SEGMENT = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_WILDCARD = "*"


def parse_path(text: str) -> tuple[str, ...]:
    """The segments of a path; none for `/`.

    A last segment `*` says "all children", which is what a path means anyway, so it is left out.

    Raises:
        PathInvalid: The text breaks the grammar; the hint says how to write it.
    """
    if not isinstance(text, str):
        raise PathInvalid(f"A path is text, not {type(text).__name__}.", hint="Start with `/`.")
    if not text.startswith(ROOT):
        raise _invalid(text, "does not start with `/`")
    segments = text[1:].split("/") if text != ROOT else []
    for position, segment in enumerate(segments, start=1):
        fault = _fault(segment, position, len(segments))
        if fault:
            raise _invalid(text, fault, position)
    return tuple(segments[:-1] if segments and segments[-1] == _WILDCARD else segments)


def format_path(segments: Iterable[str]) -> str:
    """The text of a path: the inverse of `parse_path`, but for a `*`."""
    return ROOT + "/".join(segments)


def is_segment(text: str) -> bool:
    """Whether the text can stand in a path as it is."""
    return _SEGMENT.fullmatch(text) is not None


def not_found(segments: Sequence[str], nearest: Sequence[str]) -> PathNotFound:
    """The error for a well-formed path that leads nowhere; `nearest` must exist."""
    path = format_path(segments)
    return PathNotFound(
        f"Nothing is at the path {quoted(path)}.",
        hint=f"Try {listed(nearest)}.",
        details={"path": shown(path), "nearest": list(nearest)},
    )


def _fault(segment: str, position: int, count: int) -> str | None:
    if segment == "":
        return "ends in `/`" if position == count else f"has an empty segment at position {position}"
    if segment == _WILDCARD:
        return None if position == count else f"has a `*` at position {position}, but `*` can only come last"
    if not is_segment(segment):
        return f"has a malformed segment at position {position}"
    if position == 1 and segment[0].isdigit():
        return "names a namespace that starts with a digit"
    return None


def _invalid(text: str, fault: str, position: int | None = None) -> PathInvalid:
    place = {} if position is None else {"segment": position}
    return PathInvalid(
        f"The path {fault}.",
        hint=(
            "Write `/` or `/namespace/…`: segments of at most 64 lower-case letters, digits, `_` and `-` that start "
            "with a letter or digit, the first with a letter; no `/` at the end."
        ),
        details={"path": shown(text), **place},
    )
