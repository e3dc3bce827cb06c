"""`toolcrib toolpack run`: one call of one tool, held to all that its file says."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from toolcrib_cli.call_arguments import read_arguments
from toolcrib_cli.decisions import this_person
from toolcrib_cli.edge import FAILED, tell_error
from toolcrib_cli.screen import print_json, print_text, printable, tell, working
from toolcrib_cli.toolpack.grants import Grants
from toolcrib_cli.toolpack.loading import load_tool
from toolcrib_core import JsonObject
from toolcrib_core.wording import quoted
from toolcrib_runtime import ToolCall, ToolResult
from toolcrib_runtime.errors import ApprovalRequired
from toolcrib_toolpacks import Toolpack, open_toolbox

if TYPE_CHECKING:
    from toolcrib_runtime import PendingApproval


def run_once(
    tool: str,
    pairs: Sequence[str],
    args: str | None,
    *,
    folders: Sequence[Path],
    grants: Grants,
    yes: bool,
    as_json: bool,
) -> int:
    """Call a tool, print what it returns, and give the exit code; with `yes` it runs without a question.

    Raises:
        ToolError: There is no such tool, its folder cannot be loaded, or the call was not allowed.
        BadParameter: The arguments cannot be read.
    """
    pack = load_tool(tool, folders)
    arguments = read_arguments(pairs, args, pack.input_schema)
    with working(f"Calling {pack.tool} …") as line:
        result = asyncio.run(_called(pack, arguments, grants, yes=yes, before_asking=line.stop))
    if as_json:
        print_json(result.to_dict())
    elif result.error is not None:
        tell_error(result.error)
    else:
        value = result.value
        print_text(value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False))
    return 0 if result.ok else FAILED


async def _called(
    pack: Toolpack, arguments: JsonObject, grants: Grants, *, yes: bool, before_asking: Callable[[], object]
) -> ToolResult:
    async with open_toolbox([pack], settings=grants.settings()) as toolbox:
        call = ToolCall(tool=pack.definition.id, arguments=arguments)
        result = await toolbox.execute(call)
        if result.action is None:
            return result
        if not yes and not _is_wanted(result.action, before_asking):
            raise ApprovalRequired(f"{quoted(pack.tool)} was not run, since you did not allow it.")
        return await toolbox.execute(call._replace(approval=toolbox.grant(result.action, by=this_person())))


def _is_wanted(pending: PendingApproval, before_asking: Callable[[], object]) -> bool:
    """Whether the person at the terminal allows the call.

    Raises:
        ApprovalRequired: There is no terminal.
    """
    if not sys.stdin.isatty():
        raise ApprovalRequired(
            f"{quoted(pending.tool_id)} needs approval before it runs: {pending.reason}.",
            hint="Nothing was run. Add `--yes` to allow this call.",
        )
    before_asking()
    tell(printable(pending.summary))
    tell(printable(f"Why you are asked: {pending.reason}."))
    return typer.confirm("Run it?", default=False, err=True)
