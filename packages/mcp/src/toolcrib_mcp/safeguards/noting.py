"""What is noted of a call while it passes, and written down when it has ended: in the audit, and in a span."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from toolcrib_core import ToolError
from toolcrib_core.wording import quoted
from toolcrib_mcp.audit.events import AuditEvent, call_event
from toolcrib_mcp.errors import AuditUnusable
from toolcrib_mcp.outward import outward_code
from toolcrib_mcp.relay.questions import asks
from toolcrib_mcp.rpc import RpcError
from toolcrib_mcp.safeguards.spans import ASKED, OK, TOOL_ERROR, CallSpan, call_span

if TYPE_CHECKING:
    from toolcrib_mcp.approvals import Cleared
    from toolcrib_mcp.audit import AuditJournal
    from toolcrib_mcp.policy import PolicyJudgement
    from toolcrib_mcp.safeguards.call import GuardedCall


OnFailure: TypeAlias = Literal["refuse-writes", "refuse-all", "continue"]
"""Which calls are refused while they cannot be written down."""

_CONSEQUENCES: Final[Mapping[OnFailure, str]] = {
    "refuse-writes": "Calls that may change something are refused until it works again.",
    "refuse-all": "All calls are refused until it works again.",
    "continue": "Calls run, as `audit.onFailure` says, and may be missing in the audit.",
}


@dataclass(kw_only=True)
class CallNotes:
    """What became known of one call on its way."""

    judgement: PolicyJudgement | None = None
    approval: Cleared | None = None
    reached: bool = False
    """Whether it went on to the server."""
    result: dict[str, Any] | None = None
    result_bytes: int | None = None
    redactions: int = 0


class CallRecorder:
    """Writes down how every call ended, in a span of its own; without a journal there is only the span.

    `on_failure` says which calls are refused while the journal cannot be written.
    """

    def __init__(self, journal: AuditJournal | None = None, *, on_failure: OnFailure = "refuse-writes") -> None:
        self._journal = journal
        self._on_failure = on_failure

    @property
    def problem(self) -> str | None:
        """Why calls cannot be written down right now, and what becomes of them, for people; `None` while they can."""
        problem = None if self._journal is None else self._journal.problem
        return None if problem is None else f"{problem}. {_CONSEQUENCES[self._on_failure]}"

    def check_writable(self, call: GuardedCall, *, only_reads: bool) -> None:
        """Refuse a call that could not be written down, as far as the setting wants that.

        Raises:
            AuditUnusable: The audit cannot be written, and the call must not run meanwhile.
        """
        journal = self._journal
        if journal is None or self._on_failure == "continue":
            return
        problem = journal.problem
        if journal.is_crowded:
            problem = problem or "too much waits to be written"
        elif only_reads and self._on_failure == "refuse-writes":
            return
        if problem is not None:
            raise AuditUnusable(
                f"{quoted(call.tool.tool_id)} is not run: the audit cannot be written ({problem}).",
                hint="Nothing was run. Ask the user to look at `toolcrib status` on the gateway's machine.",
            )

    def start(self) -> None:
        """Write down that the process serves from now on; without this, that is written with the first call."""
        if self._journal is not None:
            self._journal.start()

    async def aclose(self) -> None:
        """Write what waits to be written, and that this is the end; a second time does nothing."""
        if self._journal is not None:
            await self._journal.aclose()

    def note_pin(self, server: str, tool: str, digest: str, how: str) -> None:
        """Write down that a definition is served which is not the pinned one byte by byte."""
        if self._journal is not None:
            self._journal.note(AuditEvent(kind="pins", server=server, tool=tool, definition=digest, decision=how))

    @contextmanager
    def recording(self, call: GuardedCall, notes: CallNotes) -> Iterator[CallSpan]:
        """Note what happens inside, in the span that is given; whatever is raised there goes on."""
        started, outcome = time.perf_counter(), "internal-error"
        with call_span(call) as span:
            try:
                yield span
                outcome = _outcome_of(notes.result)
                span.ended(outcome)
            except ToolError as failure:
                outcome = outward_code(failure)
                raise
            except RpcError:
                outcome = "rpc-error"
                raise
            except asyncio.CancelledError:
                outcome = "cancelled"
                raise
            finally:
                self._note(call, notes, outcome, seconds=time.perf_counter() - started, trace=span.trace_id)

    def _note(self, call: GuardedCall, notes: CallNotes, outcome: str, *, seconds: float, trace: str | None) -> None:
        if self._journal is None:
            return
        event = call_event(
            call,
            "call" if notes.reached or notes.result is not None else "refused",
            with_arguments=self._journal.keeps_arguments,
            decision=None if notes.judgement is None else notes.judgement.decision,
            rule=None if notes.judgement is None else notes.judgement.rule,
            approval=None if notes.approval is None else notes.approval.approval_id,
            approved_by=None if notes.approval is None else notes.approval.by,
            outcome=outcome,
            duration_ms=seconds * 1000,
            result_bytes=notes.result_bytes,
            redactions=notes.redactions or None,
            trace=trace,
        )
        self._journal.note(event)


def _outcome_of(result: dict[str, Any] | None) -> str:
    if result is None or asks(result):
        return ASKED
    return TOOL_ERROR if result.get("isError") is True else OK
