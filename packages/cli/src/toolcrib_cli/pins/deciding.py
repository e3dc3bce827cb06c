"""`toolcrib pins approve` and `reset`: somebody decides about tools that have changed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from toolcrib_cli.decisions import note_decisions, this_person
from toolcrib_cli.edge import FAILED, tell_error
from toolcrib_cli.pins.differences import print_differences
from toolcrib_cli.screen import print_json, say, screen, tell
from toolcrib_core.wording import count, quoted
from toolcrib_mcp.errors import ConfigError, ToolChanged

if TYPE_CHECKING:
    from toolcrib_cli.asking import Choice
    from toolcrib_cli.pins.opening import OpenedPins, WaitingTool
    from toolcrib_mcp.audit import AuditEvent
    from toolcrib_mcp.pins import PinDesk

_PREFIX = "sha256:"


def approve_tools(
    choice: Choice,
    opened: OpenedPins,
    server: str | None,
    tool: str | None,
    *,
    every: bool,
    digest: str | None,
    sure: bool,
    as_json: bool,
) -> None:
    """Show what has changed, ask, and trust exactly that.

    Raises:
        ConfigError: It is not said which tools, nothing is pinned of them, or nobody is there to be asked.
        ToolChanged: The tool does not have the digest that was named.
        StoreError: The database failed.
    """
    _check_which(server, every=every, what="tools to approve")
    server, tool = opened.target(server, tool)
    waiting = opened.waiting(server, tool)
    _check_digest(waiting, digest)
    if not as_json:
        print_differences(waiting)
    if waiting and not sure:
        _ask(f"Trust {count(len(waiting), 'tool')} as shown?", as_json=as_json)
    approved = [each for each in waiting if opened.desk is not None and _approved(opened.desk, each)]
    refused = [each for each in waiting if each not in approved]
    note_decisions(choice, map(_event, approved))
    if as_json:
        print_json({"approved": [_told(each) for each in approved], "refused": [_told(each) for each in refused]})
    elif approved:
        say(screen(), f"{count(len(approved), 'tool')} approved. Whoever serves them notices in a few seconds.")
    if approved and opened.mode == "locked":
        tell("The lock file has them not yet: toolcrib pins lock")
    if refused:
        raise typer.Exit(FAILED)


def reset_pins(
    choice: Choice,
    opened: OpenedPins,
    server: str | None,
    tool: str | None,
    *,
    every: bool,
    sure: bool,
    as_json: bool,
) -> None:
    """Ask, and forget pins.

    Raises:
        ConfigError: It is not said which pins, nothing is pinned of the server, or nobody is there to be asked.
        StoreError: The database failed.
    """
    _check_which(server, every=every, what="pins to forget")
    server, tool = opened.target(server, tool)
    servers = [each.server for each in opened.servers(server)]
    if not sure:
        whose = quoted(tool) if tool else "everything" if server is None else f"all of {quoted(server)}"
        _ask(f"Forget what was trusted of {whose}, and trust what is listed next?", as_json=as_json)
    gone = 0 if opened.desk is None else sum(opened.desk.reset(each, tool) for each in servers)
    person = this_person()
    note_decisions(choice, [_reset_event(person, each, tool) for each in servers] if gone else [])
    if as_json:
        print_json({"reset": gone})
    else:
        say(screen(), f"{count(gone, 'pin')} forgotten.")


def _check_which(server: str | None, *, every: bool, what: str) -> None:
    if (server is None) != every:
        raise ConfigError(f"It is not said which {what}.", hint="Name a server, and a tool of it; or say `--all`.")


def _check_digest(waiting: list[WaitingTool], digest: str | None) -> None:
    if digest is None:
        return
    if len(waiting) != 1:
        raise ConfigError("A digest is that of one tool.", hint="Name the server and the tool.")
    if waiting[0].listed.digest != digest.removeprefix(_PREFIX):
        raise ToolChanged(
            f"{quoted(waiting[0].pin.tool)} has another digest now. Nothing was approved.",
            hint="Look at it again: `toolcrib pins diff`.",
        )


def _approved(desk: PinDesk, tool: WaitingTool) -> bool:
    try:
        desk.approve(tool.pin.server, tool.pin.tool, tool.listed.digest, by=this_person())
    except ToolChanged as failure:
        tell_error(failure)
        return False
    return True


def _event(tool: WaitingTool) -> AuditEvent:
    from toolcrib_mcp.audit import AuditEvent

    person, digest = this_person(), tool.listed.digest
    return AuditEvent(
        kind="pins",
        principal=person,
        server=tool.pin.server,
        tool=tool.pin.tool,
        definition=digest,
        decision="approved",
    )


def _reset_event(person: str, server: str, tool: str | None) -> AuditEvent:
    from toolcrib_mcp.audit import AuditEvent

    return AuditEvent(kind="pins", principal=person, server=server, tool=tool, decision="reset")


def _told(tool: WaitingTool) -> dict[str, str]:
    return {"server": tool.pin.server, "tool": tool.pin.tool, "digest": f"{_PREFIX}{tool.listed.digest}"}


def _ask(question: str, *, as_json: bool) -> None:
    if as_json or not sys.stdin.isatty():
        raise ConfigError("Nobody is there to be asked.", hint="Look at it with `toolcrib pins diff`, and say `--yes`.")
    if not typer.confirm(question, default=False, err=True):
        tell("Nothing was decided.")
        raise typer.Exit(FAILED)
