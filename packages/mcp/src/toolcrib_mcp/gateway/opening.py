"""A gateway with what it needs to keep results, as `toolcrib serve` has it."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from toolcrib_mcp.gateway.gateway import Gateway
from toolcrib_mcp.gateway.service import GatewayService
from toolcrib_mcp.state_files import ARTIFACTS
from toolcrib_store import ArtifactLimits, Artifacts, Store, open_store

if TYPE_CHECKING:
    from toolcrib_mcp.config import ArtifactSettings
    from toolcrib_mcp.hub import Hub
    from toolcrib_mcp.personal import PersonalServers
    from toolcrib_mcp.safeguards import Safeguards


async def open_gateway_service(
    hub: Hub,
    *,
    state_dir: Path | None,
    personal: PersonalServers | None = None,
    safeguards: Safeguards | None = None,
) -> GatewayService:
    """The gateway over a hub; closing it closes the database of results, unless that is one of the `safeguards`.

    Without a `state_dir` the results are kept in a temporary place, and are gone at the end. With `personal` every
    principal sees the servers of their own, too. With `safeguards` every call passes them; whoever opened them closes
    them.

    Raises:
        StoreError: The database cannot be opened.
    """
    async with AsyncExitStack() as holding:
        store = await _own_store(state_dir, holding) if safeguards is None else safeguards.store
        artifacts = Artifacts(store, limits=limits_of(hub.config.settings.artifacts))
        checkpoint = None if safeguards is None else safeguards.checkpoint
        shared = None if safeguards is None else safeguards.shared
        gateway = Gateway(hub, artifacts=artifacts, checkpoint=checkpoint, shared=shared)
        if personal is None:
            return GatewayService(gateway, holding=holding.pop_all())
        from toolcrib_mcp.personal import Members, PersonalGatewayService

        members = Members(hub, personal, artifacts=artifacts, safeguards=safeguards)
        return PersonalGatewayService(gateway, members, holding=holding.pop_all())


async def _own_store(state_dir: Path | None, holding: AsyncExitStack) -> Store:
    directory = state_dir
    if directory is None:
        directory = Path(holding.enter_context(TemporaryDirectory(prefix="toolcrib-")))
    return holding.enter_context(await asyncio.to_thread(open_store, directory / ARTIFACTS))


def limits_of(settings: ArtifactSettings) -> ArtifactLimits:
    """What a configuration says about results that are kept."""
    return ArtifactLimits(
        seconds=settings.ttl,
        max_artifact=settings.max_bytes,
        max_owner=settings.max_owner_bytes,
        max_owner_count=settings.max_owner_count,
        max_total=settings.max_total_bytes,
    )
