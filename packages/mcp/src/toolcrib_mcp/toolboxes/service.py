"""`ToolboxService`: a toolbox as an MCP server, for every front there is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from toolcrib_mcp.front.feed import LIST_CHANGED, Feed, Notice
from toolcrib_mcp.front.service import META_PRINCIPAL, Request, ServerFace
from toolcrib_mcp.rpc import RpcError
from toolcrib_mcp.rpc.messages import METHOD_NOT_FOUND
from toolcrib_mcp.toolboxes.calling import Calling
from toolcrib_mcp.toolboxes.tool_list import NameStyle, ToolList
from toolcrib_runtime import Toolbox
from toolcrib_runtime.policy.bounds import check_number

PAGE_SIZE: Final = 1_000
"""How many tools a page of the list has; there are clients that read one page only."""

PATIENCE: Final = 300.0
"""Seconds that a person has to answer whether a call may run."""


class ToolboxService:
    """Serves the tools of a toolbox, under its rules, budgets and approvals.

    A call that needs approval is asked about through the client, where that can ask a person; else the client is told
    that it needs approval. Whoever may answer for the client decides: for others, deny by rule. `names` is how tools
    are listed; a client may call them by id or alias all the same. `patience` is how many seconds a person has to
    answer, where the client waits for that within its request. With `logs`, clients are told what tools log through
    their context, if they want that level; without, it is for the listeners of the toolbox alone. With `hears_callers`
    it is a server of a gateway in the same process, which says whose each request is: serve it to nothing else.

    Raises:
        WireNameCollision: Two tools would be called the same.
        ValueError: `page_size` is not a positive whole number, or `patience` no number of seconds.
    """

    def __init__(
        self,
        toolbox: Toolbox,
        *,
        name: str = "toolcrib",
        version: str,
        instructions: str | None = None,
        names: NameStyle = "safe",
        page_size: int = PAGE_SIZE,
        patience: float = PATIENCE,
        logs: bool = False,
        hears_callers: bool = False,
    ) -> None:
        check_number("patience", patience, least=0)
        self._info = {"name": name, "version": version}
        self._feed = Feed()
        capabilities = {"tools": {"listChanged": True}} | ({"logging": {}} if logs else {})
        self._face = ServerFace(capabilities=capabilities, instructions=instructions)
        self._names: NameStyle = names
        self._page_size = page_size
        self._patience = patience
        self._logs = logs
        self.hears_callers = hears_callers
        """Whether the gateway says whose each request is."""
        self._toolbox = toolbox
        self._tools = self._list_of(toolbox)

    @property
    def toolbox(self) -> Toolbox:
        """What is served now."""
        return self._toolbox

    @property
    def info(self) -> Mapping[str, Any]:
        """Name and version, as the protocol spells them."""
        return self._info

    @property
    def feed(self) -> Feed:
        """What clients are told without having asked: that the list of tools has changed."""
        return self._feed

    def replace(self, toolbox: Toolbox) -> None:
        """Serve another toolbox from now on; calls under way end in the one they began in.

        Clients are told if what they see has changed.

        Raises:
            WireNameCollision: Two tools would be called the same; the toolbox so far is served on.
        """
        tools = self._list_of(toolbox)
        before, self._tools, self._toolbox = self._tools, tools, toolbox
        if not tools.shows_the_same_as(before):
            self._feed.publish(Notice(method=LIST_CHANGED["toolsListChanged"]))

    async def face(self) -> ServerFace:
        """What a client is told at first."""
        return self._face

    async def answer(self, request: Request) -> Mapping[str, Any]:
        """The result of `tools/list` or `tools/call`; being cancelled stops the tool.

        Raises:
            RpcError: There is no such tool, the request is malformed, or its method is not served.
        """
        match request.method:
            case "tools/list":
                return self._tools.page(request.params.get("cursor"), era=request.caller.era)
            case "tools/call":
                request = _of_its_caller(request) if self.hears_callers else request
                definition = self._tools.find(request.params.get("name"))
                calling = Calling(
                    toolbox=self._toolbox,
                    definition=definition,
                    request=request,
                    patience=self._patience,
                    logs=self._logs,
                )
                return await calling.result()
        raise RpcError(METHOD_NOT_FOUND, "Method not found")

    async def subscribe(self, listener: str, uri: str) -> None:
        """Refuse: there are no resources.

        Raises:
            RpcError: Always.
        """
        del listener, uri  # a toolbox has no resources, whoever asks
        raise RpcError(METHOD_NOT_FOUND, "There are no resources here.")

    async def unsubscribe(self, listener: str, uri: str) -> None:
        """Nothing to do: nobody has subscribed."""

    async def end(self, conversation: str) -> None:
        """Nothing to do: nothing is kept for a client."""

    def _list_of(self, toolbox: Toolbox) -> ToolList:
        return ToolList(toolbox.registry, names=self._names, page_size=self._page_size)


def _of_its_caller(request: Request) -> Request:
    principal = request.meta.get(META_PRINCIPAL)
    named = principal if isinstance(principal, str) else None
    return replace(request, caller=replace(request.caller, principal=named))
