"""The table says what a model was not shown: a handle alone is not a summary, and a refusal is not an approval."""

from __future__ import annotations

import pytest

from checks.client_report import judge, main, render
from tests.clients.dialogue import TOOLS, Call, Dialogue
from tests.clients.scenario import Scenario

pytestmark = pytest.mark.req("CL-23")

CARDS = """3 of 3 matches.
orders:list_orders#1df5fb60 — List all orders of the shop.
orders:show_order#ff0d9f6e — Show one order of the shop by its number. (needs number)
orders:delete_order#04a74cee — Delete an order of the shop for ever. (side effects) (needs number)"""
ROWS = '{"handle":"art_p722nkfolqtssrat","selector":{"type":"rows","count":20}}'
SUMMARY = f"""400 records with 4 fields, 31,071 bytes of JSON.
Fields:
customer string 101 distinct, e.g. "customer-37"
cents integer 1250…500000, all distinct
tool_view {ROWS}; also where, sort."""
ERROR = """{"error":"ARGS_INVALID","message":"`orders:show_order` needs the argument `number`, which is missing.",
"details":{"schema":{"properties":{"number":{"type":"integer"}}}}}"""
WAITING = '{"error":"APPROVAL_REQUIRED","hint":"A person can allow it with `toolcrib approvals grant K7Q`."}'
DELETED = "Order 7 was deleted from the shop."
SHOWN = [
    CARDS,
    '{"customer": "customer-37", "city": "Osaka"}',
    SUMMARY,
    '/19 20 | "customer-33"',
    ERROR,
    WAITING,
    DELETED,
]


def play(results: list[str]) -> tuple[Scenario, list[Call], list[str]]:
    """A model that is shown these results, one after the other."""
    granted: list[str] = []
    scenario = Scenario(granted.append, order=7)
    made = []
    for at in range(len(results) + 1):
        call = scenario.decide(Dialogue({tool: tool for tool in TOOLS}, results[:at]))
        if call is not None:
            made.append(call)
    return scenario, made, granted


def test_what_was_shown_as_it_was_written_is_seen() -> None:
    scenario, made, granted = play(SHOWN)

    row = judge("claude-code", "stdio", scenario.outcome(), "")

    assert set(row.cells.values()) == {"seen"}
    assert granted == ["K7Q"]
    assert made[3].arguments["handle"] == "art_p722nkfolqtssrat"
    assert (
        made[5] == made[6] == Call("tool_execute", {"tool_id": "orders:delete_order#04a74cee", "args": {"number": 7}})
    )


def test_an_escaped_result_is_seen_too() -> None:
    scenario, made, _ = play([each.replace('"', '\\"').replace("\n", "\\n") for each in SHOWN])

    assert scenario.outcome().missing == {}
    assert made[3].arguments["selector"] == {"type": "rows", "count": 20}


def test_a_client_that_shows_only_a_handle_fails_and_the_table_says_what_was_missing() -> None:
    only_structure = '{"artifacts":[{"handle":"art_c7xuoqqlqbln3vmw","kind":"records","size":6381}]}'
    scenario, _, _ = play([*SHOWN[:2], only_structure, "VIEW_FAILED", *SHOWN[4:]])

    row = judge("claude-code", "stdio", scenario.outcome(), "its last words")

    assert not row.is_good
    assert {cell for cell, shown in row.cells.items() if shown == "FAIL"} == {"large", "view"}
    assert "400 records with 4 fields" in row.reasons["large"]
    assert "its last words" in render([row])


def test_a_client_that_never_listed_the_tools_fails_in_every_cell() -> None:
    row = judge("codex", "http", Scenario(lambda _: None, order=7).outcome(), "")

    assert set(row.cells.values()) == {"FAIL"}


def test_a_form_that_was_answered_is_an_approval() -> None:
    scenario, made, granted = play([*SHOWN[:5], DELETED])

    row = judge("mcp-sdk", "stdio", scenario.outcome(), "")

    assert row.cells["approval"] == "seen (form)"
    assert (len(made), granted) == (6, [])


@pytest.mark.parametrize(("client", "shown"), [("codex", "known"), ("claude-code", "FAIL")])
def test_a_limit_is_known_of_the_client_that_has_it_and_of_no_other(client: str, shown: str) -> None:
    scenario, _, _ = play([*SHOWN[:5], '{"error":"POLICY_DENIED"}'])

    assert judge(client, "stdio", scenario.outcome(), "").cells["approval"] == shown


def test_an_approved_call_that_does_not_run_fails() -> None:
    scenario, _, _ = play([*SHOWN[:6], WAITING])

    assert "approved, and not run" in scenario.outcome().missing["approval"]


def test_the_clients_can_be_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0

    assert {"claude-code", "codex", "gemini-cli", "opencode"} <= set(capsys.readouterr().out.split())
