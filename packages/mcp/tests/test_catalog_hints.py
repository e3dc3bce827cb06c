"""Annotations come from servers: they may raise the risk of a tool, and lower it only where the server is trusted."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from toolcrib_core import ToolRisk, merge_risks
from toolcrib_mcp.catalog import Catalog, UpstreamTerms

_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
_ALL_HINTS = [
    {hint: value for hint, value in zip(_HINTS, values, strict=True) if value is not None}
    for values in product((None, True, False), repeat=4)
]


def _risk(annotations: object, *, trusted: bool = False) -> ToolRisk:
    catalog = Catalog()
    tool = {"name": "do", "inputSchema": {"type": "object"}, "annotations": annotations}
    catalog.update("fs", [tool], terms=UpstreamTerms(server="fs", trusted=trusted))
    return catalog.hydrate(catalog.snapshot().ids[0]).definition.risk


@pytest.mark.req("GW-8.3")
@pytest.mark.parametrize("annotations", _ALL_HINTS)
def test_no_hint_of_a_server_that_is_not_trusted_lowers_a_risk(annotations: dict[str, bool]) -> None:
    risk = _risk(annotations)

    assert merge_risks(risk, ToolRisk()) == risk


@pytest.mark.req("GW-8.3")
def test_hints_of_danger_are_believed_of_any_server() -> None:
    risk = _risk({"destructiveHint": True, "openWorldHint": True})

    assert risk == ToolRisk(destructive=True, external_network=True)


@pytest.mark.parametrize(
    ("annotations", "risk"),
    [
        ({}, ToolRisk()),
        ({"readOnlyHint": True}, ToolRisk(effects="read")),
        ({"readOnlyHint": True, "idempotentHint": True}, ToolRisk(effects="read", idempotent=True)),
        ({"readOnlyHint": False}, ToolRisk(effects="write", destructive=True)),
        ({"readOnlyHint": False, "destructiveHint": False}, ToolRisk(effects="write")),
        ({"readOnlyHint": True, "destructiveHint": True}, ToolRisk(effects="read", destructive=True)),
        ({"openWorldHint": True}, ToolRisk(external_network=True)),
        ({"readOnlyHint": "yes", "idempotentHint": 1}, ToolRisk()),
    ],
)
def test_a_trusted_server_is_taken_at_its_word_and_by_the_defaults_of_the_protocol(
    annotations: dict[str, Any], risk: ToolRisk
) -> None:
    assert _risk(annotations, trusted=True) == risk


@pytest.mark.req("GW-8.3")
def test_trust_given_later_is_applied_without_anything_from_the_server() -> None:
    catalog = Catalog()
    tools = [{"name": "do", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}]
    catalog.update("fs", tools)

    change = catalog.update("fs", tools, terms=UpstreamTerms(server="fs", trusted=True))

    assert change.replaced == catalog.snapshot().ids
    assert catalog.hydrate(catalog.snapshot().ids[0]).definition.risk.effects == "read"


@pytest.mark.fault("F10")
def test_a_flipped_annotation_changes_what_the_tool_says_about_itself() -> None:
    catalog = Catalog()
    tool = {"name": "do", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
    catalog.update("fs", [tool])
    before = catalog.hydrate(catalog.snapshot().ids[0]).definition.prose_digest

    catalog.update("fs", [{**tool, "annotations": {"readOnlyHint": False}}])

    assert catalog.hydrate(catalog.snapshot().ids[0]).definition.prose_digest != before
