"""All safeguards of one configuration, opened together: one database, one policy, one audit."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from toolcrib_mcp.approvals import (
    APPROVALS_LINE,
    COMMAND,
    ApprovalBook,
    ApprovalDesk,
    StateKey,
    forget_questions,
    state_key,
)
from toolcrib_mcp.audit import AUDIT_LINE, open_journal
from toolcrib_mcp.idempotency import IdempotentCalls
from toolcrib_mcp.pins import PINS_LINE, PinBook, open_pins
from toolcrib_mcp.policy import (
    USAGE_LINE,
    AnswerFile,
    Answers,
    CallBudgets,
    CallLimits,
    MemoryAnswers,
    PolicySource,
    SharedAnswers,
    answers_path,
    forget_usage,
)
from toolcrib_mcp.redaction import ResultRedactor, configured_secrets
from toolcrib_mcp.safeguards.checkpoint import Checkpoint
from toolcrib_mcp.safeguards.noting import CallRecorder
from toolcrib_mcp.shared import SHARED_LINE, Notes, forget_notes, shared_key
from toolcrib_mcp.state_files import ARTIFACTS, check_state
from toolcrib_runtime.guards.secrets import Scrubber, Secret
from toolcrib_store import SqlLedger, Store, open_store, sweeping

if TYPE_CHECKING:
    from toolcrib_mcp.config import GatewayConfig
    from toolcrib_mcp.shared import SharedDatabase

GATEWAY_LINES: Final = (PINS_LINE, APPROVALS_LINE, USAGE_LINE, AUDIT_LINE, SHARED_LINE)
"""What the database holds beside artifacts and ledgers; the last one only where replicas share it."""

GATEWAY_SWEEPS: Final = {
    APPROVALS_LINE: ("questions", forget_questions),
    USAGE_LINE: ("usage", forget_usage),
    SHARED_LINE: ("notes", forget_notes),
}
"""By line: what of it expires, and how it is forgotten."""


@dataclass(frozen=True, kw_only=True)
class Safeguards:
    """What a gateway needs to be safe: give `pins` to its hub, and `checkpoint` to what serves."""

    store: Store
    checkpoint: Checkpoint
    pins: PinBook | None
    scrubber: Scrubber
    """Takes secrets out of what is written down."""
    replicated: StateKey | None = None
    """The key that other replicas have, too, where the store is one that they share."""

    @property
    def shared(self) -> Store | None:
        """The store, where replicas share it."""
        return None if self.replicated is None else self.store

    def hide(self, secrets: Iterable[Secret]) -> None:
        """Take these secrets out, too, of results and of what is written down: those of servers that came later."""
        known = tuple(secrets)
        self.scrubber.add(*known)
        if self.checkpoint.redactor is not None:
            self.checkpoint.redactor.add(*known)

    def of(self, principal: str) -> Safeguards:
        """Those for the servers that one principal has beside everybody's; they have pins of their own."""
        if self.pins is None:
            return self
        pins = self.pins.scoped(principal)
        return replace(self, pins=pins, checkpoint=replace(self.checkpoint, pins=pins))


