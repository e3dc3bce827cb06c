"""`toolcrib toolpack list` and `show`: what tool files say."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolcrib_cli.screen import print_json, printable, say, screen
from toolcrib_cli.toolpack.loading import load_folders, load_tool
from toolcrib_toolpacks import Toolpack, permissions

if TYPE_CHECKING:
    from toolcrib_cli.toolpack.grants import Grants


def run_list(folders: Sequence[Path], *, grants: Grants, as_json: bool) -> None:
    """Print the tools of folders, and what each may do.

    Raises:
        ToolpackValidationError: Something is wrong with them.
    """
    packs, granted = load_folders(folders), grants.path_grants()
    if as_json:
        print_json({"toolpacks": [_summary(each, permissions(each, granted)) for each in packs]})
        return
    from rich.table import Table

    console = screen()
    if not packs:
        say(console, "There are no `*.tool.yaml` files here. Begin one: toolcrib toolpack new python text.greet")
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("tool", "version", "kind", "effects", "what it does", "what it may do"):
        table.add_column(heading, overflow="fold")
    for each in packs:
        definition = each.definition
        what = definition.title or definition.description.partition("\n")[0]
        may = "; ".join(permissions(each, granted))
        row = (each.tool, each.version, each.execution.kind, definition.risk.effects, what, may)
        table.add_row(*(printable(text) for text in row))
    console.print(table)


def run_show(tool: str, *, folders: Sequence[Path], as_json: bool) -> None:
    """Print all that a tool file says.

    Raises:
        ToolError: There is no such tool, or its folder cannot be loaded.
    """
    pack = load_tool(tool, folders)
    told: dict[str, Any] = pack.model_dump(mode="json", by_alias=True, exclude_none=True)
    if as_json:
        print_json(told | {"file": pack.file, "toolId": pack.definition.id, "effectiveRisk": risk_json(pack)})
        return
    console = screen()
    say(console, f"{pack.tool} {pack.version} ({pack.execution.kind}), {pack.file}", style="bold")
    for text in (pack.title or pack.name, pack.description):
        if text:
            say(console, text)
    for key in ("execution", "limits", "caps", "env", "templating", "examples", "searchCases", "tags", "metadata"):
        if told.get(key):
            say(console, f"{key}: {json.dumps(told[key], ensure_ascii=False)}")
    say(console, f"risk: {json.dumps(risk_json(pack))}")
    say(console, f"timeoutMs: {pack.timeout_ms}, deterministic: {str(pack.deterministic).lower()}")
    for key in ("inputSchema", "outputSchema"):
        say(console, f"{key}:")
        for line in json.dumps(told[key], indent=2, ensure_ascii=False).splitlines():
            say(console, line.lstrip(" "), indent=2 + len(line) - len(line.lstrip(" ")))
    say(console, f"contentHash: {pack.content_hash}")


def risk_json(pack: Toolpack) -> dict[str, Any]:
    """The risk of a pack with what its capabilities add."""
    return pack.definition.risk.model_dump(mode="json", by_alias=True)


def _summary(pack: Toolpack, may: Sequence[str]) -> dict[str, Any]:
    return {
        "id": pack.id,
        "tool": pack.tool,
        "version": pack.version,
        "kind": pack.execution.kind,
        "title": pack.definition.title,
        "description": pack.description,
        "file": pack.file,
        "toolId": pack.definition.id,
        "risk": risk_json(pack),
        "permissions": list(may),
        "contentHash": pack.content_hash,
    }
