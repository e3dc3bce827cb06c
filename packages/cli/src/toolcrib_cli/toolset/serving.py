"""Toolsets in a gateway: each principal's available instances as servers of their own."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from toolcrib_cli.toolset.opening import kinds_of, opened_store, sealing_of
from toolcrib_cli.version import version
from toolcrib_core import ToolDefinition, ToolError
from toolcrib_core.identity import DEFAULT_NAMESPACE
from toolcrib_core.wording import shown
from toolcrib_mcp import ToolboxService, connect_service
from toolcrib_mcp.errors import ConfigError
from toolcrib_mcp.personal import PersonalServer
from toolcrib_mcp.serving import Admission
from toolcrib_runtime import Policy, RunnableTool, create_tool, create_toolbox
from toolcrib_toolsets import (
    AccessTokens,
    InstanceNotFound,
    InstanceNotOwned,
    Toolset,
    ToolsetExecutionRequest,
    ToolsetExecutionResponse,
    ToolsetScope,
    ToolsetService,
)

if TYPE_CHECKING:
    from pathlib import Path

    from toolcrib_cli.serve_command import Clients
    from toolcrib_mcp.front import Identity
    from toolcrib_mcp.rpc import Wire
    from toolcrib_mcp.safeguards import Checkpoint
    from toolcrib_mcp.upstreams import Connect
    from toolcrib_toolsets.api import Guard, InstanceCall, Principal


class ToolsetServers:
    """The instances of principals as servers; every call goes through all the checks of the service again."""

    def __init__(self, service: ToolsetService) -> None:
        self._service = service

    async def of(self, who: Identity) -> Sequence[PersonalServer]:
        """The instances that a principal could call now and their token reaches.

        Raises:
            StoreError: The database failed.
        """
        found = await self._service.available_instances(who.name, scopes=scopes_of(who.scopes))
        return [
            PersonalServer(
                name=each.name,
                version=f"{each.id} {each.updated_at.timestamp()}",
                connect=self._connect(who, each),
                # Its definitions have the risk that its type was judged to have here.
                trusted=True,
            )
            for each in found
        ]

    def _connect(self, who: Identity, instance: Toolset) -> Connect:
        async def connect() -> Wire:
            tools = await self._service.instance_tools(who.name, instance.id)
            # The gateway asks, by the risk that is declared here: a second gate could be opened by no one.
            toolbox = create_toolbox([self._tool(who, instance, each) for each in tools], policy=Policy(by_risk=None))
            service = ToolboxService(toolbox, name=instance.name, version=version(), instructions=instance.description)
            return await connect_service(service, principal=who.name)()

        return connect

    def _tool(self, who: Identity, instance: Toolset, definition: ToolDefinition) -> RunnableTool:
        async def call(arguments: Mapping[str, Any]) -> Any:
            request = ToolsetExecutionRequest(params=arguments)
            try:
                answer = await self._service.execute_instance_tool(
                    who.name, instance.id, definition.name, request, scopes=scopes_of(who.scopes)
                )
            except InstanceNotOwned as foreign:
                raise InstanceNotFound.of(id=shown(instance.name)) from foreign
            if answer.error is not None:
                raise ToolError.from_dict(answer.error)
            return answer.result

        # The server's name stands before the tool's already.
        return create_tool(definition.model_copy(update={"namespace": DEFAULT_NAMESPACE}), call)


@asynccontextmanager
async def admitted(clients: Clients, *, root: Path | None) -> AsyncIterator[Admission]:
    """Who is let in, and what they have; the database is closed at the end. `root` is a state directory that was named.

    Raises:
        ToolError: The database, the master key or a setting cannot be used.
    """
    with opened_store(None, root=root) as store:
        tokens = AccessTokens(store)
        mounts: Mapping[str, Any] = {}
        service: ToolsetService | None = None
        if clients.toolsets or clients.admin_api:
            service = ToolsetService(store, sealing_of(store, keyed=True, root=root), kinds_of(os.environ))
        checkpoint: asyncio.Future[Checkpoint] = asyncio.get_running_loop().create_future()
        if service is not None and clients.admin_api:
            mounts = _management(service, tokens, checkpoint)
        try:
            yield Admission(
                principal=clients.principal,
                authenticate=authenticator(tokens) if clients.tokens else None,
                personal=ToolsetServers(service) if service is not None and clients.toolsets else None,
                mounts=mounts,
                checkpoint=checkpoint,
            )
        finally:
            if service is not None:
                await service.aclose()


def _management(
    service: ToolsetService, tokens: AccessTokens, checkpoint: asyncio.Future[Checkpoint]
) -> Mapping[str, Any]:
    try:
        from toolcrib_toolsets.api import PREFIX, management_api
    except ImportError:
        raise ConfigError(
            "The management API needs a package that is not installed.",
            hint="Install it: `pip install 'toolcrib-toolsets[api]'`.",
        ) from None
    api = management_api(
        service, authenticate=api_authenticator(tokens), version=version(), guard=api_guard(checkpoint)
    )
    return {PREFIX: api}


def api_guard(checkpoint: asyncio.Future[Checkpoint]) -> Guard:
    """Lets calls of the management API pass what calls through the gateway pass; until that is open, they wait."""
    from toolcrib_mcp.proxy.embedding import lone_request
    from toolcrib_mcp.safeguards.requests import run_directly

    async def guard(
        call: InstanceCall, proceed: Callable[[], Awaitable[ToolsetExecutionResponse]]
    ) -> ToolsetExecutionResponse:
        scopes = call.principal.scopes
        named = None if scopes is None else frozenset(map(str, scopes))
        lone = lone_request()
        request = replace(lone, caller=replace(lone.caller, principal=call.principal.name, scopes=named))

        async def answer() -> Mapping[str, Any]:
            return (await proceed()).model_dump(mode="json")

        answered = await run_directly(
            await asyncio.shield(checkpoint),
            server=call.instance.name,
            tool=call.tool,
            arguments=call.params,
            request=request,
            proceed=answer,
        )
        return ToolsetExecutionResponse.model_validate(answered)

    return guard


def authenticator(tokens: AccessTokens) -> Any:
    """Who a bearer token of ours belongs to, for the front of the gateway."""
    from toolcrib_mcp.front import Identity

    async def authenticate(text: str) -> Identity | None:
        found = await asyncio.to_thread(tokens.find, text)
        if found is None:
            return None
        scopes = None if found.scopes is None else frozenset(map(str, found.scopes))
        return Identity(name=found.principal, scopes=scopes)

    return authenticate


def api_authenticator(tokens: AccessTokens) -> Any:
    """Who a bearer token of ours belongs to, for the management API."""
    from toolcrib_toolsets.api import Principal

    async def authenticate(text: str) -> Principal | None:
        found = await asyncio.to_thread(tokens.find, text)
        return None if found is None else Principal(name=found.principal, role=found.role, scopes=found.scopes)

    return authenticate


def scopes_of(scopes: frozenset[str] | None) -> frozenset[ToolsetScope] | None:
    """The toolset types that the scopes of a token name."""
    return None if scopes is None else ToolsetScope.parse_claim(" ".join(sorted(scopes)))
