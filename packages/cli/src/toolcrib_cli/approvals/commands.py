"""The commands of `toolcrib approvals`: thin, so that help comes at once; what they do is imported when they run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from toolcrib_cli.options import JsonOption, about_a_catalogue

if TYPE_CHECKING:
    from toolcrib_cli.asking import Choice

IdArgument = Annotated[str, typer.Argument(metavar="ID", help="The id, as `toolcrib approvals list` has it.")]
PrincipalOption = Annotated[
    str | None, typer.Option("--principal", metavar="NAME", help="Only calls of this one; those of others are unknown.")
]

app = typer.Typer(no_args_is_help=True)


@app.command("list")
@about_a_catalogue
def list_approvals(*, principal: PrincipalOption = None, as_json: JsonOption = False, choice: Choice) -> None:
    """List the calls that wait, and those that were decided and not made yet.

    Example: toolcrib approvals list
    """
    from toolcrib_cli.approvals.opening import opened_book, waiting_elsewhere
    from toolcrib_cli.approvals.showing import show_list, tell_others

    with opened_book(choice) as book:
        show_list(book, principal=principal, as_json=as_json)
    tell_others(waiting_elsewhere(choice))


@app.command()
@about_a_catalogue
def show(
    approval_id: IdArgument,
    *,
    full: Annotated[bool, typer.Option("--full", help="Cut nothing, however long it is.")] = False,
    principal: PrincipalOption = None,
    as_json: JsonOption = False,
    choice: Choice,
) -> None:
    """Show exactly what would run.

    Example: toolcrib approvals show apr_5f0c --full
    """
    from toolcrib_cli.approvals.opening import choice_with, opened_book
    from toolcrib_cli.approvals.showing import show_one

    choice = choice_with(choice, approval_id)
    with opened_book(choice) as book:
        show_one(book, approval_id, principal=principal, full=full, as_json=as_json)


@app.command()
@about_a_catalogue
def grant(
    approval_id: IdArgument,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Allow it without being asked again.")] = False,
    full: Annotated[bool, typer.Option("--full", help="Cut nothing of what is shown, however long it is.")] = False,
    principal: PrincipalOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with the approval itself.")] = False,
    choice: Choice,
) -> None:
    """Allow a call, once: it is shown, you are asked, and then whoever asked for it can make it.

    Example: toolcrib approvals grant apr_5f0c
    """
    from toolcrib_cli.approvals.deciding import grant_call, note_decision
    from toolcrib_cli.approvals.opening import choice_with, opened_book

    choice = choice_with(choice, approval_id)
    with opened_book(choice) as book:
        decided = grant_call(book, approval_id, principal=principal, sure=yes, full=full, as_json=as_json)
    note_decision(choice, decided)


@app.command()
@about_a_catalogue
def deny(
    approval_id: IdArgument, *, principal: PrincipalOption = None, as_json: JsonOption = False, choice: Choice
) -> None:
    """Refuse a call: until its time is over, the same call is refused without asking anybody.

    Example: toolcrib approvals deny apr_5f0c
    """
    from toolcrib_cli.approvals.deciding import deny_call, note_decision
    from toolcrib_cli.approvals.opening import choice_with, opened_book

    choice = choice_with(choice, approval_id)
    with opened_book(choice) as book:
        decided = deny_call(book, approval_id, principal=principal, as_json=as_json)
    note_decision(choice, decided)
