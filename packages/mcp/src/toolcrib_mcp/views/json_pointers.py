"""JSON pointers (RFC 6901) that a model writes: checked, followed, and answered with what there is instead."""

from __future__ import annotations

import re
from typing import Final

from toolcrib_core import JsonValue
from toolcrib_core.json_values import pointer_join
from toolcrib_core.schema.pointers import split_pointer
from toolcrib_core.wording import count, listed, nearest, quoted
from toolcrib_mcp.errors import ViewFailed
from toolcrib_mcp.firewall.columns import type_name
from toolcrib_mcp.views.failing import wrong

MAX_STEPS: Final = 1_100
"""Deeper than any JSON that is read."""

_INDEX = re.compile(r"0|[1-9][0-9]{0,15}")
_BAD_ESCAPE = re.compile(r"~(?![01])")
_COMPARED_KEYS = 1_000


def check_pointer(pointer: str, *, type_: str) -> None:
    """Refuse what is no pointer.

    Raises:
        ViewFailed: It does not begin with `/`, has a `~` that escapes nothing, or very many steps.
    """
    if pointer and not pointer.startswith("/"):
        raise wrong(
            f"{quoted(pointer)} is no JSON pointer: a pointer begins with `/`, as in `/items/0`; the empty one is the "
            "whole value.",
            type_=type_,
        )
    if _BAD_ESCAPE.search(pointer):
        raise wrong("In a JSON pointer `~` is written `~0`, and `/` inside a key `~1`.", type_=type_)
    if pointer.count("/") > MAX_STEPS:
        raise wrong(f"A pointer may have {MAX_STEPS:,} steps.", type_=type_)


def follow(value: JsonValue, pointer: str, *, type_: str) -> JsonValue:
    """The value that the pointer leads to.

    Raises:
        ViewFailed: It leads nowhere; the message has the last place that exists, and what stands there.
    """
    here = ""
    for part in split_pointer(pointer):
        match value:
            case dict() if part in value:
                value = value[part]
            case list() if _INDEX.fullmatch(part) and int(part) < len(value):
                value = value[int(part)]
            case _:
                raise _nothing_there(value, part, here, type_=type_)
        here = pointer_join(here, part)
    return value


def _nothing_there(value: JsonValue, part: str, here: str, *, type_: str) -> ViewFailed:
    place = quoted(here) if here else "The whole value"
    match value:
        case dict():
            keys = list(value)
            meant = nearest(part, keys[:_COMPARED_KEYS])
            suggestion = f" Did you mean {quoted(pointer_join(here, meant))}?" if meant is not None else ""
            has = f"It has the keys {listed(keys)}." if keys else "It is empty."
            return wrong(f"{place} is an object without the key {quoted(part)}.{suggestion}", hint=has, type_=type_)
        case list():
            last = f"indices go from 0 to {len(value) - 1:,}" if value else "there is nothing in it"
            return wrong(f"{place} is a list of {count(len(value), 'item')}: {last}, and no others.", type_=type_)
    return wrong(f"{place} is of type {type_name(value)}: no pointer leads deeper.", type_=type_)
