from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from view_cases import attempted, pages, refusal, seen

from toolcrib_core.schema.pointers import pointer_of
from toolcrib_mcp.errors import ViewFailed
from toolcrib_mcp.firewall.kinds import ContentKind
from toolcrib_mcp.views.path_syntax import parse_path
from toolcrib_mcp.views.path_walk import find

pytestmark = pytest.mark.req("GW-4.6")

STORE = {
    "store": {
        "book": [
            {"title": "A", "price": 8.95, "kind": "ref"},
            {"title": "B", "price": 12, "kind": "fic", "isbn": None},
            {"title": "C", "price": 9, "kind": "fic", "stock": {"n": [3, 4]}},
            {"title": "D", "price": "22", "kind": True},
        ],
        "bicycle": {"price": 19.95, "odd name": 1, "é": 2, "it's": 3},
    }
}


def found(path: str, value: object = STORE) -> list[str]:
    return [pointer_of(way) for way, _ in find(value, parse_path(path))]  # type: ignore[arg-type]


def books(*numbers: int, key: str = "") -> list[str]:
    return [f"/store/book/{number}{key}" for number in numbers]


@pytest.mark.parametrize(
    ("path", "pointers"),
    [
        ("$", [""]),
        ("$.store.bicycle.price", ["/store/bicycle/price"]),
        ("$['store'][\"bicycle\"]['odd name']", ["/store/bicycle/odd name"]),
        ("$.store.bicycle.é", ["/store/bicycle/é"]),
        ("$.store.bicycle['\\u00e9']", ["/store/bicycle/é"]),
        (r"$.store.bicycle['it\'s']", ["/store/bicycle/it's"]),
        ("$.store.book[0].title", books(0, key="/title")),
        ("$.store.book[-1].title", books(3, key="/title")),
        ("$.store.book[4]", []),
        ("$.store.book[-5]", []),
        ("$.store.book[1:3].title", books(1, 2, key="/title")),
        ("$.store.book[:2]", books(0, 1)),
        ("$.store.book[-2:]", books(2, 3)),
        ("$.store.book[::2]", books(0, 2)),
        ("$.store.book[::-1]", books(3, 2, 1, 0)),
        ("$.store.book[ 0 , 2 ]", books(0, 2)),
        ("$.store.book[0, 0, -4]", books(0)),
        ("$.store.book[*].kind", books(0, 1, 2, 3, key="/kind")),
        ("$.store.*", ["/store/book", "/store/bicycle"]),
        ("$..price", [*books(0, 1, 2, 3, key="/price"), "/store/bicycle/price"]),
        ("$..book[0]", books(0)),
        ("$..[0]", [*books(0), "/store/book/2/stock/n/0"]),
        ("$..n.*", ["/store/book/2/stock/n/0", "/store/book/2/stock/n/1"]),
        ("$..stock..n", ["/store/book/2/stock/n"]),
        ("$.store..book..title", books(0, 1, 2, 3, key="/title")),
        ("$.store.book[?(@.price < 10)].title", books(0, 2, key="/title")),
        ("$.store.book[?@.price >= 9 && @.kind == 'fic']", books(1, 2)),
        ("$.store.book[?(@.title == 'A' || @.title == \"D\")]", books(0, 3)),
        ("$.store.book[?(@.title == 'A' || @.price > 9 && @.kind == 'fic')]", books(0, 1)),
        ("$.store.book[?(@.isbn)]", books(1)),
        ("$.store.book[?(@.isbn == null)]", books(1)),
        ("$.store.book[?(@.isbn != null)]", books(0, 2, 3)),
        ("$.store.book[?(@.kind == true)]", books(3)),
        ("$.store.book[?(@.price > '1')]", books(3)),
        ("$.store.book[?(@.stock.n[-1] == 4)]", books(2)),
        ("$.store.book[?(@['stock']['n'][0] <= 3.0e0)]", books(2)),
        ("$.store.bicycle[?(@ > 2)]", ["/store/bicycle/price", "/store/bicycle/it's"]),
        ("$.store.book.title", []),
        ("$.store.bicycle[0]", []),
        ("$.store.bicycle[0:2]", []),
        ("$.store.bicycle.price[*]", []),
        ("$.store.bicycle.price[?(@)]", []),
    ],
)
def test_a_path_finds_its_values(path, pointers):
    assert found(path) == pointers


