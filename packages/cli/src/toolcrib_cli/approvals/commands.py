"""The commands of `toolcrib approvals`: thin, so that help comes at once; what they do is imported when they run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import typer

from toolcrib_cli.options import JsonOption, about_a_catalogue

if TYPE_CHECKING:
    from toolcrib_cli.asking import Choice

IdArgument = Annotated[str, typer.Argument(metavar="ID", help="The id, as `toolcrib approvals list` has it.")]
PrincipalOption = Annotated[
    str | None, typer.Option("--principal", metavar="NAME", help="Only calls of this one; those of others are unknown.")
]

Lasting: TypeAlias = Literal["tool", "server", "session"]
"""What an answer is remembered for, beyond the call."""

app = typer.Typer(no_args_is_help=True)


@app.command("list")
@about_a_catalogue
def list_approvals(*, principal: PrincipalOption = None, as_json: JsonOption = False, choice: Choice) -> None:
    """List the calls that wait for an approval, and those that were decided and not made yet.

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

    Example: toolcrib approvals show K7Q --full
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
    always: Annotated[bool, typer.Option("--always", help="Always allow this tool.")] = False,
    server: Annotated[bool, typer.Option("--server", help="Always allow every tool of its server.")] = False,
    session: Annotated[bool, typer.Option("--session", help="Allow this tool for the client's session.")] = False,
    full: Annotated[bool, typer.Option("--full", help="Cut nothing of what is shown, however long it is.")] = False,
    principal: PrincipalOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with the approval itself.")] = False,
    choice: Choice,
) -> None:
    """Allow a call: it is shown, you are asked, and the client can then make it, once.

    With --always, --server or --session you are not asked again about this tool, every tool of its server that is no
    riskier, or this tool for the rest of the client's session.

    Example: toolcrib approvals grant K7Q --always
    """
    from toolcrib_cli.approvals.deciding import grant_call, note_decision
    from toolcrib_cli.approvals.opening import choice_with, opened_book

    named: dict[Lasting, bool] = {"tool": always, "server": server, "session": session}
    chosen = [each for each, is_chosen in named.items() if is_chosen]
    if len(chosen) > 1:
        raise typer.BadParameter("Only one of them can be given.", param_hint="--always, --server, --session")
    lasting: Lasting | None = chosen[0] if chosen else None
    choice = choice_with(choice, approval_id)
    with opened_book(choice) as book:
        decided = grant_call(
            book,
            approval_id,
            lasting=lasting,
            choice=choice,
            principal=principal,
            sure=yes,
            full=full,
            as_json=as_json,
        )
    note_decision(choice, decided)


@app.command()
@about_a_catalogue
def deny(
    approval_id: IdArgument,
    *,
    never: Annotated[bool, typer.Option("--never", help="Never allow this tool; no call of it asks again.")] = False,
    principal: PrincipalOption = None,
    as_json: JsonOption = False,
    choice: Choice,
) -> None:
    """Refuse a call: until it expires, the same call is refused without a question.

    Example: toolcrib approvals deny K7Q
    """
    from toolcrib_cli.approvals.deciding import deny_call, note_decision
    from toolcrib_cli.approvals.opening import choice_with, opened_book

    choice = choice_with(choice, approval_id)
    with opened_book(choice) as book:
        decided = deny_call(book, approval_id, never=never, choice=choice, principal=principal, as_json=as_json)
    note_decision(choice, decided)
