"""`toolcrib approvals grant` and `deny`: somebody decides about a call."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from toolcrib_cli.approvals.opening import book_with
from toolcrib_cli.approvals.showing import print_call, told
from toolcrib_cli.decisions import note_decisions, this_person
from toolcrib_cli.edge import FAILED
from toolcrib_cli.screen import print_json, say, screen, tell
from toolcrib_mcp.errors import ConfigError

if TYPE_CHECKING:
    from toolcrib_cli.asking import Choice
    from toolcrib_mcp.approvals import ApprovalBook, KeptQuestion


def grant_call(
    book: ApprovalBook | None, approval_id: str, *, principal: str | None, sure: bool, full: bool, as_json: bool
) -> KeptQuestion:
    """Show a call, ask, and allow it; gives what was decided.

    Raises:
        ConfigError: Nobody is there to be asked.
        ApprovalNotFound: No call waits under this id.
        ApprovalRefused: Somebody has decided already, or what was kept was altered.
        StoreError: The database failed, and nothing was decided.
    """
    book = book_with(book, approval_id)
    question = book.question(approval_id, principal=principal)
    if not as_json:
        print_call(book, question, book.facts(approval_id, principal=principal), full=full)
    if question.state == "waiting" and not sure:
        _ask(as_json=as_json)
    granted = book.grant(approval_id, by=this_person(), principal=principal)
    if as_json:
        print_json(told(granted) | {"approval": granted.token})
    else:
        say(screen(), "It is allowed, once. Whoever asked for it has to make the same call again.")
    return granted


def deny_call(book: ApprovalBook | None, approval_id: str, *, principal: str | None, as_json: bool) -> KeptQuestion:
    """Refuse a call; gives what was decided.

    Raises:
        ApprovalNotFound: No call waits under this id.
        ApprovalRefused: Somebody has decided already.
        StoreError: The database failed, and nothing was decided.
    """
    denied = book_with(book, approval_id).deny(approval_id, by=this_person(), principal=principal)
    if as_json:
        print_json(told(denied))
    else:
        say(screen(), f"{denied.tool_id} is refused. The same call is, too, until the time is over.")
    return denied


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


def _ask(*, as_json: bool) -> None:
    if as_json or not sys.stdin.isatty():
        raise ConfigError("Nobody is there to be asked whether it may run.", hint="Look at it, and say `--yes`.")
    if not typer.confirm("Allow this call, once?", default=False, err=True):
        tell("Nothing was decided.")
        raise typer.Exit(FAILED)