@asynccontextmanager
async def open_safeguards(
    config: GatewayConfig,
    *,
    state_dir: Path | None,
    secrets: Iterable[Secret] = (),
    shared: SharedDatabase | None = None,
) -> AsyncIterator[Safeguards]:
    """The safeguards of a configuration; everything that waits to be written is written at the end.

    `state_dir` is the directory of this configuration alone; without it nothing outlives the process. `secrets` are
    taken out of results beside those of the configuration. With a `shared` database everything but the audit is in
    that, for all replicas together; each of them has an audit of its own in its `state_dir`.

    Raises:
        ConfigError: The policy, the lock file or a key cannot be used, or others decide what is in the `state_dir`.
        StoreError: The database cannot be opened.
        AuditUnusable: The audit cannot be written.
    """
    known = (*configured_secrets(config.enabled), *secrets)
    async with AsyncExitStack() as holding:
        directory = state_dir
        if directory is not None:
            await asyncio.to_thread(check_state, directory)
        else:
            directory = Path(holding.enter_context(TemporaryDirectory(prefix="toolcrib-")))
        target = directory / ARTIFACTS if shared is None else shared.target
        store = holding.enter_context(await asyncio.to_thread(open_database, target, shared=shared is not None))
        replicated = None if shared is None else await asyncio.to_thread(shared_key, store, shared.sealed_with)
        key = state_key(state_dir) if replicated is None else replicated
        answers = await asyncio.to_thread(open_answers, config, directory, store if replicated else None)
        policy = PolicySource.of(config, answers=answers)
        sweeps = dict(sweep for line, sweep in GATEWAY_SWEEPS.items() if line in store.lines)
        await holding.enter_async_context(sweeping(store, more=sweeps))
        ledger = SqlLedger(store)
        holding.callback(ledger.close)
        pins = await asyncio.to_thread(open_pins, config, store)
        if pins is not None:
            holding.push_async_callback(_stopped, asyncio.create_task(pins.keep_fresh(), name="pins"))
        scrubber = Scrubber(known)
        recorder = await _recorder(config, directory, store, scrubber, holding)
        if pins is not None:
            pins.on_accepted = recorder.note_pin
        yield Safeguards(
            scrubber=scrubber,
            store=store,
            pins=pins,
            replicated=replicated,
            checkpoint=Checkpoint(
                policy=policy,
                pins=pins,
                limits=CallLimits(policy),
                budgets=CallBudgets(policy, store),
                desk=_desk(store, key, answers, keeps=state_dir is not None or shared is not None),
                idempotent=IdempotentCalls(ledger, key),
                redactor=ResultRedactor(known, known_formats=config.settings.redact == "known-formats"),
                recorder=recorder,
            ),
        )


def open_database(target: Path | str, *, shared: bool = False) -> Store:
    """The database of a configuration, with everything that a gateway keeps; also for other replicas if it is `shared`.

    Raises:
        StoreError: It cannot be opened.
    """
    return open_store(target, lines=GATEWAY_LINES if shared else GATEWAY_LINES[:-1])


def open_answers(config: GatewayConfig, state_dir: Path | None, shared: Store | None) -> Answers:
    """The answers that are remembered for a configuration: in the database that is `shared`, or else in a file.

    Raises:
        ConfigError: The file cannot be used.
    """
    if shared is not None:
        return SharedAnswers(Notes(shared, kind="answer"))
    path = answers_path(config, state_dir)
    return MemoryAnswers() if path is None else AnswerFile(path)


def _desk(store: Store, key: StateKey, answers: Answers, *, keeps: bool) -> ApprovalDesk:
    book = ApprovalBook(store, key)
    shared = store if SHARED_LINE in store.lines else None
    # A call that ends with this process cannot be decided at the command line.
    command = COMMAND if keeps else None
    return ApprovalDesk(book, shared=shared, command=command, answers=answers)


async def _recorder(
    config: GatewayConfig, directory: Path, store: Store, scrubber: Scrubber, holding: AsyncExitStack
) -> CallRecorder:
    settings = config.settings.audit
    if not settings.enabled:
        return CallRecorder()
    if store.file != directory / ARTIFACTS:
        # The heads belong to the files of this directory: another replica could not check them.
        store = holding.enter_context(await asyncio.to_thread(open_store, directory / ARTIFACTS, lines=[AUDIT_LINE]))
    journal = await asyncio.to_thread(
        open_journal, directory, store=store, scrubber=scrubber, arguments=settings.arguments
    )
    recorder = CallRecorder(journal, on_failure=settings.on_failure)
    holding.push_async_callback(recorder.aclose)
    return recorder


async def _stopped(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait([task])
