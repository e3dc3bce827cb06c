"""Calls as earlier contracts had them, and arguments that are none."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pack_cases import Bench, document

pytestmark = pytest.mark.req("CP-3", "CP-12")


@pytest.mark.parametrize(
    "action", ["create", "upsert_section", "upsert_ref", "delete_diagram", "set_status", "set_meta"]
)
@pytest.mark.req("D2-2j", "D2-2k")
def test_an_action_that_changed_a_part_is_a_write_of_the_document_now(packs: Bench, action: str) -> None:
    error = packs.refused("input", action=action, id="pk_abcd2345", section_key="scope")

    assert "use action='write' with `document`" in error["message"]
    assert error["details"]["supported_field"] == "document"
    assert error["details"]["legacy_mapping"] == {action: "write"}


@pytest.mark.req("D2-2f")
def test_an_operation_is_answered_with_the_operations_that_are_left(packs: Bench) -> None:
    error = packs.refused("input", action="write", op="upsert_section", document=document())

    assert (error["details"]["requested_op"], error["details"]["allowed_ops"]) == ("upsert_section", [])


@pytest.mark.req("D2-2i")
@pytest.mark.parametrize(
    "arguments",
    [{"action": "upsert_ref"}, {"action": "write", "op": "x"}, {"action": "delete"}, {"action": "list", "limit": "5"}],
    ids=["action", "op", "pack", "type"],
)
def test_the_same_mistake_is_answered_in_the_same_way(packs: Bench, arguments: dict[str, Any]) -> None:
    first, second = (packs.refused("input", **arguments) for _ in range(2))

    assert first.pop("request_id") != second.pop("request_id")
    assert first == second


@pytest.mark.parametrize(("action", "now"), [("touch_ttl", "ttl"), ("delete_pack", "delete")])
def test_an_action_that_has_another_name_says_which(packs: Bench, action: str, now: str) -> None:
    assert packs.refused("input", action=action)["details"]["legacy_mapping"] == {action: now}


@pytest.mark.parametrize(
    "field",
    "op snapshot section_key section_title section_description section_order ref_key ref_title ref_why path line_start "
    "line_end group diagram_key mermaid diagram_why title brief tags status ttl_minutes".split(),
)
@pytest.mark.req("D2-1d", "D2-1e", "D2-2m")
def test_a_field_that_is_part_of_the_document_now_says_so(packs: Bench, field: str) -> None:
    error = packs.refused("input", action="write", document=document(), **{field: "draft"})

    assert error["details"]["unsupported_field"] == field
    assert error["details"]["supported_field"] == "document"
    assert packs.input("list")["count"] == 0


@pytest.mark.req("D2-6g", "D2-7.61d", "D2-7.73b", "D2-7.73c")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"action": "get", "id": "pk_abcd2345"}, {"action": "read", "id": "pk_abcd2345"}),
        ({"action": "read", "name": "n1x", "mode": "full"}, {"action": "read", "name": "n1x", "profile": "reviewer"}),
        (
            {"action": "read", "name": "n1x", "mode": "compact"},
            {"action": "read", "name": "n1x", "profile": "orchestrator"},
        ),
        ({"action": "get", "id": "pk_abcd2345", "limit": 3}, {"action": "read", "id": "pk_abcd2345", "limit": 3}),
        ({"action": "read", "match": "x"}, {"action": "read", "contains": "x"}),
        ({"action": "read", "cursor": "x"}, {"action": "read", "page_token": "<page_token>"}),
    ],
)
def test_an_old_read_is_answered_with_the_new_one(packs: Bench, old: dict[str, Any], new: dict[str, Any]) -> None:
    assert packs.refused("output", **old)["details"]["suggested_arguments"] == new


@pytest.mark.parametrize("given", ["{", "[]", "5"])
def test_arguments_that_are_no_object_are_refused_in_the_words_of_the_contract(packs: Bench, given: str) -> None:
    error = asyncio.run(packs.toolbox.call("input", given)).error

    assert error is not None
    contract = error.details["contract"]
    assert isinstance(contract, dict)
    assert (contract["kind"], contract["code"]) == ("validation", "invalid_data")
