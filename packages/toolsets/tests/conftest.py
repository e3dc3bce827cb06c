from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
from toolset_kit import Echo

from toolcrib_store import Store, TurnableClock, open_store
from toolcrib_toolsets.master_key import MasterKey
from toolcrib_toolsets.rotation import open_sealer
from toolcrib_toolsets.service import ToolsetService
from toolcrib_toolsets.tables import TOOLSETS_LINE
from toolcrib_toolsets.types import ToolsetKinds


@pytest.fixture
def clock() -> TurnableClock:
    return TurnableClock()


@pytest.fixture
def toolset_store(store_url: str, clock: TurnableClock) -> Iterator[Store]:
    with open_store(store_url, lines=[TOOLSETS_LINE], clock=clock) as store:
        yield store


@pytest.fixture
def echo() -> Echo:
    return Echo()


@pytest.fixture
async def service(toolset_store: Store, echo: Echo) -> AsyncIterator[ToolsetService]:
    sealer = open_sealer(toolset_store, MasterKey(b"m" * 32))
    opened = ToolsetService(toolset_store, sealer, ToolsetKinds([echo, Echo("free", requires_api_key=False)]))
    try:
        yield opened
    finally:
        await opened.aclose()
