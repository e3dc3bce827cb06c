from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolcrib_core import count_tokens
from toolcrib_mcp.firewall import SELECTOR_TOKENS, ContentKind, content_kind, selectors_for, summarise
from toolcrib_mcp.firewall.facts import FACTS_BYTES

pytestmark = pytest.mark.req("GW-4.5", "GW-7.3")

words = st.text(st.characters(codec="utf-8"), max_size=60)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | words
)
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(words, inner), max_leaves=40)
rows = st.lists(st.dictionaries(st.sampled_from(["id", "name", "a/b", "ключ", "\u202e"]) | words, values), min_size=1)
tables = st.lists(st.lists(words | st.sampled_from(["1", "2.5", "", "a,b", '"'])), min_size=1)
log_lines = st.tuples(st.sampled_from(["2024-05-01 12:00:00", "[ERROR]", "warn:", ' 200 "x" 404 1'])) | st.tuples(words)
documents = st.one_of(
    st.binary(max_size=400),
    words.map(str.encode),
    values.map(json.dumps).map(str.encode),
    rows.map(json.dumps).map(str.encode),
    tables.map(lambda table: "\n".join(",".join(row) for row in table).encode()),
    st.lists(
        st.tuples(
            st.sampled_from(["2024-05-01 12:00:00 ERROR ", "[info] ", "# ", "def a():", "<h1>", "+++ b", ""]), words
        )
    ).map(lambda lines: "\n".join(map("".join, lines)).encode()),
)
many = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@many
@given(content=documents, kind=st.sampled_from(ContentKind), budget=st.integers(0, 400))
def test_no_content_of_any_kind_exceeds_its_budget(content, kind, budget):
    assert count_tokens(summarise(content, kind, budget=budget).text) <= budget


@many
@given(content=documents, budget=st.sampled_from([20, 60, 300]))
def test_a_summary_is_visible_text_and_bounded_facts(content, budget):
    kind = content_kind(content)

    summary = summarise(content, kind, budget=budget)

    assert all(each == "\n" or each.isprintable() for each in summary.text)
    assert summary.text.encode("utf-8")
    assert len(orjson.dumps(summary.facts)) <= FACTS_BYTES
    assert summary == summarise(content, kind, budget=budget)


@many
@given(content=documents)
def test_the_line_about_selectors_is_one_short_line(content):
    kind = content_kind(content)

    line = selectors_for(kind, summarise(content, kind).facts, "art_7gq2xk4mz5w3ab6c")

    assert line.isprintable()
    assert count_tokens(line) <= SELECTOR_TOKENS


@many
@given(value=values)
def test_all_json_is_known_as_json_in_any_layout(value):
    for indent in (None, 2):
        content = json.dumps(value, indent=indent).encode()
        is_rows = isinstance(value, list) and value and all(isinstance(each, dict) for each in value)

        assert content_kind(content, "application/json") is (ContentKind.RECORDS if is_rows else ContentKind.JSON)


@many
@given(value=st.text(st.characters(codec="utf-8"), max_size=300))
def test_a_string_of_json_is_shown_as_a_whole_string_that_it_begins_with(value):
    text = summarise(json.dumps({"a": value}).encode(), ContentKind.JSON, budget=10_000).text

    shown = text.split("\n")[1].removeprefix("/a ")
    string, end = json.JSONDecoder().raw_decode(shown)
    assert value.startswith(string)
    assert shown[end:] in {"", "…", f"… {len(value)} characters"}
    assert (string == value) == (shown[end:] == "")


PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
import firewall_samples as samples
from toolcrib_mcp.firewall import content_kind, summarise
made = [samples.issue_list(), samples.orders(), samples.service_log(), samples.XML, samples.deployment(),
        b"a,b\\n1,x\\n01,y\\n1.0,z\\n1.00,x\\n"]
print([(kind, summarise(content, kind)) for content in made for kind in [content_kind(content)]])
"""


def test_summaries_do_not_depend_on_the_order_of_hashes():
    told = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM, str(Path(__file__).parent)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]

    assert told[0] == told[1] != b""
