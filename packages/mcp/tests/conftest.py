"""What several tests of the gateway share: raw tools as servers list them, invented and real."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tests.real_parts import real_part_missing

RawTool: TypeAlias = dict[str, Any]
"""One tool of a `tools/list` result."""

_SHARED_CATALOG = Path(__file__).resolve().parents[3].parent / "shared" / "data" / "mcp-catalogs" / "catalog.jsonl"


@pytest.fixture(scope="session")
def raw_tool() -> Callable[..., RawTool]:
    """Makes a raw tool: its name, its parameters, and any further fields."""
    return _raw_tool


@pytest.fixture(scope="session")
def real_servers() -> dict[str, list[RawTool]]:
    """The tools of real servers, by server; they are not ours to copy, so they are read from beside the checkout."""
    if not _SHARED_CATALOG.is_file():
        real_part_missing("the catalogue of real MCP tools, `../shared/data/mcp-catalogs` beside this checkout")
    servers: dict[str, list[RawTool]] = {}
    for line in _SHARED_CATALOG.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        servers.setdefault(row["server"], []).append(row["tool"])
    return servers


def _raw_tool(name: str = "create_issue", *parameters: str, **fields: Any) -> RawTool:
    schema = {"type": "object", "properties": {each: {"type": "string"} for each in parameters}}
    return {"name": name, "description": f"Does {name}.", "inputSchema": schema, **fields}
