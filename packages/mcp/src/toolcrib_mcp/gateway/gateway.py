"""`Gateway`: browse, execute and view as plain methods, for a program with or without a client in front of it."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from toolcrib_core import ToolError
from toolcrib_mcp.browse.cards import whole_definition
from toolcrib_mcp.gateway.behaviour import GatewayBehaviour
from toolcrib_mcp.gateway.envelope import ExecuteResult
from toolcrib_mcp.gateway.executing import Executor
from toolcrib_mcp.gateway.screening import Screen
from toolcrib_mcp.gateway.shelf import Shelf
from toolcrib_mcp.gateway.viewing import Viewer
from toolcrib_mcp.outward import UPSTREAM_ERROR, outward_code
from toolcrib_mcp.proxy.embedding import lone_request
from toolcrib_mcp.proxy.results import failure
from toolcrib_mcp.proxy.runtime import ProxyRuntime

if TYPE_CHECKING:
    from toolcrib_core import Embedder
    from toolcrib_mcp.browse import BrowseResult, Detail
    from toolcrib_mcp.front.service import Caller, Request
    from toolcrib_mcp.hub.view import HubView
    from toolcrib_mcp.relay import Relay
    from toolcrib_mcp.safeguards.call import RiskCheck
    from toolcrib_mcp.safeguards.checkpoint import Checkpoint
    from toolcrib_mcp.views import View
    from toolcrib_store import Artifacts, Store


class Gateway:
    """Any number of tools for a few hundred tokens: found by words or by path, called by id, and read in parts.

    `artifacts` keeps results that are too large to send; without it every result comes back as it is. `settings` are
    those of the hub's configuration unless others are given. With a `checkpoint` every call passes that first. With a
    `shared` store, clients find at any replica what they have seen at another.
    Whatever has an event loop may use it: what is asked without a `caller` or `request` is asked by the local user.
    Close it before the hub, or use it as a context manager.
    """

    def __init__(
        self,
        hub: HubView,
        *,
        artifacts: Artifacts | None = None,
        settings: GatewayBehaviour | None = None,
        relay: Relay | None = None,
        embedder: Embedder | None = None,
        checkpoint: Checkpoint | None = None,
        shared: Store | None = None,
    ) -> None:
        chosen = GatewayBehaviour.of(hub.config.settings) if settings is None else settings
        shelf = None if artifacts is None else Shelf(artifacts)
        self.hub = hub
        self._runtime = ProxyRuntime(
            hub,
            relay=relay,
            cache_stable=chosen.cache_stable,
            browse_limit=chosen.browse_limit,
            patience=chosen.patience,
            checkpoint=checkpoint,
            embedder=embedder,
            shared=shared,
        )
        self._screen = Screen(shelf, whole_tokens=chosen.whole_tokens, summary_tokens=chosen.summary_tokens)
        self._executor = Executor(self._runtime, shelf=shelf, screen=self._screen)
        self._viewer = Viewer(shelf, tokens=chosen.view_tokens)

    @property
    def relay(self) -> Relay:
        """Passes on whatever is not about tools."""
        return self._runtime.relay

    async def browse(
        self,
        *,
        query: str | None = None,
        path: str | None = None,
        limit: int | None = None,
        detail: Detail = "card",
        caller: Caller | None = None,
    ) -> BrowseResult:
        """One page of tools, by what is to be done or by a path: exactly one of them.

        Raises:
            ToolError: As `ProxyRuntime.browse`.
        """
        return await self._runtime.browse(query=query, path=path, limit=limit, detail=detail, caller=caller)

    async def definition(self, tool_id: str, *, caller: Caller | None = None) -> ExecuteResult:
        """Everything that its server says about one tool, by any form of its id; kept in parts if it is too large.

        Raises:
            ToolError: As `Executor.hydrated`.
        """
        caller = _asking(caller)
        tool = await self._executor.hydrated(tool_id, caller=caller)
        texts = whole_definition(tool)
        result: dict[str, Any] = {"content": [{"type": "text", "text": each} for each in texts]}
        screened = await self._screen.screened(result, tool_id=tool.tool_id, caller=caller, repeatable=True)
        if screened.envelope is None:
            result["content"] = [{"type": "text", "text": "\n".join(texts)}]
        return screened

    async def execute(
        self,
        tool_id: str,
        args: Mapping[str, Any] | None = None,
        *,
        request: Request | None = None,
        check: RiskCheck | None = None,
    ) -> ExecuteResult:
        """Call a tool by any form of its id; nothing is sent unless the arguments are valid.

        `request` is that of the client on whose behalf it happens: progress, questions and cancellation are its own.
        `check` is asked whether a tool of its risk may be called in this way.

        Raises:
            ToolError: As `Executor.execute`.
            RpcError: The server answered with an error that only the client itself can act on.
        """
        return await self._executor.execute(tool_id, args, request=request, check=check)

    async def view(
        self,
        handle: str,
        selector: Mapping[str, Any],
        *,
        cursor: str | None = None,
        caller: Caller | None = None,
    ) -> View:
        """A part of a result that was kept, or the page of it that a cursor leads to.

        Raises:
            ViewFailed: The caller has no such result, or it cannot be looked at like that; the hint says how.
        """
        return await self._viewer.view(handle, selector, cursor=cursor, caller=_asking(caller))

    async def told(self, error: ToolError, *, caller: Caller, source: str) -> dict[str, Any]:
        """An error as the result of a call; a large one that a server answered with is kept, as a large result is."""
        result = failure(error)
        if outward_code(error) != UPSTREAM_ERROR:
            return result
        screened = await self._screen.screened(result, tool_id=source, caller=caller, repeatable=False)
        return screened.result

    def search_with(self, embedder: Embedder) -> None:
        """Find tools by meaning, too, from now on."""
        self._runtime.search_with(embedder)

    def forget(self, conversation: str) -> None:
        """A client has gone: forget what it has seen."""
        self._runtime.forget(conversation)

    async def aclose(self) -> None:
        """Stop every call that waits for a client."""
        await self._runtime.relay.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def _asking(caller: Caller | None) -> Caller:
    return lone_request().caller if caller is None else caller
