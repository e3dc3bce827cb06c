"""`ApprovalDesk`: where a call shows that somebody allows it, or somebody is asked."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from toolcrib_core import ToolError
from toolcrib_core.wording import quoted
from toolcrib_mcp.approvals.book import TTL, ApprovalBook, Unkeepable
from toolcrib_mcp.approvals.continuing import Continuations, SharedContinuations
from toolcrib_mcp.approvals.questions import DENIED, GRANTED, KeptQuestion
from toolcrib_mcp.approvals.subjects import ANSWERS, CallFacts, subject_of, summary_of
from toolcrib_mcp.front.confirming import (
    ELICIT,
    META_APPROVAL,
    ONLY_THIS_CALL,
    Decision,
    answered,
    can_be_asked,
    decision_in,
    declined,
    input_required,
    question,
    who_answers,
)
from toolcrib_mcp.front.service import Caller, Request
from toolcrib_mcp.policy.answers import remember_answer
from toolcrib_mcp.policy.subjects import subject_of as policy_subject_of
from toolcrib_mcp.relay.meta import RESERVED
from toolcrib_mcp.relay.questions import asks
from toolcrib_mcp.rpc import RpcError
from toolcrib_mcp.upstreams.eras import Era
from toolcrib_runtime.errors import ApprovalRefused, ApprovalRequired
from toolcrib_store import StoreError

if TYPE_CHECKING:
    from toolcrib_mcp.policy import Answers
    from toolcrib_mcp.safeguards.call import GuardedCall
    from toolcrib_runtime.policy.approval_tokens import Grant
    from toolcrib_runtime.policy.approvals import ApprovalSubject, PendingApproval
    from toolcrib_store import Store

STATE_PREFIX: Final = "toolcrib-approval-"
"""How the `requestState` of a question of ours begins; any other is a server's."""

PATIENCE: Final = 300.0
"""The seconds that a person has to answer, where the client waits for that within its request."""

_logger = logging.getLogger("toolcrib.mcp")

COMMAND: Final = "toolcrib approvals"

_HTTP: Final = "http-"
_OF_ONE_REQUEST: Final = frozenset({"progressToken", "traceparent", "tracestate", "baggage"})
_LASTING: Final = frozenset({"session", "tool", "server"})


