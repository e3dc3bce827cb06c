"""`ApprovalDesk`: where a call shows that somebody allows it, or somebody is asked."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from toolcrib_core.wording import quoted
from toolcrib_mcp.approvals.book import TTL, ApprovalBook, Unkeepable
from toolcrib_mcp.approvals.continuing import Continuations, SharedContinuations
from toolcrib_mcp.approvals.questions import DENIED, GRANTED, KeptQuestion
from toolcrib_mcp.approvals.subjects import CallFacts, subject_of, summary_of
from toolcrib_mcp.front.confirming import (
    ELICIT,
    META_APPROVAL,
    Decision,
    answered,
    can_be_asked,
    decision_in,
    declined,
    input_required,
    question,
    who_answers,
)
from toolcrib_mcp.front.service import Request
from toolcrib_mcp.relay.questions import asks
from toolcrib_mcp.rpc import RpcError
from toolcrib_mcp.upstreams.eras import Era
from toolcrib_runtime.errors import ApprovalRefused, ApprovalRequired
from toolcrib_store import StoreError

if TYPE_CHECKING:
    from toolcrib_mcp.safeguards.call import GuardedCall
    from toolcrib_runtime.policy.approval_tokens import Grant
    from toolcrib_runtime.policy.approvals import ApprovalSubject, PendingApproval
    from toolcrib_store import Store

STATE_PREFIX: Final = "toolcrib-approval-"
"""How the `requestState` of a question of ours begins; any other is a server's."""

PATIENCE: Final = 300.0
"""The seconds that a person has to answer, where the client waits for that within its request."""

_logger = logging.getLogger("toolcrib.mcp")

COMMAND: Final = "toolcrib approvals grant"


