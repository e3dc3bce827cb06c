"""What several tests of core share: catalogues of MCP tools, and definitions made of their rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tests.real_parts import real_part_missing
from toolcrib_core.definition import ToolDefinition
from toolcrib_core.risk import ToolRisk, merge_risks
from toolcrib_core.schema.relax import relax_patterns
from toolcrib_core.upstream_names import upstream_identity

CatalogRow: TypeAlias = dict[str, Any]
"""One tool as a server lists it: `{"server": name, "tool": {"name", "description", "inputSchema", …}}`."""

_HERE = Path(__file__).resolve().parent
_OWN_CATALOG = _HERE / "corpus" / "tools.jsonl"
_SHARED_CATALOG = _HERE.parents[2].parent / "shared" / "data" / "mcp-catalogs" / "catalog.jsonl"


@pytest.fixture(scope="session")
def own_catalog() -> list[CatalogRow]:
    """Our own corpus: invented servers, with the oddities of real ones."""
    return _read_rows(_OWN_CATALOG)


@pytest.fixture(scope="session")
def shared_catalog() -> list[CatalogRow]:
    """Tools of real servers; they are not ours to copy, so they are read from beside the checkout."""
    if not _SHARED_CATALOG.is_file():
        real_part_missing("the catalogue of real MCP tools, `../shared/data/mcp-catalogs` beside this checkout")
    return _read_rows(_SHARED_CATALOG)


@pytest.fixture(scope="session")
def own_definitions(own_catalog: list[CatalogRow]) -> list[ToolDefinition]:
    """The definitions of our own corpus; all of them can be used."""
    return [_define_mcp_tool(row) for row in own_catalog]


@pytest.fixture(scope="session")
def shared_definitions(shared_catalog: list[CatalogRow]) -> list[ToolDefinition]:
    """The definitions of the real servers, all of them."""
    return [_define_mcp_tool(row) for row in shared_catalog]


@pytest.fixture(scope="session")
def define_mcp_tool() -> Callable[[CatalogRow], ToolDefinition]:
    """Turns a row of a catalogue into a definition, as a gateway with that server configured would."""
    return _define_mcp_tool


def _define_mcp_tool(row: CatalogRow) -> ToolDefinition:
    tool = row["tool"]
    input_schema, input_loss = relax_patterns(tool["inputSchema"], pointer="/inputSchema")
    output_schema, output_loss = relax_patterns(tool.get("outputSchema", {}), pointer="/outputSchema")
    version = tool.get("_meta", {}).get("version")
    return ToolDefinition(
        identity=upstream_identity(tool["name"], server=row["server"], version=version),
        upstream_name=tool["name"],
        title=tool.get("title"),
        description=tool.get("description", ""),
        input_schema=input_schema,
        output_schema=output_schema if "outputSchema" in tool else None,
        risk=_risk_of(tool.get("annotations", {})),
        metadata={key: tool[key] for key in ("annotations", "_meta") if key in tool},
        lossy=(*input_loss, *output_loss),
    )


def _risk_of(hints: dict[str, Any]) -> ToolRisk:
    hinted = ToolRisk(
        effects="read" if hints.get("readOnlyHint") else "write",
        destructive=bool(hints.get("destructiveHint")),
        idempotent=bool(hints.get("idempotentHint")),
        external_network=bool(hints.get("openWorldHint")),
    )
    return merge_risks(ToolRisk(), hinted)


def _read_rows(path: Path) -> list[CatalogRow]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
