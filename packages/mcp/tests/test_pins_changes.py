"""What changed is told field by field: in full for people, and in closed words for models."""

from __future__ import annotations

from typing import Any

import pytest
from pin_cases import READ

from toolcrib_mcp import pins
from toolcrib_mcp.pins import WithheldTool, changes_between

pytestmark = pytest.mark.req("GW-8.1")


def test_fields_come_in_the_order_of_the_protocol_and_unknown_ones_last() -> None:
    before = {"name": "a", "zeta": 1, "title": "A", "_meta": {"x": 1}}
    after = {"name": "b", "alpha": 1, "description": "B", "_meta": {"x": 2}}

    changes = changes_between(before, after)

    assert [(each.field, each.kind) for each in changes] == [
        ("name", "changed"),
        ("title", "removed"),
        ("description", "added"),
        ("alpha", "added"),
        ("zeta", "removed"),
    ]
    assert [each.told() for each in changes][:3] == [
        {"field": "name", "change": "changed", "before": "a"},
        {"field": "title", "change": "removed", "before": "A"},
        {"field": "description", "change": "added"},
    ]


def test_a_boolean_in_place_of_a_number_is_a_change() -> None:
    assert changes_between({"x": 1}, {"x": 1.0}) == ()
    assert len(changes_between({"x": 1}, {"x": True})) == 1


def test_a_schema_says_what_its_change_means_for_callers() -> None:
    stricter = {**READ["inputSchema"], "required": ["path", "lines"]}

    (change,) = changes_between(READ, {**READ, "inputSchema": stricter})

    assert change.words == ("required-added (breaking)",)
    assert change.notes
    assert change.before.startswith("{\n")


@pytest.mark.parametrize("schema", [{"type": "nothing"}, {"properties": 5}, "text", None, {"$ref": "#"}])
def test_a_schema_that_cannot_be_compared_is_shown_all_the_same(schema: Any) -> None:
    (change,) = changes_between(READ, {**READ, "inputSchema": schema})

    assert change.field == "inputSchema"
    assert change.after


def test_hints_are_told_one_by_one_and_other_objects_are_not_looked_into() -> None:
    before = {"annotations": {"readOnlyHint": True, "idempotentHint": True}, "execution": {"a": 1}}
    after = {"annotations": {"readOnlyHint": "yes", "destructiveHint": False}, "execution": {"a": 2}}

    annotations, execution = changes_between(before, after)

    assert annotations.words == (
        "readOnlyHint: true → no boolean",
        "destructiveHint: not said → false",
        "idempotentHint: true → not said",
    )
    assert execution.told() == {"field": "execution", "change": "changed"}


def test_a_change_of_what_is_no_part_of_the_protocol_is_told_without_its_name() -> None:
    tool = WithheldTool(
        server="files", name="read", reason="changed", listed=b'{"name":"read","do_it":1}', pinned=b'{"name":"read"}'
    )

    assert "in a field that is no part of the protocol" in tool.explained("read")
    assert tool.refusal("files:read").details["diff"] == [{"field": "another field", "change": "added"}]


def test_every_public_name_of_pins_is_there() -> None:
    assert all(getattr(pins, name) is not None for name in pins.__all__)
    assert set(pins.__all__) <= set(dir(pins))
