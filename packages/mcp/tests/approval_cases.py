"""Calls that somebody has to allow, the desk that they pass, and a gateway whose every call passes it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from hub_cases import hub_of
from proxy_cases import ProxyCase
from toolbox_cases import LATEST, RecordingChannel

from toolcrib_core import ToolRisk
from toolcrib_mcp.approvals import (
    APPROVALS_LINE,
    ApprovalBook,
    ApprovalDesk,
    Cleared,
    Question,
    StateKey,
    state_key,
)
from toolcrib_mcp.catalog import HydrationResult, UpstreamTerms
from toolcrib_mcp.catalog._entries import CatalogEntry
from toolcrib_mcp.catalog._reading import read_tool
from toolcrib_mcp.front import Caller, Request
from toolcrib_mcp.idempotency import IdempotentCalls
from toolcrib_mcp.proxy import ProxyRuntime
from toolcrib_mcp.safeguards.call import GuardedCall
from toolcrib_mcp.upstreams import Era
from toolcrib_store import SqlLedger, Store, TurnableClock, open_store

FORMS: dict[str, Any] = {"elicitation": {"form": {}}}
YES = {"action": "accept", "content": {"answer": "once"}}
NO = {"action": "decline"}
WIPE = {
    "name": "wipe",
    "title": "Wipe a disk",
    "description": "Deletes everything on a disk.",
    "inputSchema": {"type": "object", "properties": {"disk": {"type": "string"}}},
}
DISK = {"disk": "sda"}
REASON = "it destroys what cannot be had back"
POLICY = "p1"


def hydrated(tool: Mapping[str, Any] = WIPE, *, server: str = "box") -> HydrationResult:
    """A tool, as the catalogue has it."""
    read = read_tool(json.dumps(tool).encode(), upstream=server, terms=UpstreamTerms(server=server))
    assert isinstance(read, CatalogEntry)
    return read.hydrated


def call_of(
    arguments: Mapping[str, Any] = DISK,
    *,
    tool: Mapping[str, Any] = WIPE,
    era: Era = Era.HANDSHAKE,
    capabilities: Mapping[str, Any] | None = None,
    principal: str | None = None,
    channel: Any = None,
    meta: Mapping[str, Any] | None = None,
    risk: ToolRisk | None = None,
    client: object = "tester",
    **params: Any,
) -> GuardedCall:
    """A call on its way; `params` are what comes beside name and arguments."""
    caller = Caller(
        era=era,
        protocol_version=LATEST[era],
        capabilities=capabilities or {},
        info={"name": client},
        principal=principal,
    )
    sent = {"name": "wipe", "arguments": arguments, **({} if meta is None else {"_meta": meta}), **params}
    request = Request(method="tools/call", params=sent, caller=caller, channel=channel or RecordingChannel())
    chosen = ToolRisk(effects="write", destructive=True) if risk is None else risk
    return GuardedCall(tool=hydrated(tool), arguments=arguments, request=request, risk=chosen)


def modern(arguments: Mapping[str, Any] = DISK, **options: Any) -> GuardedCall:
    """A call of a modern client that can ask its user."""
    return call_of(arguments, **{"era": Era.MODERN, "capabilities": FORMS, **options})


class Desk:
    """A desk over a database, as one process has it."""

    def __init__(self, store: Store, key: StateKey, *, clock: TurnableClock, **options: Any) -> None:
        self.store = store
        self.key = key
        self.clock = clock
        self.book = ApprovalBook(store, key)
        self.desk = ApprovalDesk(self.book, **options)

    async def clear(self, call: GuardedCall, *, policy: str = POLICY) -> Cleared | Question:
        return await self.desk.clear(call, reason=REASON, policy_version=policy)

    async def cleared(self, call: GuardedCall, **options: Any) -> Cleared:
        found = await self.clear(call, **options)
        assert isinstance(found, Cleared)
        return found

    async def asked(self, call: GuardedCall, **options: Any) -> dict[str, Any]:
        found = await self.clear(call, **options)
        assert isinstance(found, Question)
        return found.result


@contextmanager
def opened_desk(directory: Path, *, clock: TurnableClock | None = None, **options: Any) -> Iterator[Desk]:
    """What a process that serves this state directory has."""
    clock = clock or TurnableClock()
    with open_store(directory / "artifacts.db", lines=[APPROVALS_LINE], clock=clock) as store:
        yield Desk(store, state_key(directory), clock=clock, **options)


class GuardedRuntime(ProxyRuntime):
    """A proxy whose every call needs approval and may have an idempotency key."""

    desk: ApprovalDesk
    idempotent: IdempotentCalls
    policy = POLICY

    async def call(
        self, tool: HydrationResult, arguments: Mapping[str, Any], *, request: Request, validate: Any, check: Any = None
    ) -> dict[str, Any]:
        validate()
        call = GuardedCall(tool=tool, arguments=arguments, request=request, risk=self.risk_of(tool))
        onward = request

        async def first() -> dict[str, Any] | None:
            nonlocal onward
            cleared = await self.desk.clear(call, reason=REASON, policy_version=self.policy)
            if isinstance(cleared, Question):
                return cleared.result
            onward = cleared.request
            return None

        async def send() -> dict[str, Any]:
            return await super(GuardedRuntime, self).call(
                tool, arguments, request=onward, validate=validate, check=check
            )

        result = await self.idempotent.run(call, send, first=first)
        await self.desk.note_question(call, result)
        return result


class GuardedCase(ProxyCase):
    """A proxy behind the desk, and the desk."""

    def __init__(self, runtime: GuardedRuntime, servers: dict[str, Any], desk: Desk) -> None:
        super().__init__(runtime, servers)
        self.desk = desk


@asynccontextmanager
async def guarded(
    directory: Path, servers: Mapping[str, Any], *, ours: Mapping[str, Any] | None = None, **options: Any
) -> AsyncIterator[GuardedCase]:
    """A proxy over these servers, behind the desk of a state directory."""
    connects = {name: each.connect for name, each in servers.items()}
    with opened_desk(directory, **options) as desk:
        ledger = SqlLedger(desk.store)
        try:
            async with hub_of(connects, ours={"mode": "proxy", **(ours or {})}) as hub:
                runtime = GuardedRuntime(hub, patience=5.0)
                runtime.desk = desk.desk
                runtime.idempotent = IdempotentCalls(ledger, desk.key)
                case = GuardedCase(runtime, dict(servers), desk)
                try:
                    yield case
                finally:
                    await case.service.aclose()
        finally:
            ledger.close()
