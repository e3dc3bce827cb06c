"""Who is spoken to when a server asks or tells something of its own accord: the latest request under way to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from toolcrib_mcp.rpc import OnNotification, OnRequest, RpcError
from toolcrib_mcp.rpc.messages import METHOD_NOT_FOUND


@dataclass(frozen=True, kw_only=True, eq=False)
class Voice:
    """How one request under way can be spoken to."""

    on_request: OnRequest | None = None
    on_notification: OnNotification | None = None


class Voices:
    """The requests under way to one server, in the order they began."""

    def __init__(self) -> None:
        self._under_way: dict[Voice, None] = {}

    def __len__(self) -> int:
        return len(self._under_way)

    @contextmanager
    def heard(self, voice: Voice) -> Iterator[None]:
        """Let the server speak to this request until it has ended."""
        self._under_way[voice] = None
        try:
            yield
        finally:
            del self._under_way[voice]

    async def ask(self, method: str, params: dict[str, Any]) -> Mapping[str, Any]:
        """The answer to a request of the server.

        Raises:
            RpcError: Nobody is there to ask, or it is the client's own answer.
        """
        for voice in reversed(self._under_way):
            if voice.on_request is not None:
                return await voice.on_request(method, params)
        raise RpcError(METHOD_NOT_FOUND, "No request is under way whose client could be asked.")

    async def tell(self, method: str, params: dict[str, Any]) -> bool:
        """Hand a notification on; whether anybody took it."""
        for voice in reversed(self._under_way):
            if voice.on_notification is not None:
                await voice.on_notification(method, params)
                return True
        return False
