"""Every form in which a client may write a tool id."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote

from toolcrib_core import InvalidToolId, ResolutionError, WireNameCollision, WireNames
from toolcrib_core.wording import either, kind_of, quoted, shown

_MAX_SUGGESTED = 3
_LOOK_AGAIN = "Look for it again: its server may be gone, or may call it something else now."


def decoded_id(text: object) -> str:
    """The text of an id with percent-encoding undone; an id of the gateway holds no `%` of its own.

    Raises:
        InvalidToolId: It is not text, or empty.
    """
    if not isinstance(text, str) or not text:
        raise InvalidToolId(f"A tool id is text such as `github:create_issue@1.4.0`, not {kind_of(text)}.")
    return unquote(text) if "%" in text else text


def provider_names(ids: Iterable[str]) -> WireNames:
    """The provider-safe names of these ids.

    A server may name a tool so that its provider-safe name is that of another. Neither gets one then, and both can
    still be named by id: one tool must not take the names of all.
    """
    named = set(ids)
    while True:
        try:
            return WireNames(named)
        except WireNameCollision as collision:
            colliding: Any = collision.details["ids"]
            named.difference_update(colliding)


def no_such_tool(text: str, failure: ResolutionError) -> ResolutionError:
    """The registry's refusal in words for a client: it has no other way to name a tool than a full id."""
    near: Any = failure.details.get("candidates") or failure.details.get("didYouMean")
    hint = f"Did you mean {either([f'`{each}`' for each in near[:_MAX_SUGGESTED]])}?" if near else _LOOK_AGAIN
    return type(failure)(
        f"No tool has the id {quoted(text)}.",
        hint=hint,
        details={"id": shown(text), "didYouMean": list(near or ())[:_MAX_SUGGESTED]},
    )
