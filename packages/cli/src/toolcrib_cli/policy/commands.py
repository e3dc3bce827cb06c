"""The commands of `toolcrib policy`: thin, so that help comes at once; what they do is imported when they run."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toolcrib_cli.options import JsonOption, TimeoutOption, about_a_catalogue

if TYPE_CHECKING:
    from toolcrib_cli.asking import Choice
    from toolcrib_runtime import Decision

TargetArgument = Annotated[
    str,
    typer.Argument(
        metavar="SERVER[:TOOL]", help="A server, or tools of it; both may have `*` and `?`, as in `github:delete_*`."
    ),
]
ReasonOption = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="Why; shown to the model, and to the person who is asked.", show_default=False),
]
ForOption = Annotated[
    str | None,
    typer.Option("--principal", metavar="NAME", help="Only for this one; may have `*`.", show_default=False),
]


class Risk(StrEnum):
    """What a tool may do."""

    NONE = "none"
    READ = "read"
    WRITE = "write"
    DESTRUCTIVE = "destructive"
    UNKNOWN = "unknown"


RiskOption = Annotated[
    list[Risk] | None,
    typer.Option(
        metavar="RISK",
        help=f"Only for tools of this risk ({', '.join(Risk)}); may be repeated.",
        show_default=False,
    ),
]

app = typer.Typer(no_args_is_help=True)


@app.command()
@about_a_catalogue
def show(*, as_json: JsonOption = False, choice: Choice) -> None:
    """Show the rules, limits and budgets that count, and the remembered answers.

    Example: toolcrib policy show
    """
    from toolcrib_cli.policy.showing import show_policy

    show_policy(choice, as_json=as_json)


@app.command()
@about_a_catalogue
def explain(
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="The id of a tool, or its name where only one has it.")],
    *,
    principal: Annotated[
        str | None, typer.Option(metavar="NAME", help="Who would call; without it, the user of this machine.")
    ] = None,
    timeout: TimeoutOption = 30,
    as_json: JsonOption = False,
    choice: Choice,
) -> None:
    """Say whether a tool may run, which rules say so, and what would change it.

    A server is started only if its tools are not known from before.

    Example: toolcrib policy explain github:create_issue --principal ci-1
    """
    from toolcrib_cli.policy.explaining import explain_tool

    explain_tool(choice, tool, principal=principal, timeout=timeout, as_json=as_json)


@app.command()
@about_a_catalogue
def check(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE", help="A policy file; without it, that of the configuration.", show_default=False
        ),
    ] = None,
    *,
    as_json: JsonOption = False,
    choice: Choice,
) -> None:
    """Look for mistakes in a policy file; the exit code is 2 if it cannot be used.

    Example: toolcrib policy check toolcrib.policy.toml
    """
    from toolcrib_cli.policy.checking import check_policy

    raise typer.Exit(check_policy(choice, file, as_json=as_json))


@app.command()
@about_a_catalogue
def forget(
    answers: Annotated[
        list[str],
        typer.Argument(
            metavar="ID|SERVER[:TOOL]",
            help="Answers, as `toolcrib policy show` lists them.",
            default_factory=list,
            show_default=False,
        ),
    ],
    *,
    every: Annotated[bool, typer.Option("--all", help="All remembered answers.")] = False,
    as_json: JsonOption = False,
    choice: Choice,
) -> None:
    """Take back answers that were remembered: you are asked again.

    Example: toolcrib policy forget K7Q
    """
    from toolcrib_cli.policy.showing import forget as forget_answers

    forget_answers(choice, answers, every=every, as_json=as_json)


def _command_that_adds(decision: Decision, *, about: str) -> None:
    @about_a_catalogue
    def add(
        target: TargetArgument,
        *,
        reason: ReasonOption = None,
        risk: RiskOption = None,
        principal: ForOption = None,
        as_json: JsonOption = False,
        choice: Choice,
    ) -> None:
        from toolcrib_cli.policy.adding import add_rule

        add_rule(choice, decision, target, reason=reason, risks=risk or (), principal=principal, as_json=as_json)

    app.command(decision, help=about)(add)


_command_that_adds(
    "allow",
    about="""Add a rule that lets tools run without a question.

    Rules that deny, or that ask about the same tools, count more.

    Example: toolcrib policy allow github --risk read --risk write
    """,
)
_command_that_adds(
    "ask",
    about="""Add a rule that asks you before tools run, each time.

    Example: toolcrib policy ask github --risk write --risk unknown
    """,
)
_command_that_adds(
    "deny",
    about="""Add a rule that keeps tools from running.

    Example: toolcrib policy deny github:delete_* --reason "nothing is deleted here"
    """,
)
