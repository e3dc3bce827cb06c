"""`toolcrib approvals list` and `show`: what waits, and exactly what would run."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from toolcrib_cli.approvals.arguments import argument_lines, is_cut
from toolcrib_cli.approvals.opening import book_with
from toolcrib_cli.screen import print_json, say, screen, tell
from toolcrib_core.wording import count
from toolcrib_mcp.front.confirming import visible

if TYPE_CHECKING:
    from toolcrib_mcp.approvals import ApprovalBook, CallFacts, KeptQuestion

_MAX_DESCRIPTION: Final = 500


def show_list(book: ApprovalBook | None, *, principal: str | None, as_json: bool) -> None:
    """Print the calls that wait or were decided, the oldest first.

    Raises:
        StoreError: The database failed.
    """
    found = [] if book is None else book.questions(principal=principal)
    if as_json:
        print_json({"approvals": [told(each) for each in found]})
        return
    console = screen()
    if book is None or not found:
        say(console, "No call waits for an approval.")
        return
    for each in found:
        say(console, f"{each.name}  {_standing(each, book.now())}", style="bold")
        say(console, f"{each.tool_id} for {_caller(each)}: {each.reason}", indent=2)


def tell_others(configs: Sequence[Path]) -> None:
    """Say on standard error where else calls wait."""
    for each in configs:
        tell(f"More calls wait: toolcrib approvals list --config {shlex.quote(str(each))}")


def show_one(book: ApprovalBook | None, approval_id: str, *, principal: str | None, full: bool, as_json: bool) -> None:
    """Print one call, with everything that would run.

    Raises:
        ApprovalNotFound: There is none with this id.
        ApprovalRefused: What was kept was altered.
        StoreError: The database failed.
    """
    book = book_with(book, approval_id)
    question = book.question(approval_id, principal=principal)
    facts = book.facts(approval_id, principal=principal)
    if as_json:
        print_json(told(question) | {"call": None if facts is None else _call(facts)})
        return
    print_call(book, question, facts, full=full)


def print_call(book: ApprovalBook, question: KeptQuestion, facts: CallFacts | None, *, full: bool) -> None:
    """Print a call for a person to decide about; what is sealed counts, and not what is written beside it."""
    console = screen()
    say(console, f"{question.name}  {_standing(question, book.now())}", style="bold")
    if facts is None:
        say(console, f"{question.tool_id} for {_caller(question)}: {question.reason}", indent=2)
        say(console, "The arguments are kept only until the call is decided.", indent=2)
        return
    title = f" ({facts.title})" if facts.title else ""
    say(console, f"Tool:       {facts.tool_id}{title}", indent=2)
    say(console, f"Server:     {facts.server}, where its name is {visible(facts.upstream_name)}", indent=2)
    say(console, f"Caller:     {_caller(facts)}", indent=2)
    say(console, f"Reason:     {question.reason}", indent=2)
    say(console, f"Risk:       {_risk(facts)}", indent=2)
    if facts.description:
        description = facts.description if full else facts.description[:_MAX_DESCRIPTION]
        cut = len(facts.description) - len(description)
        more = f"… ({count(cut, 'more character')})" if cut else ""
        console.print(f"  It says:    {visible(description)}{more}", soft_wrap=True)
    if not facts.arguments:
        say(console, "Arguments:  none", indent=2)
    for label, values in (("Arguments:", facts.arguments), ("Sent with them:", facts.beside)):
        if values:
            say(console, label, indent=2)
            for line in argument_lines(values, full=full):
                console.print(f"    {line}", soft_wrap=True)
    if not full and (is_cut(facts.arguments) or is_cut(facts.beside)):
        say(console, "Some of it is cut here: `--full` shows all.", indent=2)


def told(question: KeptQuestion) -> dict[str, Any]:
    """What may be told of a question to a program."""
    return {
        "id": question.id,
        "name": question.name,
        "toolId": question.tool_id,
        "server": question.server,
        "title": question.title,
        "principal": question.principal,
        "client": question.client,
        "reason": question.reason,
        "state": question.state,
        "decidedBy": question.decided_by,
        "createdAt": _moment(question.created_at),
        "expiresAt": _moment(question.expires_at),
    }


def _call(facts: CallFacts) -> dict[str, Any]:
    every = asdict(facts)
    kept = ("description", "risk", "arguments")
    return {"upstreamName": facts.upstream_name, **{name: every[name] for name in kept}}


def _standing(question: KeptQuestion, now: float) -> str:
    decided = f" by {question.decided_by}" if question.decided_by else ""
    minutes = max(1, round((question.expires_at - now) / 60))
    return f"{question.state}{decided}, {count(minutes, 'minute')} left"


def _caller(asked: KeptQuestion | CallFacts) -> str:
    return f"{asked.principal}, through {asked.client}" if asked.client else asked.principal


def _risk(facts: CallFacts) -> str:
    others = [name.replace("_", " ") for name, value in facts.risk.items() if value is True and name != "destructive"]
    return ", ".join([facts.subject.risk_class, *others])


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
