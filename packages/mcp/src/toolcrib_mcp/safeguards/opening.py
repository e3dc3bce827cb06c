"""All safeguards of one configuration, opened together: one database, one policy, one audit."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from toolcrib_mcp.approvals import APPROVALS_LINE, ApprovalBook, ApprovalDesk, StateKey, forget_questions, state_key
from toolcrib_mcp.audit import AUDIT_LINE, open_journal
from toolcrib_mcp.idempotency import IdempotentCalls
from toolcrib_mcp.pins import PINS_LINE, PinBook, open_pins
from toolcrib_mcp.policy import USAGE_LINE, CallBudgets, CallLimits, PolicySource, forget_usage
from toolcrib_mcp.redaction import ResultRedactor, configured_secrets
from toolcrib_mcp.safeguards.checkpoint import Checkpoint
from toolcrib_mcp.safeguards.noting import CallRecorder
from toolcrib_mcp.state_files import ARTIFACTS
from toolcrib_runtime.guards.secrets import Scrubber, Secret
from toolcrib_store import SqlLedger, Store, open_store, sweeping

if TYPE_CHECKING:
    from toolcrib_mcp.config import GatewayConfig

GATEWAY_LINES: Final = (PINS_LINE, APPROVALS_LINE, USAGE_LINE, AUDIT_LINE)
"""What the database holds beside artifacts and ledgers."""

GATEWAY_SWEEPS: Final = {APPROVALS_LINE: ("questions", forget_questions), USAGE_LINE: ("usage", forget_usage)}
"""By line: what of it expires, and how it is forgotten."""


@dataclass(frozen=True, kw_only=True)
class Safeguards:
    """What a gateway needs to be safe: give `pins` to its hub, and `checkpoint` to what serves."""

    store: Store
    checkpoint: Checkpoint
    pins: PinBook | None

    def of(self, principal: str) -> Safeguards:
        """Those for the servers that one principal has beside everybody's; they have pins of their own."""
        if self.pins is None:
            return self
        pins = self.pins.scoped(principal)
        return replace(self, pins=pins, checkpoint=replace(self.checkpoint, pins=pins))


@asynccontextmanager
async def open_safeguards(
    config: GatewayConfig, *, state_dir: Path | None, secrets: Iterable[Secret] = ()
) -> AsyncIterator[Safeguards]:
    """The safeguards of a configuration; everything that waits to be written is written at the end.

    `state_dir` is the directory of this configuration alone; without it nothing outlives the process. `secrets` are
    taken out of results beside those of the configuration.

    Raises:
        ConfigError: The policy, the lock file or a key file cannot be used.
        StoreError: The database cannot be opened.
        AuditUnusable: The audit cannot be written.
    """
    known = (*configured_secrets(config.enabled), *secrets)
    async with AsyncExitStack() as holding:
        directory = state_dir
        if directory is None:
            directory = Path(holding.enter_context(TemporaryDirectory(prefix="toolcrib-")))
        store = holding.enter_context(await asyncio.to_thread(open_database, directory))
        key = state_key(state_dir)
        policy = PolicySource.of(config)
        await holding.enter_async_context(sweeping(store, more=dict(GATEWAY_SWEEPS.values())))
        ledger = SqlLedger(store)
        holding.callback(ledger.close)
        pins = await asyncio.to_thread(open_pins, config, store)
        if pins is not None:
            holding.push_async_callback(_stopped, asyncio.create_task(pins.keep_fresh(), name="pins"))
        yield Safeguards(
            store=store,
            pins=pins,
            checkpoint=Checkpoint(
                policy=policy,
                pins=pins,
                limits=CallLimits(policy),
                budgets=CallBudgets(policy, store),
                desk=_desk(store, key, keeps=state_dir is not None),
                idempotent=IdempotentCalls(ledger, key),
                redactor=ResultRedactor(known, known_formats=config.settings.redact == "known-formats"),
                recorder=await _recorder(config, directory, store, known, holding),
            ),
        )


def open_database(directory: Path) -> Store:
    """The database of a configuration's directory, with everything that a gateway keeps.

    Raises:
        StoreError: It cannot be opened.
    """
    return open_store(directory / ARTIFACTS, lines=GATEWAY_LINES)


def _desk(store: Store, key: StateKey, *, keeps: bool) -> ApprovalDesk:
    book = ApprovalBook(store, key)
    # What ends with this process nobody can decide at the command line.
    return ApprovalDesk(book) if keeps else ApprovalDesk(book, command=None)


async def _recorder(
    config: GatewayConfig, directory: Path, store: Store, secrets: Iterable[Secret], holding: AsyncExitStack
) -> CallRecorder:
    settings = config.settings.audit
    if not settings.enabled:
        return CallRecorder()
    journal = await asyncio.to_thread(
        open_journal, directory, store=store, scrubber=Scrubber(secrets), arguments=settings.arguments
    )
    recorder = CallRecorder(journal)
    holding.push_async_callback(recorder.aclose)
    return recorder


async def _stopped(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait([task])
