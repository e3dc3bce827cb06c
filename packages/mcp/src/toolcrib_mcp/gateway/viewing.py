"""`tool_view`: a part of an artifact, for its owner."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from toolcrib_mcp.errors import ViewFailed
from toolcrib_mcp.firewall import ContentKind
from toolcrib_mcp.views import View, read_selector, view
from toolcrib_store import ArtifactInfo, ArtifactNotFound, StoreError

if TYPE_CHECKING:
    from toolcrib_mcp.front.service import Caller
    from toolcrib_mcp.gateway.shelf import Shelf


class Viewer:
    """Shows parts of what was kept, each answer within a number of tokens."""

    def __init__(self, shelf: Shelf | None, *, tokens: int) -> None:
        self._shelf = shelf
        self._tokens = tokens

    async def view(self, handle: str, selector: object, *, cursor: str | None = None, caller: Caller) -> View:
        """The part that the selector means, or the page of it that a cursor leads to.

        Raises:
            ViewFailed: The caller has no such artifact, or it cannot be looked at like that; the hint says how.
        """
        wanted = read_selector(selector)
        if self._shelf is None:
            raise ViewFailed("This gateway keeps no results: each comes back whole.")
        try:
            info, content = await self._shelf.take(handle, caller=caller)
        except ArtifactNotFound as missing:
            raise ViewFailed(missing.message, hint=_how_long(self._shelf.seconds)) from None
        except StoreError as failure:
            raise ViewFailed(
                failure.message, category=failure.category, retryable=failure.retryable, hint=failure.hint
            ) from failure
        return await asyncio.to_thread(
            view,
            content,
            kind_of_artifact(info),
            wanted,
            media_type=info.media_type,
            handle=info.handle,
            cursor=cursor,
            budget=self._tokens,
        )


def kind_of_artifact(info: ArtifactInfo) -> ContentKind:
    """What an artifact is; one whose kind nobody here knows any more can be read as bytes."""
    try:
        return ContentKind(info.kind)
    except ValueError:
        return ContentKind.BINARY


def view_result(shown: View) -> dict[str, Any]:
    """A view as the result of a call."""
    content: list[Any] = [{"type": "text", "text": shown.text}]
    if shown.block is not None:
        content.append(shown.block)
    return {"content": content}


def _how_long(seconds: float) -> str:
    hours = seconds / 3600
    return f"Handles live for {hours:g} h after the result came. Use one from a recent result, or make the call again."
