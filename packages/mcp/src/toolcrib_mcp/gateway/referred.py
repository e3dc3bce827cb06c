"""What a reference to an artifact stands for: its content, a part of it, or either with changes."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, Final

import jsonpatch
from jsonpointer import JsonPointerException

from toolcrib_core import JsonValue
from toolcrib_core.schema.pointers import MISSING, look_up, split_pointer
from toolcrib_core.wording import kind_of, quoted
from toolcrib_mcp.errors import GatewayError
from toolcrib_mcp.gateway.viewing import kind_of_artifact
from toolcrib_mcp.outward import ARGS_INVALID
from toolcrib_mcp.rpc.codec import decode, json_text
from toolcrib_store import ArtifactInfo

MAX_OPERATIONS: Final = 1_000
"""How many operations one patch may have."""

_HINT = 'A reference is {"$artifact": handle, "pointer"?: JSON pointer, "patch"?: [RFC 6902 operations]}.'
# What jsonpatch lets through when a document or an operation is not what it takes for granted.
_FAULTS = (jsonpatch.JsonPatchException, JsonPointerException, TypeError, KeyError, ValueError, IndexError)


class Unusable(Exception):
    """Why a reference stands for nothing."""


def refused(place: str, why: str) -> GatewayError:
    """The error about the reference at this place in the arguments."""
    return GatewayError(
        f"The artifact at {quoted(place)} cannot be used: {why}.",
        code=ARGS_INVALID,
        hint=_HINT,
        details={"pointer": place},
    )


def referred_value(content: bytes, info: ArtifactInfo, *, pointer: object, patch: object, room: int) -> JsonValue:
    """The value for an argument: JSON as it is, text as a string, anything else in base64.

    The pointer is applied first, then the patch, whose copies may have `room` bytes together.

    Raises:
        Unusable: There is no such value.
    """
    return _patched(_part(_read(content, info), info, pointer), patch, room)


def _read(content: bytes, info: ArtifactInfo) -> JsonValue:
    kind = kind_of_artifact(info)
    if not kind.is_json:
        return content.decode("utf-8", "replace") if kind.is_text else base64.b64encode(content).decode()
    try:
        value: Any = decode(content)
    except ValueError:
        raise Unusable(f"{quoted(info.handle)} cannot be read as JSON without loss") from None
    found: JsonValue = value
    return found


def _part(value: JsonValue, info: ArtifactInfo, pointer: object) -> JsonValue:
    if pointer is None or pointer == "":
        return value
    if not isinstance(pointer, str):
        raise Unusable(f"`pointer` must be a JSON pointer such as `/items/0`, not {kind_of(pointer)}")
    if not kind_of_artifact(info).is_json:
        raise Unusable(f"{quoted(info.handle)} is {info.kind}, and only JSON can be pointed into")
    found = _at(value, pointer)
    if found is MISSING:
        raise Unusable(f"the pointer {quoted(pointer)} leads nowhere in {quoted(info.handle)}")
    part: JsonValue = found
    return part


def _at(value: JsonValue, pointer: str) -> Any:
    """What a pointer leads to; the library would follow it into the characters of a text, too."""
    if pointer and not pointer.startswith("/"):
        return MISSING
    return look_up(value, split_pointer(pointer))


def _patched(value: JsonValue, patch: object, room: int) -> JsonValue:
    if patch is None:
        return value
    if not isinstance(patch, list) or len(patch) > MAX_OPERATIONS:
        raise Unusable(f"`patch` must be a list of at most {MAX_OPERATIONS:,} operations of RFC 6902")
    for number, operation in enumerate(patch):
        try:
            room -= _copied_bytes(value, operation)
            if room < 0:
                raise Unusable("the patch copies too much")
            value = jsonpatch.JsonPatch([operation]).apply(value, in_place=True)
        except (*_FAULTS, RecursionError) as failure:
            raise Unusable(f"the operation {number} of `patch` {_why(failure)}") from None
    return value


def _copied_bytes(value: JsonValue, operation: Any) -> int:
    # Copies of copies double with every operation: 40 of them would fill any memory.
    if not isinstance(operation, Mapping) or operation.get("op") != "copy":
        return 0
    copied = _at(value, str(operation.get("from")))
    return 0 if copied is MISSING else len(json_text(copied))


def _why(failure: Exception) -> str:
    """The fault in words of ours: those of the library repeat values."""
    match failure:
        case jsonpatch.JsonPatchTestFailed():
            return "tests for another value than is there"
        case jsonpatch.JsonPatchConflict() | JsonPointerException():
            return "names a place that is not there"
        case RecursionError():
            return "is about a value that is nested too deeply"
    return "is not an operation of RFC 6902 that fits the value"
