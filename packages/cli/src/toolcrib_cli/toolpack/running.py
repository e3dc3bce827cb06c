"""`toolcrib toolpack run`: one call of one tool, held to all that its file says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

from toolcrib_cli.call_arguments import read_arguments
from toolcrib_cli.edge import FAILED, tell_error
from toolcrib_cli.screen import print_json, print_text, working
from toolcrib_cli.toolpack.grants import Grants
from toolcrib_cli.toolpack.loading import load_tool
from toolcrib_core import JsonObject
from toolcrib_runtime import ToolCall, ToolResult
from toolcrib_toolpacks import Toolpack, open_toolbox


def run_once(tool: str, pairs: Sequence[str], args: str | None, *, folder: Path, grants: Grants, as_json: bool) -> int:
    """Call a tool, print what it returns, and give the exit code.

    Raises:
        ToolError: There is no such tool, or its folder cannot be loaded.
        BadParameter: The arguments cannot be read.
    """
    pack = load_tool(tool, folder)
    arguments = read_arguments(pairs, args, pack.input_schema)
    with working(f"Calling {pack.id} …"):
        result = asyncio.run(_called(pack, arguments, grants))
    if as_json:
        print_json(result.to_dict())
    elif result.error is not None:
        tell_error(result.error)
    else:
        value = result.value
        print_text(value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False))
    return 0 if result.ok else FAILED


async def _called(pack: Toolpack, arguments: JsonObject, grants: Grants) -> ToolResult:
    async with open_toolbox([pack], settings=grants.settings()) as toolbox:
        return await toolbox.execute(ToolCall(tool=pack.definition.id, arguments=arguments))
