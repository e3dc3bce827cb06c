"""The packs of one owner are not there for another, by any action, id, name or page token."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from pack_cases import Bench, document, legend, section

from toolcrib_contextpacks import ContextPacks, PackNotFound
from toolcrib_contextpacks.document import LOCAL_OWNER
from toolcrib_core import Principal, ToolContext

pytestmark = [pytest.mark.fault("K9"), pytest.mark.req("CP-20")]

ALICE, BOB = (ToolContext(user=Principal(id=name)) for name in ("alice", "bob"))


def _called(packs: Bench, who: ToolContext | None, tool: str, **arguments: Any) -> Any:
    result = asyncio.run(packs.toolbox.call(tool, arguments, context=who))
    assert result.ok, result.error
    return result.value


def _kind(packs: Bench, who: ToolContext | None, tool: str, **arguments: Any) -> str:
    result = asyncio.run(packs.toolbox.call(tool, arguments, context=who))
    assert result.error is not None, result.value
    return str(json.loads(json.dumps(result.error.details))["contract"]["kind"])


def _write(packs: Bench, who: ToolContext | None, **more: Any) -> dict[str, Any]:
    written = _called(packs, who, "input", action="write", document=document(**more))
    found: dict[str, Any] = written["payload"]
    return found


def test_every_action_on_the_pack_of_another_finds_nothing(packs_anywhere: Bench) -> None:
    packs = packs_anywhere
    hers = _write(packs, ALICE, name="plan", title="Hers")

    for which in ({"id": hers["id"]}, {"name": "plan"}, {"name": hers["id"]}):
        for who in (BOB, None):
            assert _kind(packs, who, "output", action="read", **which) == "not_found"
            assert _kind(packs, who, "input", action="get", **which) == "not_found"
            assert _kind(packs, who, "input", action="ttl", ttl_minutes=5, **which) == "not_found"
            assert _kind(packs, who, "input", action="delete", **which) == "not_found"
            for only in (True, False):
                write = {"document": document(), "expected_revision": 1, "validate_only": only, **which}
                assert _kind(packs, who, "input", action="write", **write) == "not_found"
    for who in (BOB, None):
        for more in ({}, {"query": "hers"}, {"status": "draft"}):
            assert _called(packs, who, "input", action="list", **more)["payload"]["packs"] == []
        assert hers["id"] not in _called(packs, who, "output", action="list")
    assert _called(packs, ALICE, "input", action="get", id=hers["id"])["payload"]["revision"] == 1


def test_a_page_token_of_another_leads_nowhere(packs: Bench) -> None:
    long = [section(f"part-{number}", "word " * 400) for number in range(6)]
    hers = _called(packs, ALICE, "input", action="write", document=document(*long))["payload"]
    page = _called(packs, ALICE, "output", action="read", id=hers["id"], profile="reviewer", limit=2)
    token = legend(page)["next_page_token"].strip("`")

    assert _kind(packs, BOB, "output", action="read", id=hers["id"], page_token=token) == "not_found"
    assert "part-" in _called(packs, ALICE, "output", action="read", id=hers["id"], page_token=token)
    his = _called(packs, BOB, "input", action="write", document=document(*long))["payload"]
    assert _kind(packs, BOB, "output", action="read", id=his["id"], page_token=token) == "validation"


def test_a_name_is_free_for_every_owner_and_taken_within_one(packs_anywhere: Bench) -> None:
    packs = packs_anywhere
    hers, his, local = (_write(packs, who, name="plan") for who in (ALICE, BOB, None))

    assert len({each["id"] for each in (hers, his, local)}) == 3
    for who, own in ((ALICE, hers), (BOB, his), (None, local)):
        assert _called(packs, who, "input", action="get", name="plan")["payload"]["id"] == own["id"]
        assert _kind(packs, who, "input", action="write", document=document(name="plan")) == "conflict"
        again = {"action": "write", "document": document(name="plan"), "validate_only": True}
        assert _kind(packs, who, "input", **again) == "conflict"


def test_an_owner_keeps_a_pack_whoever_changes_it_as_the_operator(packs: Bench) -> None:
    hers = packs.packs.of("alice").write(document(name="plan")).pack
    assert (hers.owner, packs.packs.write(document()).pack.owner) == ("alice", LOCAL_OWNER)

    changed = packs.packs.write(document(title="Reviewed"), pack_id=hers.id, expected_revision=1).pack
    assert changed.owner == "alice"
    assert packs.packs.of("alice").get(name="plan").document.title == "Reviewed"
    assert len(packs.packs.list().packs) == 2
    packs.packs.ttl(pack_id=hers.id, ttl_minutes=5)
    packs.packs.set_status("finalized", pack_id=hers.id)
    assert packs.packs.adopt(packs.packs.get(pack_id=hers.id)).owner == "alice"
    assert [each.id for each, _ in packs.packs.of("alice").list().packs] == [hers.id]


def test_a_pack_from_elsewhere_is_of_whoever_takes_it(packs: Bench) -> None:
    made = packs.packs.of("alice").write(document()).pack
    packs.packs.delete(pack_id=made.id)

    assert packs.packs.of("bob").adopt(made).owner == "bob"
    with pytest.raises(PackNotFound):
        packs.packs.of("alice").get(pack_id=made.id)


def test_a_row_that_was_given_to_another_owner_is_not_believed(packs: Bench) -> None:
    made = packs.packs.of("alice").write(document()).pack
    with packs.store.writing() as connection:
        connection.exec_driver_sql("UPDATE packs SET owner = 'bob'")

    assert _kind(packs, BOB, "output", action="read", id=made.id) == "deserialize_error"
    assert _called(packs, BOB, "input", action="list")["payload"].get("quarantined", 0) == 0
    assert packs.packs.list().quarantined == 1


def test_one_view_of_an_owner_does_not_change_another(packs: Bench) -> None:
    hers, his = packs.packs.of("alice"), packs.packs.of("bob")
    assert isinstance(hers, ContextPacks)
    made = hers.write(document()).pack

    assert his.of("alice").get(pack_id=made.id) == made
    with pytest.raises(PackNotFound):
        his.get(pack_id=made.id)