@dataclass(frozen=True, kw_only=True)
class Cleared:
    """The call may be made, once."""

    request: Request
    """The client's request as it goes on to the server: without what was for us."""
    approval_id: str | None = None
    """Which approval was used up; `None` for a call that an answer for the session covers, or that goes on."""
    by: str | None = None
    """Who allowed it."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """The client has to ask first, and to make the same call again with the answer."""

    result: dict[str, Any]
    """The result of the call until then."""


class ApprovalDesk:
    """Finds out whether somebody allows a call, and takes every approval once.

    `command` is what a person types to decide about a call of a client that cannot ask; `None` if there is no place
    where that could be done. `patience` is how many seconds a client has to answer. In a `shared` store other replicas
    see which questions of servers are part of a call that was approved. `answers` is where answers are remembered.
    """

    def __init__(
        self,
        book: ApprovalBook,
        *,
        patience: float = PATIENCE,
        command: str | None = COMMAND,
        shared: Store | None = None,
        answers: Answers | None = None,
    ) -> None:
        self._book = book
        self._patience = patience
        self._command = command
        self._answers = answers
        # The key of a session over stdio is the same in every process.
        self._process = secrets.token_hex(16)
        self._continuations: Continuations | SharedContinuations = Continuations(seconds=TTL, now=book.now)
        if shared is not None:
            self._continuations = SharedContinuations(shared, seconds=TTL)

    async def clear(
        self, call: GuardedCall, *, reason: str, policy_version: str, lasting: bool = False
    ) -> Cleared | Question:
        """The approval of a call: the one that came with it, was given at the command line, or is asked for now.

        An answer is remembered only for a question that is `lasting`; that a tool may never run, for any.

        Raises:
            ApprovalRequired: Nobody could be asked, or nobody has answered.
            ApprovalRefused: What came with the call is no approval for it; `details["reason"]` says why.
            NotPermitted: Somebody was asked, and does not want it.
            NotJson: The arguments have no form that is theirs alone.
            RpcError: The client answers a question that it was not asked.
            StoreError: The database failed, and nothing was run.
        """
        request = call.request
        token = request.meta.get(META_APPROVAL)
        is_modern = request.caller.era is Era.MODERN
        # The answer to a question of ours comes in the place of the answer to one of the server.
        with_answers = token is not None or not (is_modern and can_be_asked(request.caller))
        asked = _Asked(
            call=call,
            subject=subject_of(call, policy_version=policy_version, with_answers=with_answers),
            with_answers=with_answers,
            reason=reason,
            session=self._session_of(call.request.caller),
            choices=self._choices(call, lasting=lasting),
        )
        # First: what was denied stays denied, whatever was said earlier or elsewhere.
        found = await asyncio.to_thread(self._book.find, asked.subject)
        if found is not None and found.state == DENIED:
            raise declined(call.tool.tool_id)
        if token is not None:
            return _cleared(asked, await self._redeem(token if isinstance(token, str) else "", asked))
        settled = answered(request.params, prefix=STATE_PREFIX) if is_modern else None
        if settled is not None and settled[1] in asked.choices:
            return await self._decided(asked, *settled)
        before = await self._cleared_before(asked, goes_on=settled is None, lasting=lasting)
        if before is not None:
            return before
        granted = None if found is None or found.state != GRANTED else found
        if granted is not None and (used := await self._use(granted, asked)) is not None:
            return used
        # Nobody is asked twice: who did not decide when asked is told how it can be done elsewhere.
        if settled is None and can_be_asked(request.caller):
            pending = self._book.approvals.request(asked.subject, reason=reason, summary=summary_of(call))
            if is_modern:
                form = input_required(
                    pending, call.arguments, beside=call.beside, choices=asked.choices, prefix=STATE_PREFIX
                )
                return Question(result=form)
            decision = await self._ask(asked, pending)
            if decision in asked.choices:
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

    async def _cleared_before(self, asked: _Asked, *, goes_on: bool, lasting: bool) -> Cleared | None:
        """The call, if it goes on after a question of its server, or if an answer for the session covers it."""
        request = asked.call.request
        if goes_on and await self._continues(asked.call, request.params):
            return Cleared(request=_covered(request))
        by = await self._allowed_for_session(asked) if lasting else None
        return None if by is None else Cleared(request=without_approval(request), by=by)

    async def _continues(self, call: GuardedCall, params: Mapping[str, Any]) -> bool:
        if "requestState" not in params and "inputResponses" not in params:
            return False
        return await asyncio.to_thread(self._continuations.take, call, params)

    async def _decided(self, asked: _Asked, pending: PendingApproval, decision: Decision) -> Cleared:
        by = who_answers(asked.call.request.caller)
        if decision in {"no", "never"}:
            await asyncio.to_thread(self._book.note_denial, asked.subject)
            if decision == "never":
                await self._remember(asked, decision, by)
            raise declined(asked.call.tool.tool_id)
        token = self._book.approvals.grant(pending, by=by)
        # First the call itself: what is no answer to a question of ours, or was used before, is not remembered.
        cleared = _cleared(asked, await self._redeem(token, asked))
        if decision in _LASTING:
            await self._remember(asked, decision, by)
        return cleared

    async def _remember(self, asked: _Asked, decision: Decision, by: str) -> None:
        try:
            await asyncio.to_thread(self._write_answer, asked, decision, by)
        except ToolError as failure:
            # The answer was given, and holds for this call.
            _logger.warning("an answer holds for one call, since it cannot be remembered: %s", failure.message)

    def _write_answer(self, asked: _Asked, decision: Decision, by: str) -> None:
        subject = policy_subject_of(asked.call)
        if decision == "session":
            self._book.allow_session(asked.session or "", subject, by=by)
        elif self._answers is not None:
            remember_answer(
                self._answers,
                subject,
                "deny" if decision == "never" else "allow",
                "server" if decision == "server" else "tool",
                by=by,
            )

    async def _allowed_for_session(self, asked: _Asked) -> str | None:
        if asked.session is None:
            return None
        return await asyncio.to_thread(self._book.who_allowed, asked.session, policy_subject_of(asked.call))

    def _choices(self, call: GuardedCall, *, lasting: bool) -> tuple[Decision, ...]:
        """The answers that can be given, the preselected one first."""
        remembered: tuple[Decision, ...] = () if self._answers is None or not lasting else ("tool", "server")
        session: tuple[Decision, ...] = ("session",) if lasting and call.request.caller.conversation else ()
        never: tuple[Decision, ...] = () if self._answers is None else ("never",)
        return ("once", *session, *remembered, "no", *never)

    def _session_of(self, caller: Caller) -> str | None:
        key = caller.conversation
        return key if key is None or key.startswith(_HTTP) else f"{self._process}/{key}"

    async def _redeem(self, token: str, asked: _Asked) -> Grant:
        return await self._book.redeem(token, asked.subject)

    async def _use(self, granted: KeptQuestion, asked: _Asked) -> Cleared | None:
        """The call with what was granted at the command line; `None` if another call was quicker."""
        try:
            grant = await self._redeem(granted.token or "", asked)
        except ApprovalRefused:
            return None
        await asyncio.to_thread(self._book.drop, granted.id)
        return _cleared(asked, grant)

    async def _ask(self, asked: _Asked, pending: PendingApproval) -> Decision:
        call = asked.call
        form = question(pending, call.arguments, beside=call.beside, choices=asked.choices)
        try:
            answer = await call.request.channel.ask(ELICIT, form, timeout=self._patience)
        except RpcError:
            return "none"
        return decision_in(answer)

    async def _kept(self, asked: _Asked, *, instead_of: str | None) -> Exception:
        call = asked.call
        if self._command is None:
            return _required(asked, "The client cannot show the question to its user, and it can be kept nowhere.")
        kept = await asyncio.to_thread(
            self._book.keep,
            asked.subject,
            CallFacts.of(call, session=asked.session, lasting="tool" in asked.choices),
            reason=asked.reason,
            summary=summary_of(call),
            instead_of=instead_of,
        )
        if isinstance(kept, Unkeepable):
            return _required(asked, f"It cannot wait for an approval: {kept.why}.")
        if kept.state == DENIED:
            return declined(call.tool.tool_id)
        return _required(
            asked,
            _how_to_decide(self._command, kept.name, asked.choices),
            approvalId=kept.name,
            expiresAt=datetime.fromtimestamp(kept.expires_at, UTC).isoformat(timespec="seconds"),
        )


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """What somebody is to decide, and why."""

    call: GuardedCall
    subject: ApprovalSubject
    reason: str
    with_answers: bool = True
    """Whether the subject has the answers in it that the request has for the server."""
    session: str | None = None
    choices: tuple[Decision, ...] = field(default=ONLY_THIS_CALL)


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


def _cleared(asked: _Asked, grant: Grant) -> Cleared:
    request = _covered(without_approval(asked.call.request))
    if not asked.with_answers:
        params = {name: value for name, value in request.params.items() if name not in ANSWERS}
        request = request if len(params) == len(request.params) else replace(request, params=params)
    return Cleared(request=request, approval_id=grant.approval_id, by=grant.by)


def _covered(request: Request) -> Request:
    """A request with the metadata that belongs to one request alone.

    Clients put other metadata there anew with every try, so that an approval cannot cover it: it does not go along.
    """
    kept = {name: value for name, value in request.meta.items() if name in _OF_ONE_REQUEST or name.startswith(RESERVED)}
    if len(kept) == len(request.meta):
        return request
    return replace(request, params={**request.params, "_meta": kept})


def _required(asked: _Asked, what_next: str, **details: str) -> ApprovalRequired:
    return ApprovalRequired(
        f"{quoted(asked.call.tool.tool_id)} needs approval before it runs: {asked.reason}.",
        hint=f"Nothing was run. {what_next}",
        details={"reason": asked.reason, **details},
    )


def _how_to_decide(command: str, name: str, choices: Sequence[Decision]) -> str:
    options = {"session": "`--session`", "tool": "`--always`", "server": "`--server`"}
    more = [options[each] for each in choices if each in options]
    again = f" (with {' or '.join(more)} not to be asked again)" if more else ""
    return (
        f"Ask the user to run `{command} grant {name}`{again}, or `{command} deny {name}`, in a terminal on the "
        "gateway's machine; you cannot do it yourself. Afterwards make the same call again, with the same arguments."
    )
