"""Tags: short kebab-case labels, each once."""

from __future__ import annotations

import re
from collections.abc import Iterable

from toolcrib_core.errors import InvalidDefinition

MAX_TAG_LENGTH = 64

_CAMEL_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SEPARATORS = re.compile(r"[\s_.\-/]+")
_LEGAL = re.compile(r"[^\W_]+(?:-[^\W_]+)*")


def normalize_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Tags in kebab-case (`Read Only`, `readOnly` and `read_only` are `read-only`), each once, in the order given.

    Raises:
        InvalidDefinition: A tag is empty, too long, or holds more than letters, digits and separators.
    """
    if isinstance(tags, str) or not isinstance(tags, Iterable):
        raise InvalidDefinition("Tags must be a list of texts.")
    return tuple(dict.fromkeys(_normalize_tag(tag) for tag in tags))


def _normalize_tag(tag: object) -> str:
    if not isinstance(tag, str):
        raise InvalidDefinition(f"A tag must be text, not {type(tag).__name__}.")
    kebab = _SEPARATORS.sub("-", _CAMEL_HUMP.sub("-", tag.strip())).strip("-").lower()
    if len(kebab) > MAX_TAG_LENGTH or _LEGAL.fullmatch(kebab) is None:
        shown = tag if len(tag) <= MAX_TAG_LENGTH else f"{tag[:MAX_TAG_LENGTH]}…"
        raise InvalidDefinition(
            f"`{shown}` is not a tag.", hint=f"Use at most {MAX_TAG_LENGTH} letters and digits in words joined by `-`."
        )
    return kebab
