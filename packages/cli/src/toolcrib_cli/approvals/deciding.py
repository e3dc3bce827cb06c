"""`toolcrib approvals grant` and `deny`: the operator decides about a call."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import typer

from toolcrib_cli.approvals.opening import book_with
from toolcrib_cli.approvals.showing import print_call, told
from toolcrib_cli.asking import asked_for
from toolcrib_cli.decisions import note_decisions, this_person
from toolcrib_cli.edge import FAILED
from toolcrib_cli.policy.opening import opened_answers
from toolcrib_cli.screen import print_json, say, screen, tell
from toolcrib_mcp.errors import ConfigError
from toolcrib_mcp.policy import AnswerFile, remember_answer

if TYPE_CHECKING:
    from toolcrib_cli.approvals.commands import Lasting
    from toolcrib_cli.asking import Choice
    from toolcrib_mcp.approvals import ApprovalBook, CallFacts, KeptQuestion

_REACH: Final[Mapping[Lasting, str]] = {
    "tool": "this tool",
    "server": "tools of this server that are no riskier",
    "session": "this tool in the client's session",
}


def grant_call(
    book: ApprovalBook | None,
    approval_id: str,
    *,
    lasting: Lasting | None,
    choice: Choice,
    principal: str | None,
    sure: bool,
    full: bool,
    as_json: bool,
) -> KeptQuestion:
    """Show a call, ask, and allow it; gives what was decided.

    Raises:
        ConfigError: There is no terminal to ask at, or the answer cannot be remembered.
        ApprovalNotFound: No call waits under this id.
        ApprovalRefused: It was decided already, or what was kept was altered.
        StoreError: The database failed, and nothing was decided.
    """
    book = book_with(book, approval_id)
    question = book.question(approval_id, principal=principal)
    facts = book.facts(approval_id, principal=principal)
    if lasting is not None and facts is not None:
        _check_lasting(question, facts, lasting)
    if not as_json:
        print_call(book, question, facts, full=full)
    if question.state == "waiting" and not sure:
        _ask(lasting, as_json=as_json)
    granted = book.grant(question.id, by=this_person(), principal=principal)
    remembered = None if lasting is None or facts is None else _remember(book, question.id, facts, lasting, choice)
    if as_json:
        print_json(told(granted) | {"approval": granted.token, "remembered": remembered})
        return granted
    say(screen(), f"Allowed{'' if lasting else ', once'}: the client can now make the same call again.")
    if lasting is not None:
        how = f" To take that back: toolcrib policy forget {remembered}" if remembered else ""
        say(screen(), f"You are not asked again about {_REACH[lasting]}.{how}")
    return granted


def deny_call(
    book: ApprovalBook | None, approval_id: str, *, never: bool, choice: Choice, principal: str | None, as_json: bool
) -> KeptQuestion:
    """Refuse a call; gives what was decided.

    Raises:
        ConfigError: That the tool may never run cannot be remembered; or the call was granted before.
        ApprovalNotFound: No call waits under this id.
        ApprovalRefused: It was decided already.
        StoreError: The database failed, and nothing was decided.
    """
    book = book_with(book, approval_id)
    facts = book.facts(approval_id, principal=principal) if never else None
    if never and facts is None and book.question(approval_id, principal=principal).state == "granted":
        raise ConfigError(
            "The call was granted before, and what it holds is no longer kept.",
            hint="Deny it without `--never`, then add a rule with `toolcrib policy deny`.",
        )
    denied = book.deny(approval_id, by=this_person(), principal=principal)
    remembered = None
    if facts is not None:
        with opened_answers(asked_for(choice, quietly=True)) as answers:
            remembered = remember_answer(answers, facts.subject, "deny", "tool", by=this_person()).id
    if as_json:
        print_json(told(denied) | {"remembered": remembered})
    elif remembered is None:
        say(screen(), f"{denied.tool_id} is refused. The same call is refused until this decision expires.")
    else:
        say(screen(), f"{denied.tool_id} is never run. To take that back: toolcrib policy forget {remembered}")
    return denied


def _check_lasting(question: KeptQuestion, facts: CallFacts, lasting: Lasting) -> None:
    if not facts.lasting:
        raise ConfigError(
            f"This is asked each time: {question.reason}.",
            hint="Grant this one call, without the option. A rule of the policy that names the tool can change it.",
        )
    if lasting == "session" and facts.session is None:
        raise ConfigError("The client has no session.", hint="Grant the call once, or with `--always`.")


def _remember(book: ApprovalBook, question_id: str, facts: CallFacts, lasting: Lasting, choice: Choice) -> str | None:
    """Remember the answer; gives its id where it can be taken back."""
    if lasting == "session":
        book.allow_session(facts.session or "", facts.subject, by=this_person())
        book.drop(question_id)
        return None
    with opened_answers(asked_for(choice, quietly=True)) as answers:
        remembered = remember_answer(answers, facts.subject, "allow", lasting, by=this_person()).id
        # The answer covers the call, so that its approval would stay for later; replicas see an answer after a while.
        if isinstance(answers, AnswerFile):
            book.drop(question_id)
    return remembered


def note_decision(choice: Choice, question: KeptQuestion) -> None:
    """Write down in the audit what was decided about a call."""
    from toolcrib_mcp.audit import AuditEvent

    event = AuditEvent(
        kind="approval",
        principal=question.principal,
        server=question.server,
        tool=question.tool_id,
        approval=question.id,
        approved_by=question.decided_by,
        decision=question.state,
    )
    note_decisions(choice, [event])


def _ask(lasting: Lasting | None, *, as_json: bool) -> None:
    if as_json or not sys.stdin.isatty():
        raise ConfigError("There is no terminal to ask at whether it may run.", hint="Look at it, and say `--yes`.")
    question = "Allow this call, once?" if lasting is None else f"Allow this call, and {_REACH[lasting]} from now on?"
    if not typer.confirm(question, default=False, err=True):
        tell("Nothing was decided.")
        raise typer.Exit(FAILED)
