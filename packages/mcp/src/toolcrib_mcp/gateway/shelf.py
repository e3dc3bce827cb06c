"""Artifacts for callers: kept in the store, read in a thread, and each its owner's alone."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from toolcrib_mcp.front.service import Caller
from toolcrib_mcp.safeguards.call import LOCAL
from toolcrib_store import ArtifactInfo, Artifacts, NewArtifact, Owner


class Shelf:
    """Where results are put that are too large to send."""

    def __init__(self, artifacts: Artifacts) -> None:
        self._artifacts = artifacts

    @property
    def seconds(self) -> float:
        """How long an artifact lives."""
        return self._artifacts.limits.seconds

    async def put_all(self, every: Sequence[NewArtifact], *, caller: Caller) -> list[ArtifactInfo]:
        """Keep all of these for a caller, or none of them.

        Raises:
            QuotaExceeded: There is no room for all of them.
            StoreError: The database failed.
        """
        return await asyncio.to_thread(self._artifacts.put_all, every, owner=owner_of(caller))

    async def take(self, handle: str, *, caller: Caller) -> tuple[ArtifactInfo, bytes]:
        """An artifact of the caller, with all of its content.

        Raises:
            ArtifactNotFound: The caller has no such artifact, or has it no longer.
            StoreError: The database failed.
        """
        return await asyncio.to_thread(self._take, handle, owner_of(caller))

    async def info(self, handle: str, *, caller: Caller) -> ArtifactInfo:
        """All about an artifact of the caller but its content.

        Raises:
            ArtifactNotFound: As `take`.
            StoreError: The database failed.
        """
        return await asyncio.to_thread(self._artifacts.info, handle, owner=owner_of(caller))

    def _take(self, handle: str, owner: Owner) -> tuple[ArtifactInfo, bytes]:
        return self._artifacts.info(handle, owner=owner), self._artifacts.read(handle, owner=owner)


def owner_of(caller: Caller) -> Owner:
    """Whose artifacts a caller's are: those of the principal that the front made sure of, else of the local user.

    A front that asks nobody who they are listens only on this machine, so that its clients are one user. A token that
    is limited has artifacts of its own: what the principal's other tokens were answered may be beyond it.
    """
    principal = caller.principal or LOCAL
    if caller.scopes is not None:
        # After a line break, which no principal has in their name.
        principal = f"{principal}\n{' '.join(sorted(caller.scopes))}"
    return Owner(principal=principal, session=caller.conversation or "")
