"""Artifacts as arguments: `{"$artifact": handle}` becomes the content, without passing through the model."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from toolcrib_core import JsonValue
from toolcrib_core.json_values import MAX_DEPTH, pointer_join
from toolcrib_core.wording import listed
from toolcrib_mcp.front.service import Caller
from toolcrib_mcp.gateway.referred import Unusable, referred_value, refused
from toolcrib_mcp.gateway.shelf import Shelf
from toolcrib_store import ArtifactNotFound
from toolcrib_store.putting import PREFIX

KEY: Final = "$artifact"
MAX_REFERENCES: Final = 32
"""How many artifacts the arguments of one call may name."""

MAX_BYTES: Final = 16 * 1024 * 1024
"""How large they may be together."""

_CONTAINER = (Mapping, list)
_KEYS = frozenset({KEY, "pointer", "patch"})


class _Reference(NamedTuple):
    place: str
    given: Mapping[str, Any]


async def resolve_references(args: Mapping[str, Any], *, shelf: Shelf | None, caller: Caller) -> Mapping[str, Any]:
    """The arguments with every reference replaced by what it stands for; without one, the arguments themselves.

    Raises:
        GatewayError: A reference cannot be followed; the code is `ARGS_INVALID`, `details["pointer"]` is its place.
        StoreError: The database failed.
    """
    references = list(_references(args))
    if not references:
        return args
    if len(references) > MAX_REFERENCES:
        raise refused(references[MAX_REFERENCES].place, f"a call may name {MAX_REFERENCES} artifacts")
    values: dict[str, JsonValue] = {}
    room = MAX_BYTES
    for reference in references:
        if shelf is None:
            raise refused(reference.place, "this gateway keeps no artifacts")
        size, values[reference.place] = await _value(reference, shelf=shelf, caller=caller, room=room)
        room -= size
    replaced: Mapping[str, Any] = _replaced(args, "", values)
    return replaced


def _references(args: Mapping[str, Any]) -> Iterator[_Reference]:
    """Every reference in the arguments, in order; what is nested too deeply to be valid is not looked at."""
    rest: list[tuple[str, Any, int]] = [("", args, 0)]
    while rest:
        place, value, depth = rest.pop()
        if isinstance(value, Mapping) and _is_reference(value):
            yield _Reference(place, value)
        elif depth < MAX_DEPTH:
            inner = value.items() if isinstance(value, Mapping) else enumerate(value)
            found = [(pointer_join(place, key), each, depth + 1) for key, each in inner if isinstance(each, _CONTAINER)]
            rest.extend(reversed(found))


def _is_reference(value: Mapping[str, Any]) -> bool:
    # An argument may well have a member of that name; only a handle makes it a reference.
    handle = value.get(KEY)
    return isinstance(handle, str) and handle.startswith(PREFIX)


async def _value(reference: _Reference, *, shelf: Shelf, caller: Caller, room: int) -> tuple[int, JsonValue]:
    place, given = reference
    unknown = sorted(given.keys() - _KEYS)
    if unknown:
        raise refused(place, f"beside the handle it may have `pointer` and `patch`, not {listed(unknown)}")
    try:
        info = await shelf.info(given[KEY], caller=caller)
        if info.size > room:
            raise refused(place, f"the artifacts of a call may have {MAX_BYTES:,} bytes together")
        info, content = await shelf.take(given[KEY], caller=caller)
        return info.size, await asyncio.to_thread(
            referred_value, content, info, pointer=given.get("pointer"), patch=given.get("patch"), room=MAX_BYTES
        )
    except ArtifactNotFound as missing:
        raise refused(place, f"{missing.message[0].lower()}{missing.message[1:].rstrip('.')}") from None
    except Unusable as why:
        raise refused(place, str(why)) from None


def _replaced(value: Any, place: str, values: Mapping[str, JsonValue]) -> Any:
    """The value with what stands at these places; what lies beside the way to them is not copied."""
    if place in values:
        return values[place]
    if not any(each.startswith(f"{place}/") for each in values):
        return value
    if isinstance(value, Mapping):
        return {key: _replaced(each, pointer_join(place, key), values) for key, each in value.items()}
    return [_replaced(each, f"{place}/{number}", values) for number, each in enumerate(value)]