def test_true_is_not_one():
    assert found("$[?(@ == 1)]", [1, True, 1.0]) == ["/0", "/2"]
    assert found("$[?(@ == true)]", [1, True]) == ["/1"]
    assert found("$[?(@ < 2)]", [1, True]) == ["/0"]


def test_two_escaped_surrogates_are_one_character():
    assert found(r"$['\ud83d\ude00\n\x']", {"😀\nx": 1}) == ["/😀\nx"]


@pytest.mark.fault("G3")
@pytest.mark.parametrize(
    "path",
    [
        "",
        "../",
        "../../etc/passwd",
        "a.b",
        "$..",
        "$...a",
        "$.",
        "$.1",
        "$[",
        "$[]",
        "$[0",
        "$[01]",
        "$['a'",
        "$['a]",
        "$[1:2:0]",
        "$[1:2:3:4]",
        "$[0.5]",
        "$[99999999999999999999]",
        "$[?]",
        "$[?()]",
        "$[?(1 == 1)]",
        "$[?(@.a ==)]",
        "$[?(@.a == foo)]",
        "$[?(@.a = 1)]",
        "$[?(@.a == 1]",
        "$[?(@..a == 1)]",
        "$[?(@.* == 1)]",
        "$[?(@[0,1] == 1)]",
        "$[?(@.a =~ /x/)]",
        "$[?(@.a && (@.b || @.c))]",
        "$[(@.length-1)]",
        "$.a b",
        "$.a; import os",
        "$.__class__()",
        "$" + "[?(" * 300,
    ],
)
def test_what_is_no_path_says_where_it_is_not_understood(path):
    with pytest.raises(ViewFailed, match="not understood at character") as raised:
        parse_path(path)

    assert "For example" in str(raised.value.hint)


@pytest.mark.fault("G3")
@pytest.mark.parametrize(
    "path", ["$[1000000000]", "$[-1000000000]", "$[900000000:1000000000]", "$[::1000000000]", "$[-1000000000:1]"]
)
def test_indices_far_outside_find_what_is_there_and_nothing_else(path):
    assert len(found(path, [1, 2, 3])) <= 1


@pytest.mark.fault("G3")
@pytest.mark.parametrize("path", ["$..*..*..*..*", "$..*", "$[*][*]", "$[*][?(@.a == 1)]", "$..[?(@ == 1)]", "$..a"])
def test_a_path_that_would_look_at_too_much_is_refused(path, monkeypatch):
    monkeypatch.setattr("toolcrib_mcp.views.path_walk.MAX_VISITED", 50)

    error = refusal(json.dumps([[1, 2, 3]] * 30), {"type": "path", "path": path}, ContentKind.JSON)

    assert "more than 50 values" in error.message


def test_repeated_descents_find_everything_once():
    value = {"a": {"a": {"a": {"b": 1}}}}

    assert found("$..a..a..b", value) == ["/a/a/a/b"]
    assert found("$..*..*", value) == ["/a/a", "/a/a/a", "/a/a/a/b"]


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
def test_every_value_that_is_found_is_shown_once(value, path, budgets):
    wanted = found(path, value)

    answers = list(pages(json.dumps(value), {"type": "path", "path": path}, ContentKind.JSON, budgets=budgets))

    assert len(set(wanted)) == len(wanted)
    shown = [number for each in answers if wanted for number in range(each.facts["first"], each.facts["last"] + 1)]
    assert shown == list(range(len(wanted)))


@given(path=st.text("$.[]*'\"?@()=<>&|:0123abc-, \\", max_size=40).map(lambda rest: f"${rest}") | st.text(max_size=30))
def test_any_text_is_a_path_or_a_refusal(path):
    answer = attempted(json.dumps(STORE), {"type": "path", "path": path}, ContentKind.JSON)

    assert not isinstance(answer, ViewFailed) or answer.hint