@dataclass(frozen=True, kw_only=True)
class Cleared:
    """The call may be made, once."""

    request: Request
    """The client's request as it goes on to the server: without what was for us."""
    approval_id: str | None = None
    """Which approval was used up; `None` for a call that goes on after its server has asked something."""
    by: str | None = None
    """Who allowed it."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """The client has to ask first, and to make the same call again with the answer."""

    result: dict[str, Any]
    """The result of the call until then."""


class ApprovalDesk:
    """Finds out whether somebody allows a call, and takes every approval once.

    `command` is what a person types, with the id behind it, to allow a call of a client that cannot ask; `None` if
    there is no place where that could be done. `patience` is how many seconds a client has to answer. In a `shared`
    store other replicas see which questions of servers are part of a call that was approved.
    """

    def __init__(
        self,
        book: ApprovalBook,
        *,
        patience: float = PATIENCE,
        command: str | None = COMMAND,
        shared: Store | None = None,
    ) -> None:
        self._book = book
        self._patience = patience
        self._command = command
        self._continuations: Continuations | SharedContinuations = Continuations(seconds=TTL, now=book.now)
        if shared is not None:
            self._continuations = SharedContinuations(shared, seconds=TTL)

    async def clear(self, call: GuardedCall, *, reason: str, policy_version: str) -> Cleared | Question:
        """The approval of a call: the one that came with it, was given at the command line, or is asked for now.

        Raises:
            ApprovalRequired: Nobody could be asked, or nobody has answered.
            ApprovalRefused: What came with the call is no approval for it; `details["reason"]` says why.
            NotPermitted: Somebody was asked, and does not want it.
            NotJson: The arguments have no form that is theirs alone.
            RpcError: The client answers a question that it was not asked.
            StoreError: The database failed, and nothing was run.
        """
        asked = _Asked(call=call, subject=subject_of(call, policy_version=policy_version), reason=reason)
        request = call.request
        token = request.meta.get(META_APPROVAL)
        if token is not None:
            return _cleared(request, await self._redeem(token if isinstance(token, str) else "", asked))
        is_modern = request.caller.era is Era.MODERN
        settled = answered(request.params, prefix=STATE_PREFIX) if is_modern else None
        if settled is not None and settled[1] != "none":
            return await self._decided(asked, *settled)
        if settled is None and await self._continues(call, request.params):
            return Cleared(request=request)
        found = await asyncio.to_thread(self._book.find, asked.subject)
        if found is not None and found.state == DENIED:
            raise declined(call.tool.tool_id)
        granted = None if found is None or found.state != GRANTED else found
        if granted is not None and (used := await self._use(granted, asked)) is not None:
            return used
        # Nobody is asked twice: who did not decide when asked is told how it can be done elsewhere.
        if settled is None and can_be_asked(request.caller):
            pending = self._book.approvals.request(asked.subject, reason=reason, summary=summary_of(call))
            if is_modern:
                return Question(result=input_required(pending, call.arguments, prefix=STATE_PREFIX))
            decision = await self._ask(call, pending)
            if decision != "none":
                return await self._decided(asked, pending, decision)
        raise await self._kept(asked, instead_of=None if granted is None else granted.id)

    async def note_question(self, call: GuardedCall, result: Mapping[str, Any]) -> None:
        """If the result of an approved call asks the client something, its answer needs no approval of its own."""
        if not asks(result):
            return
        try:
            await asyncio.to_thread(self._continuations.remember, call, result.get("requestState"))
        except StoreError as failure:
            # The call was made, and its result is the client's: at worst somebody is asked again.
            _logger.warning("that a server asked something is not written down: %s", failure.message)

    async def _continues(self, call: GuardedCall, params: Mapping[str, Any]) -> bool:
        if "requestState" not in params and "inputResponses" not in params:
            return False
        return await asyncio.to_thread(self._continuations.take, call, params)

    async def _decided(self, asked: _Asked, pending: PendingApproval, decision: Decision) -> Cleared:
        if decision == "no":
            raise declined(asked.call.tool.tool_id)
        request = asked.call.request
        token = self._book.approvals.grant(pending, by=who_answers(request.caller))
        return _cleared(request, await self._redeem(token, asked))

    async def _redeem(self, token: str, asked: _Asked) -> Grant:
        return await self._book.approvals.redeem(token, asked.subject)

    async def _use(self, granted: KeptQuestion, asked: _Asked) -> Cleared | None:
        """The call with what was granted at the command line; `None` if another call was quicker."""
        try:
            grant = await self._redeem(granted.token or "", asked)
        except ApprovalRefused:
            return None
        await asyncio.to_thread(self._book.drop, granted.id)
        return _cleared(asked.call.request, grant)

    async def _ask(self, call: GuardedCall, pending: PendingApproval) -> Decision:
        try:
            answer = await call.request.channel.ask(ELICIT, question(pending, call.arguments), timeout=self._patience)
        except RpcError:
            return "none"
        return decision_in(answer)

    async def _kept(self, asked: _Asked, *, instead_of: str | None) -> Exception:
        call = asked.call
        if self._command is None:
            return _required(asked, "The client cannot ask anybody, and there is no place to keep the question.")
        kept = await asyncio.to_thread(
            self._book.keep,
            asked.subject,
            CallFacts.of(call),
            reason=asked.reason,
            summary=summary_of(call),
            instead_of=instead_of,
        )
        if isinstance(kept, Unkeepable):
            return _required(asked, f"Nobody can be asked about it now: {kept.why}.")
        if kept.state == DENIED:
            return declined(call.tool.tool_id)
        return _required(
            asked,
            f"A person can allow it with `{self._command} {kept.id}`; you cannot. "
            "Make the same call again afterwards, with the same arguments.",
            approvalId=kept.id,
            expiresAt=datetime.fromtimestamp(kept.expires_at, UTC).isoformat(timespec="seconds"),
        )


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """What somebody is to decide, and why."""

    call: GuardedCall
    subject: ApprovalSubject
    reason: str


def without_approval(request: Request) -> Request:
    """A request as it goes on to a server: without an approval, and without the answer to a question of ours."""
    params = dict(request.params)
    state = params.get("requestState")
    if isinstance(state, str) and state.startswith(STATE_PREFIX):
        del params["requestState"]
        params.pop("inputResponses", None)
    if META_APPROVAL in request.meta:
        params["_meta"] = {name: value for name, value in request.meta.items() if name != META_APPROVAL}
    return request if params == request.params else replace(request, params=params)


def _cleared(request: Request, grant: Grant) -> Cleared:
    return Cleared(request=without_approval(request), approval_id=grant.approval_id, by=grant.by)


def _required(asked: _Asked, what_next: str, **details: str) -> ApprovalRequired:
    return ApprovalRequired(
        f"{quoted(asked.call.tool.tool_id)} needs approval before it runs: {asked.reason}.",
        hint=f"Nothing was run. {what_next}",
        details={"reason": asked.reason, **details},
    )
