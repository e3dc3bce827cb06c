"""`Relay`: everything but tools of all servers of a hub, as if they were one server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from toolcrib_core import ToolError
from toolcrib_core.wording import nearest, quoted
from toolcrib_mcp.front.envelope import INVALID_PARAMS
from toolcrib_mcp.front.feed import LIST_CHANGED, Notice
from toolcrib_mcp.front.service import Request
from toolcrib_mcp.relay.faces import instructions_of, merged_capabilities, own_capabilities
from toolcrib_mcp.relay.failures import rpc_error
from toolcrib_mcp.relay.hiding import Hiding
from toolcrib_mcp.relay.merging import merged
from toolcrib_mcp.relay.pages import Pages
from toolcrib_mcp.relay.passing import Passing
from toolcrib_mcp.relay.reach import GREETED_WITHIN, Reach
from toolcrib_mcp.relay.resources import META_SHADOWED, asked_in_turn, once, uri_of
from toolcrib_mcp.relay.routes import PromptNames, ResourceRoutes
from toolcrib_mcp.relay.screening import ListScreen
from toolcrib_mcp.rpc import RpcError
from toolcrib_mcp.rpc.messages import METHOD_NOT_FOUND
from toolcrib_mcp.safeguards.requests import GUARDED, PASSED, guarded_request
from toolcrib_mcp.upstreams import ListKind
from toolcrib_runtime.clock import SYSTEM_CLOCK, Clock

if TYPE_CHECKING:
    from toolcrib_mcp.hub.servers import HubServer
    from toolcrib_mcp.hub.view import HubView
    from toolcrib_mcp.safeguards.checkpoint import Checkpoint

_Answer = Callable[[Request], Awaitable[dict[str, Any]]]


class Relay:
    """Passes requests of clients on to the servers of a hub.

    With one server, names, URIs, lists and cursors are the server's own. With several, prompts are called
    `namespace__name`, and lists are merged. With a `checkpoint`, what reads a resource, a prompt or a completion passes
    it, and its redactor takes secrets out of all that servers list, log and ask. Close it before the hub.
    """

    def __init__(self, hub: HubView, *, checkpoint: Checkpoint | None = None, clock: Clock = SYSTEM_CLOCK) -> None:
        self.reach = Reach(hub)
        self.pages = Pages()
        self._screen = ListScreen()
        self._hiding = Hiding(None if checkpoint is None else checkpoint.redactor)
        self._hub = hub
        self._checkpoint = checkpoint
        self._passing = Passing(hub, clock=clock)
        self._routes = ResourceRoutes(hub, self.reach)
        self._named: tuple[Mapping[str, HubServer], PromptNames] | None = None
        self.alone = next(iter(hub.servers)) if len(hub.servers) == 1 else None
        """The server that was the only one at the start: its names stay its own, also when others come."""
        self._stop_listening = hub.feed.subscribe(self._hear)
        self._watched: dict[tuple[str, str], str] = {}
        self._answers: Mapping[str, _Answer] = {
            **{kind.method: self._lister(kind) for kind in (ListKind.RESOURCES, ListKind.TEMPLATES, ListKind.PROMPTS)},
            "resources/read": self._read,
            "prompts/get": self._prompt,
            "completion/complete": self._complete,
        }

    @property
    def _prompts(self) -> PromptNames:
        """The names of the servers of now: another configuration may have others."""
        servers = self._hub.servers
        if self._named is None or self._named[0] is not servers:
            names = PromptNames({name: server.namespace for name, server in servers.items()}, alone=self.alone)
            self._named = servers, names
        return self._named[1]

    @property
    def only(self) -> str | None:
        """The server, if it is the only one, as it was at the start."""
        return self.alone if list(self._hub.servers) == [self.alone] else None

    async def call(self, server: str, method: str, params: Mapping[str, Any], request: Request) -> dict[str, Any]:
        """One request to one server, in whichever eras both speak; the result is as the server gave it.

        `params` are those for the server; their `_meta` may still be the client's. Progress, log messages and what the
        server may ask go to the client of the request.

        Raises:
            RpcError: The method is none that is passed on; or what the server answered with, as it came; or what the
                client answered a question with.
            GatewayError: Every other failure; see `Upstream.call`. `NotGranted` if the server asked for too much.
            ToolError: What the checkpoint refuses.
        """
        if method not in PASSED:
            raise RpcError(METHOD_NOT_FOUND, "Method not found")
        hidden = self._hiding.request(request, server=server)
        if self._checkpoint is not None and method in GUARDED:

            async def send(onward: Request) -> dict[str, Any]:
                return await self._passing.call(server, method, onward.params, onward)

            guarded = guarded_request(self._hub.server(server), replace(hidden, params=params))
            return await self._checkpoint.run(guarded, send)
        try:
            result = await self._passing.call(server, method, params, hidden)
        except (ToolError, RpcError) as failure:
            self._hiding.failure(method, failure, server=server)
            raise
        return self._hiding.result(method, result, server=server)

    async def answer(self, request: Request) -> dict[str, Any]:
        """The result of any request about resources, prompts or completion.

        Raises:
            RpcError: The error that the client gets.
        """
        answer = self._answers.get(request.method)
        if answer is None:
            raise RpcError(METHOD_NOT_FOUND, "Method not found")
        try:
            if (only := self.only) is not None:
                result = await self.call(only, request.method, request.params, request)
            else:
                result = await answer(request)
            return self.screened(request.method, result)
        except ToolError as error:
            raise rpc_error(error) from error

    def screened(self, method: str, result: dict[str, Any]) -> dict[str, Any]:
        """The answer to a request for a list, without what has hidden characters in it."""
        return self._screen.screened(method, result)

    async def capabilities(self) -> dict[str, Any]:
        """What the servers can do together; of one server, what it announces itself.

        Of several, one that cannot be reached in time counts as one that can do everything: it may be back any moment.
        That time is short, since a client waits to be greeted.

        Raises:
            GatewayError: There is one server, and it cannot be started.
        """
        if (only := self.only) is not None:
            return own_capabilities(await self.reach.agreement(only), logs=only in self._passing_logs())
        return merged_capabilities(await self.reach.all(within=GREETED_WITHIN), logs=self._passing_logs())

    def known_capabilities(self) -> dict[str, Any]:
        """What the servers can do together, without waiting: one that has not said so yet may do everything."""
        return merged_capabilities(self.reach.known(), logs=self._passing_logs())

    async def instructions(self) -> str | None:
        """What the servers say about how they want to be used, bounded.

        Raises:
            GatewayError: There is one server, and it cannot be started.
        """
        if (only := self.only) is not None:
            said = (await self.reach.agreement(only)).instructions
        else:
            said = instructions_of(await self.reach.all(within=GREETED_WITHIN))
        return self._screen.instructions(self._hiding.text(said))

    async def subscribe(self, listener: str, uri: str) -> None:
        """Have a notice published `to` the listener whenever the resource has changed.

        Raises:
            RpcError: No server tells of its changes, or the one that has it could not be asked.
        """

        async def ask(server: str) -> None:
            try:
                await self._hub.subscribe(listener, server, uri)
            except (ToolError, RpcError) as failure:
                self._hiding.failure("resources/subscribe", failure, server=server)
                raise

        try:
            if (only := self.only) is None:
                server, _ = await asked_in_turn(self._routes, uri, ask)
            else:
                server = only
                await ask(server)
        except ToolError as error:
            raise rpc_error(error) from error
        self._watched[listener, uri] = server

    async def unsubscribe(self, listener: str, uri: str) -> None:
        """The listener no longer wants to know; one that never did is no error."""
        server = self._watched.pop((listener, uri), None)
        if server is not None:
            await self._hub.unsubscribe(listener, server, uri)

    async def end(self, conversation: str) -> None:
        """A client has gone: forget what was kept for it, here and in the hub."""
        for key in [each for each in self._watched if each[0] == conversation]:
            del self._watched[key]
        await self._passing.end(conversation)
        await self._hub.end(conversation)

    async def aclose(self) -> None:
        """Stop every call that waits for a client."""
        self._stop_listening()
        await self._passing.aclose()

    def _passing_logs(self) -> frozenset[str]:
        """The servers whose log messages are passed on."""
        solo, servers = self._hub.solo, self._hub.servers
        return frozenset(name for name, each in servers.items() if solo or "logging" in each.settings.grants)

    def _lister(self, kind: ListKind) -> _Answer:
        async def answer(request: Request) -> dict[str, Any]:
            cursor = request.params.get("cursor")
            kept = None if cursor is None else self.pages.following(kind.value, cursor)
            return await self._list(kind, cursor) if kept is None else kept

        return answer

    async def _list(self, kind: ListKind, cursor: object) -> dict[str, Any]:
        age = self._routes.age
        found = await merged(self._hub, self.reach, kind)
        for server, failure in found.failures.items():
            self._hiding.failure(kind.method, failure, server=server)
        found.check()
        if kind is ListKind.RESOURCES:
            # By their own addresses, also where those that clients see have something taken out.
            self._routes.take(found, age=age)
        hidden = {name: tuple(self._hiding.items([*each], server=name)) for name, each in found.by_server.items()}
        found = replace(found, by_server=hidden)
        items, meta = [item for each in found.by_server.values() for item in each], found.meta
        if kind is ListKind.PROMPTS:
            items = [self._prompts.outward(server, item) for server, each in found.by_server.items() for item in each]
        elif kind is ListKind.RESOURCES:
            items, shadowed = once(found)
            meta |= {META_SHADOWED: shadowed} if shadowed else {}
        return self.pages.first(kind.value, items, meta=meta, cursor=cursor)

    async def _read(self, request: Request) -> dict[str, Any]:
        async def ask(server: str) -> dict[str, Any]:
            return await self.call(server, request.method, request.params, request)

        _, result = await asked_in_turn(self._routes, uri_of(request.params), ask)
        return result

    async def _prompt(self, request: Request) -> dict[str, Any]:
        server, name = await self._prompt_named(request.params.get("name"))
        return await self.call(server, request.method, {**request.params, "name": name}, request)

    async def _complete(self, request: Request) -> dict[str, Any]:
        ref = request.params.get("ref")
        if not isinstance(ref, Mapping):
            raise RpcError(INVALID_PARAMS, "`ref` must be an object that names a prompt or a resource.")
        if ref.get("type") == "ref/prompt":
            server, name = await self._prompt_named(ref.get("name"))
            params = {**request.params, "ref": {**ref, "name": name}}
            return await self.call(server, request.method, params, request)

        async def ask(server: str) -> dict[str, Any]:
            return await self.call(server, request.method, request.params, request)

        _, result = await asked_in_turn(self._routes, uri_of(ref), ask)
        return result

    async def _prompt_named(self, name: object) -> tuple[str, str]:
        if not isinstance(name, str):
            raise RpcError(INVALID_PARAMS, "`name` must be a string.")
        found = self._prompts.inward(name)
        if found is not None:
            return found
        listed = await merged(self._hub, self.reach, ListKind.PROMPTS)
        every = [self._prompts.outward(server, item) for server, items in listed.by_server.items() for item in items]
        near = nearest(name, [item["name"] for item in every if isinstance(item, dict) and "name" in item])
        hint = f" Did you mean {quoted(near)}?" if near else ""
        raise RpcError(INVALID_PARAMS, f"There is no prompt {quoted(name)}.{hint}", {"didYouMean": near})

    def _hear(self, notice: Notice) -> None:
        if notice.method == LIST_CHANGED["resourcesListChanged"]:
            self._routes.forget()
