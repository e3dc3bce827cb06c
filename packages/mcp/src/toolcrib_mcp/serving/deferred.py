"""A service that answers what is fixed at once, and hands everything else to a service that is still being composed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from toolcrib_core import ToolError
from toolcrib_mcp.front.feed import LIST_CHANGED, Feed, Notice
from toolcrib_mcp.front.service import ServerFace
from toolcrib_mcp.rpc import RpcError
from toolcrib_mcp.rpc.messages import INTERNAL_ERROR
from toolcrib_mcp.upstreams.eras import ClientFace

if TYPE_CHECKING:
    from toolcrib_mcp.front.service import Request, Service
    from toolcrib_mcp.serving.greeting import Greeting

COMPOSED_WITHIN: Final = 60.0
"""Seconds that a request waits for the composed service."""

_LIST: Final = "tools/list"
# Composing is mostly importing, in a thread that takes turns with the event loop: the answer is to be sent before.
_AFTER_ANSWER: Final = 0.02


class DeferredService:
    """Serves a greeting until the composed service is there, and that service from then on.

    Without a greeting every request waits. `wanted` is set when the composed service is needed.
    """

    def __init__(self, greeting: Greeting | None) -> None:
        self.wanted = asyncio.Event()
        self._greeting = greeting
        self._feed = Feed()
        self._composed: asyncio.Future[Service] = asyncio.get_running_loop().create_future()
        self._listed: Sequence[Mapping[str, Any]] | None = None
        if greeting is None:
            self.wanted.set()

    @property
    def is_composed(self) -> bool:
        """Whether the composed service is there."""
        return self._composed.done() and self._composed.exception() is None

    @property
    def info(self) -> Mapping[str, Any]:
        """Name and version of this package."""
        return ClientFace().info

    @property
    def feed(self) -> Feed:
        """The notifications of the composed service."""
        return self._feed

    def become(self, service: Service) -> None:
        """Serve this from now on."""
        service.feed.subscribe(self._feed.publish)
        self._composed.set_result(service)

    def fail(self, error: Exception) -> None:
        """Answer every request that waits, and every later one, with the reason why there is no service."""
        message = error.message if isinstance(error, ToolError) else "toolcrib could not be started."
        hint = error.hint if isinstance(error, ToolError) else None
        self._composed.set_exception(RpcError(INTERNAL_ERROR, " ".join(filter(None, (message, hint)))))
        self._composed.exception()  # there may be no request that waits for it

    def revise(self, tools: Sequence[Mapping[str, Any]]) -> None:
        """Notify clients if they were answered another list of tools before."""
        if self._listed is not None and self._listed != tools:
            self._listed = None
            self._feed.publish(Notice(method=LIST_CHANGED["toolsListChanged"]))

    async def face(self) -> ServerFace:
        """The greeting, or what the composed service says."""
        if self._greeting is not None and not self._composed.done():
            return ServerFace(capabilities=self._greeting.capabilities, instructions=self._greeting.instructions)
        return await (await self._service()).face()

    async def answer(self, request: Request) -> Mapping[str, Any]:
        """The result of a request.

        Raises:
            RpcError: The error that the client gets; also if the service could not be composed, or not in time.
        """
        tools = None if self._greeting is None or self._composed.done() else self._greeting.tools
        if request.method == _LIST and tools is not None:
            asyncio.get_running_loop().call_later(_AFTER_ANSWER, self.wanted.set)
            self._listed = tools
            return {"tools": list(tools)}
        return await (await self._service(request)).answer(request)

    async def subscribe(self, listener: str, uri: str) -> None:
        """Publish a notification `to` this listener whenever the resource has changed.

        Raises:
            RpcError: There is no such resource, or it does not announce changes.
        """
        await (await self._service()).subscribe(listener, uri)

    async def unsubscribe(self, listener: str, uri: str) -> None:
        """Stop publishing changes of the resource; one that was never subscribed to is no error."""
        await (await self._service()).unsubscribe(listener, uri)

    async def end(self, conversation: str) -> None:
        """A client has gone."""
        if self.is_composed:
            await self._composed.result().end(conversation)

    async def _service(self, request: Request | None = None) -> Service:
        if self._composed.done():
            return self._composed.result()
        self.wanted.set()
        # Without a greeting clients hear only what the servers say.
        if self._greeting is not None and request is not None and request.on_progress is not None:
            await request.on_progress({"progress": 0, "message": "toolcrib is starting."})
        try:
            async with asyncio.timeout(COMPOSED_WITHIN):
                return await asyncio.shield(self._composed)
        except TimeoutError:
            raise RpcError(
                INTERNAL_ERROR, f"toolcrib was not ready within {COMPOSED_WITHIN:g} s. Try again, or see its log."
            ) from None
