"""`toolcrib doctor`: everything that toolcrib needs, looked at in turn; what is broken comes with what to do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rich.console import Console
from rich.text import Text

from toolcrib_cli.asking import Choice, asked_for
from toolcrib_cli.doctor_checks import (
    Check,
    Verdict,
    check_config,
    check_database,
    check_environment,
    check_limits,
    check_parts,
    check_python,
    check_questions,
    check_sandbox,
    check_sandboxes,
    check_servers,
    check_state,
    check_toolpacks,
    check_tools,
    check_toolsets,
    check_vocabulary,
)
from toolcrib_cli.edge import FAILED
from toolcrib_cli.screen import print_json, printable, say, screen
from toolcrib_cli.status_command import status_of
from toolcrib_core import ToolError
from toolcrib_core.wording import count

_MARKS: Final[dict[Verdict, tuple[str, str]]] = {
    "ok": ("ok", "green"),
    "note": ("note", "cyan"),
    "warning": ("warn", "yellow"),
    "broken": ("FAIL", "bold red"),
}
_LEAST: Final = 20


def run_doctor(*, choice: Choice, timeout: float, as_json: bool) -> int:
    """Print what was found, and give the exit code: 1 if something is broken."""
    found = list(_checks(choice, timeout=timeout))
    broken = [each.name for each in found if each.verdict == "broken"]
    if as_json:
        print_json({"ok": not broken, "checks": [each.to_json() for each in found]})
    else:
        _show(found, broken, screen())
    return FAILED if broken else 0


def _checks(choice: Choice, *, timeout: float) -> Iterator[Check]:
    yield check_python()
    yield check_parts()
    yield check_sandbox()
    yield check_vocabulary()
    try:
        asked = asked_for(choice, quietly=True)
        yield check_config(asked)
        yield check_state(asked)
        yield check_database(asked)
        toolsets = check_toolsets()
        if toolsets is not None:
            yield toolsets
        if asked.toolpacks:
            yield check_toolpacks(asked)
        report = status_of(asked, timeout=timeout)
    except ToolError as failure:
        said, hint = failure.message, failure.hint or ""
        yield Check(name="configuration", verdict="broken", said=said, hint=hint, details=failure.to_dict())
        return
    yield from check_servers(asked.config, report)
    yield check_limits(asked.config)
    yield from check_sandboxes(asked.config, report)
    yield from check_environment(asked.config)
    yield from check_questions(report)
    yield check_tools(report)


def _show(found: list[Check], broken: list[str], console: Console) -> None:
    width = max(len(each.name) for each in found) + 2
    for each in found:
        mark, style = _MARKS[each.verdict]
        console.print(Text.assemble((f"{mark:6}", style), each.name.ljust(width)), end="")
        said = Text(printable(each.said))
        indent = len(f"{mark:6}") + width
        lines = said.wrap(console, max(_LEAST, console.width - indent)) if console.is_terminal else [said]
        for number, line in enumerate(lines):
            console.print(line if number == 0 else Text(" " * indent) + line, soft_wrap=True)
        for hint in each.hint.splitlines():
            say(console, hint, indent=indent, style="dim")
    console.print()
    if broken:
        console.print(f"{count(len(broken), 'thing is', 'things are')} broken: {', '.join(broken)}.", style="red")
    else:
        console.print("Nothing is broken.")
