from __future__ import annotations

import firewall_samples as samples
import orjson
import pytest
from inline_snapshot import snapshot

from toolcrib_core import count_tokens
from toolcrib_mcp.firewall import SELECTOR_TOKENS, ContentKind, content_kind, selectors_for, summarise
from toolcrib_mcp.views import read_selector, view

pytestmark = pytest.mark.req("GW-4.5")

HANDLE = "art_7gq2xk4mz5w3ab6c"


def line(content: bytes) -> str:
    kind = content_kind(content)
    return selectors_for(kind, summarise(content, kind).facts, HANDLE)


def parts(told: str) -> tuple[dict[str, object], str]:
    """The selector of the example, and what else is named."""
    example, _, also = told.removeprefix("tool_view ").partition("; also ")
    arguments = orjson.loads(example)
    assert arguments.keys() == {"handle", "selector"}
    assert arguments["handle"] == HANDLE
    return arguments["selector"], also


def test_the_line_is_a_call_and_what_else_there_is():
    told = selectors_for(ContentKind.IMAGE, {}, HANDLE)

    assert told == 'tool_view {"handle":"art_7gq2xk4mz5w3ab6c","selector":{"type":"raw"}}; also bytes.'


def test_records_are_looked_at_by_rows_and_columns():
    assert parts(line(samples.issue_list())) == snapshot(
        ({"type": "rows", "columns": ["id", "title", "state"], "count": 20}, "where, sort; pointer, path, search.")
    )


def test_an_api_answer_is_looked_at_by_the_rows_of_its_list():
    assert parts(line(samples.search_answer())) == snapshot(
        (
            {"type": "rows", "pointer": "/items", "columns": ["id", "title", "state"], "count": 20},
            "pointer, path, keys, shape, search.",
        )
    )


def test_an_object_is_looked_at_by_the_pointer_of_its_largest_branch():
    assert parts(line(samples.deployment())) == snapshot(
        ({"type": "pointer", "pointer": "/spec"}, "pointer, path, keys, shape, search.")
    )


def test_a_table_is_looked_at_by_rows_and_columns():
    assert parts(line(samples.orders())) == snapshot(
        ({"type": "rows", "columns": ["order", "placed", "customer"], "count": 20}, "where, sort; lines, search.")
    )


def test_a_log_is_looked_at_around_its_first_error():
    assert parts(line(samples.service_log())) == snapshot(
        ({"type": "lines", "start": 701, "end": 713}, "search, tail, head.")
    )


def test_a_log_without_errors_is_looked_at_from_its_end():
    assert parts(line(samples.access_log())) == snapshot(({"type": "tail", "lines": 40}, "search, tail, head."))


def test_text_is_looked_at_by_lines():
    assert parts(line(samples.PYTHON)) == snapshot(({"type": "lines", "start": 1, "end": 40}, "search, head, tail."))


@pytest.mark.parametrize("content", [b"x" * 20_000, b"{" + b"x" * 20_000])
def test_a_text_of_one_long_line_is_looked_at_by_characters(content):
    assert '{"type":"head","chars":2000}' in line(content)


def test_an_image_comes_back_as_itself():
    assert parts(selectors_for(ContentKind.IMAGE, {}, HANDLE)) == snapshot(({"type": "raw"}, "bytes."))


def test_binary_content_is_looked_at_by_bytes():
    assert parts(selectors_for(ContentKind.BINARY, {}, HANDLE)) == snapshot(
        ({"type": "bytes", "start": 0, "end": 256}, "raw.")
    )


@pytest.mark.parametrize("kind", ContentKind)
def test_without_facts_there_is_an_example_all_the_same(kind):
    selector, also = parts(selectors_for(kind, {}, HANDLE))

    assert isinstance(selector["type"], str)
    assert also


@pytest.mark.parametrize(
    "facts",
    [
        {"columns": [{"name": "x" * 64}, {"name": "a\\u202e"}, {"name": "Größe"}, {"name": 3}, "odd"]},
        {"columns": "odd"},
        {"columns": [{"name": "\u202e"}]},
    ],
)
def test_odd_names_are_not_used_in_the_example(facts):
    assert '"selector":{"type":"rows","count":20}' in selectors_for(ContentKind.RECORDS, facts, HANDLE)


def test_an_odd_pointer_is_not_used_in_the_example():
    facts = {"largest": [{"pointer": "/" + "x" * 90}, "odd", {"pointer": "/short"}], "rowsAt": "/ö"}

    assert '"pointer":"/short"' in selectors_for(ContentKind.JSON, facts, HANDLE)
    assert '"pointer":""' in selectors_for(ContentKind.JSON, {"largest": 3}, HANDLE)


def test_names_that_cost_too_much_are_left_out_of_the_example():
    columns = [{"name": "zq9_xk7_vv3_jj8_ww2_pp1"}] * 3

    told = selectors_for(ContentKind.RECORDS, {"columns": columns}, HANDLE)

    assert count_tokens(told) <= SELECTOR_TOKENS
    assert '"selector":{"type":"rows","count":20}' in told


def test_a_handle_that_costs_too_much_leaves_the_names_of_the_selectors():
    assert selectors_for(ContentKind.LOG, {}, "art_" + "9z" * 60) == "tool_view; selectors: search, tail, head."


@pytest.mark.parametrize(
    "content",
    [
        samples.issue_list(),
        samples.search_answer(),
        samples.deployment(),
        samples.orders(),
        samples.service_log(),
        samples.access_log(),
        samples.PYTHON,
        samples.HTML,
        samples.PROSE,
        b"x" * 20_000,
        b"3",
        b"\x89PNG\r\n\x1a\n",
        b"\0\1\2",
    ],
    ids=range(13),
)
def test_the_example_works(content):
    kind = content_kind(content)
    selector, _ = parts(selectors_for(kind, summarise(content, kind).facts, HANDLE))

    shown = view(content, kind, read_selector(selector), handle=HANDLE)

    assert shown.text or shown.block
