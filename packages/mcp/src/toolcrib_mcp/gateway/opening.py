"""A gateway with what it needs to keep results, as `toolcrib serve` has it."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from toolcrib_mcp.gateway.gateway import Gateway
from toolcrib_mcp.gateway.service import GatewayService
from toolcrib_store import ArtifactLimits, Artifacts, open_store

if TYPE_CHECKING:
    from toolcrib_mcp.config import ArtifactSettings
    from toolcrib_mcp.hub import Hub
    from toolcrib_mcp.personal import PersonalServers

ARTIFACTS: Final = "artifacts.db"
"""The file in the directory of a configuration that holds results which were too large to send."""


async def open_gateway_service(
    hub: Hub, *, state_dir: Path | None, personal: PersonalServers | None = None
) -> GatewayService:
    """The gateway over a hub; closing it closes the database of results.

    Without a `state_dir` the results are kept in a temporary place, and are gone at the end. With `personal` every
    principal sees the servers of their own, too.

    Raises:
        StoreError: The database cannot be opened.
    """
    async with AsyncExitStack() as holding:
        if state_dir is None:
            directory = Path(holding.enter_context(TemporaryDirectory(prefix="toolcrib-")))
        else:
            directory = state_dir
        store = holding.enter_context(await asyncio.to_thread(open_store, directory / ARTIFACTS))
        artifacts = Artifacts(store, limits=limits_of(hub.config.settings.artifacts))
        gateway = Gateway(hub, artifacts=artifacts)
        if personal is None:
            return GatewayService(gateway, holding=holding.pop_all())
        from toolcrib_mcp.personal import Members, PersonalGatewayService

        members = Members(hub, personal, artifacts=artifacts)
        return PersonalGatewayService(gateway, members, holding=holding.pop_all())


def limits_of(settings: ArtifactSettings) -> ArtifactLimits:
    """What a configuration says about results that are kept."""
    return ArtifactLimits(
        seconds=settings.ttl,
        max_artifact=settings.max_bytes,
        max_owner=settings.max_owner_bytes,
        max_owner_count=settings.max_owner_count,
        max_total=settings.max_total_bytes,
    )
