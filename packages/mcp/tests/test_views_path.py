"""`tool_view` with a JSONPath; what the paths themselves mean is tested in the runtime."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from view_cases import attempted, pages, refusal, seen

from toolcrib_core.schema.pointers import pointer_of
from toolcrib_mcp.errors import ViewFailed
from toolcrib_mcp.firewall.kinds import ContentKind
from toolcrib_runtime.json_paths import find_values, parse_json_path

pytestmark = pytest.mark.req("GW-4.6")

STORE = {"store": {"book": [{"title": each, "price": 8} for each in "ABCD"], "bicycle": {"odd name": 1}}}


@pytest.mark.fault("G3")
@pytest.mark.parametrize(
    ("path", "character"),
    [("a.b", 1), ("$.a; import os", 4), ("$.__class__()", 12), ("$[?@.a =~ /x/]", 8), ("$.a[", 5)],
)
def test_a_path_that_is_none_is_refused_with_the_place_and_an_example(path, character):
    error = refusal(json.dumps(STORE), {"type": "path", "path": path}, ContentKind.JSON)

    assert f"not understood at character {character}:" in error.message
    assert "For example" in str(error.hint)


@pytest.mark.fault("G3")
@pytest.mark.parametrize("path", ["$..*..*..*..*", "$[*][?(@.a == 1)]", "$..a"])
def test_a_path_that_would_look_at_too_much_is_refused(path, monkeypatch):
    monkeypatch.setattr("toolcrib_runtime.json_paths.walking.MAX_VISITED", 50)

    error = refusal(json.dumps([[1, 2, 3]] * 30), {"type": "path", "path": path}, ContentKind.JSON)

    assert "more than 50 values" in error.message
    assert "Or use `rows` or `search`. For example" in str(error.hint)


def test_values_come_behind_their_pointers():
    answer = seen(json.dumps(STORE), {"type": "path", "path": "$..title"}, ContentKind.JSON)

    assert answer.text.startswith('[values 0–3 of 4, counted from 0]\n/store/book/0/title: "A"\n')


def test_a_path_that_finds_nothing_says_so():
    answer = seen(json.dumps(STORE), {"type": "path", "path": "$.nothing"}, ContentKind.JSON)

    assert answer.text == "[no value is found by this path]"


def test_the_whole_value_and_pointers_that_cannot_be_shown_have_words_instead():
    whole = seen(json.dumps([1]), {"type": "path", "path": "$"}, ContentKind.JSON)
    long = seen(json.dumps({"k" * 500: 1, "\u202e": 2}), {"type": "path", "path": "$.*"}, ContentKind.JSON)

    assert "(whole): [1]" in whole.text
    assert long.text.count("(long pointer): ") == 2


KEYS = st.sampled_from(["a", "b", "c d", "👩" * 40])
VALUES = st.recursive(
    st.integers(-3, 3) | st.text(max_size=100),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=60,
)


@given(
    value=VALUES,
    path=st.sampled_from(["$..*", "$..a", "$.*", "$..[0, 1, 0]", "$..[?(@ >= 0)]", "$..*..*"]),
    budgets=st.lists(st.integers(200, 400), min_size=1, max_size=3),
)
def test_every_value_that_is_found_is_shown(value, path, budgets):
    wanted = [pointer_of(way) for way, _ in find_values(value, parse_json_path(path))]

    answers = list(pages(json.dumps(value), {"type": "path", "path": path}, ContentKind.JSON, budgets=budgets))

    shown = [number for each in answers if wanted for number in range(each.facts["first"], each.facts["last"] + 1)]
    assert shown == list(range(len(wanted)))


@given(path=st.text("$.[]*'\"?@()=<>&|:0123abc-, \\", max_size=40).map(lambda rest: f"${rest}") | st.text(max_size=30))
def test_any_text_is_a_path_or_a_refusal(path):
    answer = attempted(json.dumps(STORE), {"type": "path", "path": path}, ContentKind.JSON)

    assert not isinstance(answer, ViewFailed) or answer.hint
