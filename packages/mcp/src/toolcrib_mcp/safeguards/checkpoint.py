"""`Checkpoint`: the one place that every call passes on its way to a server, whatever mode it came through."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from toolcrib_core import ToolError
from toolcrib_core.wording import quoted
from toolcrib_mcp.approvals import ApprovalDesk, Question, without_approval
from toolcrib_mcp.front.service import Request
from toolcrib_mcp.policy import PolicyJudgement, PolicySource, subject_of
from toolcrib_mcp.redaction.redactor import IN_THREAD_BYTES
from toolcrib_mcp.rpc import RpcError
from toolcrib_mcp.safeguards.noting import CallNotes, CallRecorder
from toolcrib_mcp.scan.smuggling import pointed_at
from toolcrib_runtime.errors import NotPermitted

if TYPE_CHECKING:
    from toolcrib_mcp.idempotency import IdempotentCalls
    from toolcrib_mcp.pins import PinBook
    from toolcrib_mcp.policy import CallBudgets, CallLimits
    from toolcrib_mcp.redaction import ResultRedactor
    from toolcrib_mcp.safeguards.call import GuardedCall

Proceed: TypeAlias = Callable[[Request], Awaitable[dict[str, Any]]]
"""Makes the call; it is given the request as it goes on, without what was for us."""


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """Lets a call pass, or says why not; either way it is written down.

    In this order: the tool is still the one that was pinned; the policy; the arguments are valid; limits; a result that
    an earlier call with the same key gave; an approval, where the policy asks for one; budgets. What is missing here is
    not checked.
    """

    policy: PolicySource
    pins: PinBook | None = None
    limits: CallLimits | None = None
    budgets: CallBudgets | None = None
    desk: ApprovalDesk | None = None
    idempotent: IdempotentCalls | None = None
    redactor: ResultRedactor | None = None
    recorder: CallRecorder = field(default_factory=CallRecorder)

    async def run(self, call: GuardedCall, proceed: Proceed) -> dict[str, Any]:
        """The result of a call, without the secrets that are taken out of results.

        Raises:
            ToolChanged: The tool is not what was pinned.
            NotPermitted: The policy denies the call, or the person who was asked does.
            ApprovalRequired: Somebody has to allow it first, and the client cannot be asked.
            RateLimited: There were too many calls just now.
            BudgetExhausted: There were too many calls.
            AuditUnusable: The call could not be written down.
            ToolError: As `proceed`.
            RpcError: As `proceed`.
        """
        notes = CallNotes()
        with self.recorder.recording(call, notes) as span:

            async def send(request: Request) -> dict[str, Any]:
                notes.reached = True
                params = span.onward(request.params)
                return await proceed(request if params is request.params else replace(request, params=params))

            try:
                notes.result = await self._passed(call, send, notes)
            except (ToolError, RpcError) as failure:
                if self.redactor is not None:
                    notes.redactions += self.redactor.redact_failure(failure, server=call.tool.upstream)
                raise
        return notes.result

    async def _passed(self, call: GuardedCall, proceed: Proceed, notes: CallNotes) -> dict[str, Any]:
        if self.pins is not None and call.listed:
            self.pins.check(call.tool)
        call.check_risk()
        policy = await self.policy.latest()
        subject = subject_of(call)
        judgement = notes.judgement = policy.judge(subject)
        if judgement.decision == "deny":
            raise _denied(call, judgement)
        if call.validate is not None:
            call.validate()
        if self.limits is not None:
            self.limits.take(call)
        asks = judgement.decision == "ask"

        async def clear() -> dict[str, Any] | None:
            self.recorder.check_writable(call, only_reads=subject.risk_class == "read")
            settled = await self._cleared(call, judgement, policy.digest, notes) if asks else None
            # Last, so that a call which has to be approved first is counted once.
            if settled is None and self.budgets is not None:
                await self.budgets.take(call)
            return settled

        async def send() -> dict[str, Any]:
            request = without_approval(call.request) if notes.approval is None else notes.approval.request
            return await self._redacted(call, await proceed(request), notes)

        if self.idempotent is None:
            settled = await clear()
            result = await send() if settled is None else settled
        else:
            result = await self.idempotent.run(call, send, first=clear)
        if asks and notes.reached and self.desk is not None:
            await self.desk.note_question(call, result)
        return result

    async def _cleared(
        self, call: GuardedCall, judgement: PolicyJudgement, version: str, notes: CallNotes
    ) -> dict[str, Any] | None:
        """Nothing, when somebody allows the call; what to answer its client, when the client has to ask somebody."""
        if self.desk is None:
            raise _denied(call, judgement)
        cleared = await self.desk.clear(
            call, reason=judgement.reason, policy_version=version, lasting=judgement.lasting
        )
        if isinstance(cleared, Question):
            return cleared.result
        notes.approval = cleared
        return None

    async def _redacted(self, call: GuardedCall, result: dict[str, Any], notes: CallNotes) -> dict[str, Any]:
        if self.redactor is None:
            return result
        redacted = await self.redactor.redact_off_loop(result, server=call.tool.upstream)
        notes.redactions += redacted.count
        notes.result_bytes = redacted.size
        if redacted.ascii:
            return redacted.result
        if redacted.size < IN_THREAD_BYTES:
            return pointed_at(redacted.result)
        return await asyncio.to_thread(pointed_at, redacted.result)


def _denied(call: GuardedCall, judgement: PolicyJudgement) -> NotPermitted:
    return NotPermitted(
        f"{quoted(call.tool.tool_id)} is not permitted: {judgement.reason}.",
        hint="Nothing was run. The same call will be denied again: do without it, or ask for what is permitted.",
        details={"reason": judgement.reason, "rule": judgement.rule},
    )
