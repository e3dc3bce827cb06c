"""Paths mean what RFC 9535 says; python-jsonpath, which passes the whole suite of it, is the oracle."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from jsonpath import JSONPathEnvironment, NodeList
from jsonpath.filter import UNDEFINED

from toolcrib_core.schema.pointers import pointer_of
from toolcrib_runtime.errors import JsonPathError
from toolcrib_runtime.json_paths import find_values, parse_json_path

pytestmark = pytest.mark.req("GW-4.6")


class Oracle(JSONPathEnvironment):
    """The library without its faults: it slices texts, orders truths, and takes 0 and "" for what is not there."""

    def getitem(self, obj: Any, key: Any) -> Any:
        return () if isinstance(obj, str) else super().getitem(obj, key)

    def is_truthy(self, obj: object) -> bool:
        return super().is_truthy(obj) if isinstance(obj, bool | NodeList) or obj is UNDEFINED else True

    def compare(self, left: object, operator: str, right: object) -> bool:
        if operator[0] in "<>" and (isinstance(left, bool) or isinstance(right, bool)):
            return operator.endswith("=") and super().compare(left, "==", right)
        return super().compare(left, operator, right)


ORACLE = Oracle(strict=True)

STORE: Any = {
    "store": {
        "book": [
            {"title": "A", "price": 8.95, "kind": "ref"},
            {"title": "B", "price": 12, "kind": "fic", "isbn": None},
            {"title": "C", "price": 9, "kind": "fic", "stock": {"n": [3, 4]}},
            {"title": "D", "price": "22", "kind": True},
        ],
        "bicycle": {"price": 19.95, "odd name": 1, "é": 2, "it's": 3},
    },
    "limit": 10,
}


def found(path: str, value: Any = STORE) -> list[str]:
    return [pointer_of(way) for way, _ in find_values(value, parse_json_path(path))]


def values(path: str, value: Any) -> list[Any]:
    return [each for _, each in find_values(value, parse_json_path(path))]


def books(*numbers: int, key: str = "") -> list[str]:
    return [f"/store/book/{number}{key}" for number in numbers]


@pytest.mark.parametrize(
    ("path", "pointers"),
    [
        ("$", [""]),
        ("$.store.bicycle.price", ["/store/bicycle/price"]),
        ("$ .store\n.bicycle\t['price']", ["/store/bicycle/price"]),
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
        ("$.store.book[2:0:-1]", books(2, 1)),
        ("$.store.book[ 1 : 3 : 1 ]", books(1, 2)),
        ("$.store.book[::0]", []),
        ("$.store.book[ 0 , 2 ]", books(0, 2)),
        ("$.store.book[0, 0, -4]", books(0, 0, 0)),
        ("$.store.book[?@.price == 9, 0]", books(2, 0)),
        ("$.store.book[*].kind", books(0, 1, 2, 3, key="/kind")),
        ("$.store.*", ["/store/book", "/store/bicycle"]),
        ("$..price", [*books(0, 1, 2, 3, key="/price"), "/store/bicycle/price"]),
        ("$..book[0]", books(0)),
        ("$..[0]", [*books(0), "/store/book/2/stock/n/0"]),
        ("$..n.*", ["/store/book/2/stock/n/0", "/store/book/2/stock/n/1"]),
        ("$..stock..n", ["/store/book/2/stock/n"]),
        ("$.store..book..title", books(0, 1, 2, 3, key="/title")),
        ("$.store.book[?(@.price < 10)].title", books(0, 2, key="/title")),
        ("$.store.book[?@.price<$.limit]", books(0, 2)),
        ("$.store.book[?@.price >= 9 && @.kind == 'fic']", books(1, 2)),
        ("$.store.book[?(@.title == 'A' || @.title == \"D\")]", books(0, 3)),
        ("$.store.book[?(@.title == 'A' || @.price > 9 && @.kind == 'fic')]", books(0, 1)),
        ("$.store.book[?(@.title == 'A' || @.price > 9) && @.kind == 'fic']", books(1)),
        ("$.store.book[?!(@.title == 'A' || @.title == 'B')]", books(2, 3)),
        ("$.store.book[?!@.isbn && !@.stock]", books(0, 3)),
        ("$.store.book[?(@.isbn)]", books(1)),
        ("$.store.book[?(@.isbn == null)]", books(1)),
        ("$.store.book[?(@.isbn != null)]", books(0, 2, 3)),
        ("$.store.book[?@.isbn == @.stock]", books(0, 3)),
        ("$.store.book[?(@.kind == true)]", books(3)),
        ("$.store.book[?(@.price > '1')]", books(3)),
        ("$.store.book[?(@.stock.n[-1] == 4)]", books(2)),
        ("$.store.book[?@..n]", books(2)),
        ("$.store.book[?@.*.*[?@ > 3]]", books(2)),
        ("$.store.book[?(@['stock']['n'][0] <= 3.0e0)]", books(2)),
        ("$.store.bicycle[?(@ > 2)]", ["/store/bicycle/price", "/store/bicycle/it's"]),
        ("$.store.book[?length(@.title) == 1 && length(@) == 4]", books(1, 2)),
        ("$.store.book[?count(@.*) > 3]", books(1, 2)),
        ("$.store.book[?count($..price) == 5].title", books(0, 1, 2, 3, key="/title")),
        ("$.store.book[?value(@..n[0]) == 3]", books(2)),
        ("$.store.book[?length(value(@..n)) == 2]", books(2)),
        ("$.store.book[?match(@.kind, 'f.c')]", books(1, 2)),
        ("$.store.book[?match(@.kind, 'f')]", []),
        ("$.store.book[?search(@.kind, 'f|e')]", books(0, 1, 2)),
        ("$.store.book[?search(@.price, @.title)]", []),
        ("$.store.book.title", []),
        ("$.store.bicycle[0]", []),
        ("$.store.bicycle[0:2]", []),
        ("$.store.bicycle.price[*]", []),
        ("$.store.bicycle.price[?(@)]", []),
    ],
)
def test_a_path_finds_its_values(path: str, pointers: list[str]) -> None:
    assert found(path) == pointers


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        # `true` is not 1, nor anywhere inside.
        ("$[?(@ == 1)]", [1, True, 1.0], [1, 1.0]),
        ("$[?(@ < 2)]", [1, True], [1]),
        ("$[?@.a == @.b]", [{"a": [True], "b": [1]}, {"a": [1], "b": [1.0]}], [{"a": [1], "b": [1.0]}]),
        (
            "$[?@.a == @.b]",
            [{"a": {"x": 1, "y": []}, "b": {"y": [], "x": 1}}],
            [{"a": {"x": 1, "y": []}, "b": {"y": [], "x": 1}}],
        ),
        # That a place is there is no question of what is in it.
        ("$[?@.a]", [{"a": False}, {"a": None}, {"a": 0}, {}], [{"a": False}, {"a": None}, {"a": 0}]),
        ("$[?@]", [False, 0, None, ""], [False, 0, None, ""]),
        # What has no order may still be equal.
        ("$[?@.a <= null]", [{"a": None}, {"a": 1}, {}], [{"a": None}]),
        ("$[?@.a >= @.b]", [{"a": [1], "b": [1]}, {"a": 1, "b": "1"}, {}], [{"a": [1], "b": [1]}, {}]),
        # Numbers of any form, and those that no float can hold.
        ("$[?@ == 1E2]", [100, 1e2, "100"], [100, 100.0]),
        ("$[?@ == -0]", [0, 0.0], [0, 0.0]),
        ("$[?@ < 1e400]", [1, 10**30], [1, 10**30]),
        ("$[?@ == 9007199254740993]", [2**53, 2**53 + 1], [2**53 + 1]),
        # Patterns of RFC 9485.
        ("$[?match(@, 'a.c')]", ["abc", "a\nc", "a\rc", "a\u2028c", "abcd"], ["abc", "a\u2028c"]),
        ("$[?search(@, 'a[.b]c')]", ["xa.c", "abc", "axc"], ["xa.c", "abc"]),
        (r"$[?match(@, 'a\\.c')]", ["a.c", "abc"], ["a.c"]),
        (r"$[?match(@, '\\p{Lu}.*')]", ["Äb", "äb", "1"], ["Äb"]),
        ("$[?match(@, '.')]", ["😀", "ab"], ["😀"]),
        (
            "$[?match(@.a, @.b)]",
            [{"a": "ab", "b": "a."}, {"a": "ab", "b": "("}, {"a": "ab", "b": 1}],
            [{"a": "ab", "b": "a."}],
        ),
        ("$[?match(@, 'a|bc')]", ["a", "bc", "ac"], ["a", "bc"]),
        ("$[?length(@) == 1]", ["😀", "ab", [0], {"a": 0}, 1, None], ["😀", [0], {"a": 0}]),
        ("$[?length(@) != 1]", [1, [0]], [1]),
        ("$[?value(@.*) == 1]", [[1], [1, 1], []], [[1]]),
        # Each way to a value counts.
        ("$..a..b", {"a": {"a": {"b": 1}}}, [1, 1]),
        ("$..[*]", [[1], 2], [[1], 2, 1]),
        (r"$['\ud83d\ude00\n']", {"😀\n": 1}, [1]),
        ("$.😀", {"😀": 1}, [1]),
    ],
)
def test_a_path_finds_what_the_standard_says(path: str, value: Any, expected: list[Any]) -> None:
    assert json.dumps(values(path, value)) == json.dumps(expected)


NO_PATHS = [
    ("", 1),
    ("../", 3),
    ("a.b", 1),
    (" $", 2),
    ("$ ", 2),
    ("$..", 4),
    ("$...a", 4),
    ("$.", 3),
    ("$.1", 3),
    ("$. a", 3),
    ("$.. a", 4),
    ("$.['a']", 3),
    ("$[", 3),
    ("$[]", 2),
    ("$[0", 4),
    ("$[01]", 3),
    ("$[-0]", 3),
    ("$[1e2]", 3),
    ("$[0.5]", 3),
    ("$[0,]", 5),
    ("$['a'", 6),
    ("$['a]", 3),
    ("$['\t']", 4),
    (r"$['\x']", 4),
    (r"$['\ud83d']", 4),
    ("$[1:2:3:4]", 8),
    ("$[99999999999999999999]", 3),
    ("$[?]", 4),
    ("$[?()]", 5),
    ("$[?@.a ==]", 10),
    ("$[?@.a == foo]", 11),
    ("$[?@.a == True]", 11),
    ("$[?@.a = 1]", 8),
    ("$[?@.a <> 1]", 3),
    ("$[?@.a == [1]]", 3),
    ("$[?@.a == 01]", 11),
    ("$[?@.a == -01]", 11),
    ("$[?@.a == 1.]", 12),
    ("$[?(@.a == 1]", 4),
    ("$[?@..a == 1]", 9),
    ("$[?@.* == 1]", 8),
    ("$[?@[0,1] == 1]", 11),
    ("$[?@.a =~ /x/]", 8),
    ("$[?@.a in [1]]", 8),
    ("$[?not @.a]", 4),
    ("$[?@.a and @.b]", 8),
    ("$[?!!@]", 3),
    ("$[?(@.a) == 1]", 3),
    ("$[?(@.a == 1) == 2]", 3),
    ("$[?true]", 3),
    ("$[?(1)]", 3),
    ("$[?@.a && 'x']", 8),
    ("$[?length(@.a)]", 3),
    ("$[?length(@.*) == 1]", 4),
    ("$[?length((@)) == 1]", 11),
    ("$[?length (@) == 1]", 4),
    ("$[?count(1) == 1]", 4),
    ("$[?match(@.a)]", 4),
    ("$[?match(@.a, 'x') == true]", 20),
    ("$[?match(@, '(')]", 3),
    ("$[?search(@, 'a(?=b)')]", 3),
    ("$[?keys(@)]", 4),
    ("$[(@.length-1)]", 3),
    ("$.a b", 5),
    ("$.a | $.b", 5),
    ("$.*~", 4),
    ("$[?#]", 4),
    ("$.a; import os", 4),
    ("$.__class__()", 12),
    ("$[?" + "(" * 300, 35),
    ("$" + ".a" * 500, 1_001),
]


@pytest.mark.fault("G3")
@pytest.mark.parametrize(("path", "character"), NO_PATHS, ids=[repr(path)[:30] for path, _ in NO_PATHS])
def test_what_is_no_path_is_refused_with_its_place(path: str, character: int) -> None:
    with pytest.raises(JsonPathError, match=f"not understood at character {character}: ") as raised:
        parse_json_path(path)

    assert raised.value.details["position"] == character
    assert "TOKEN" not in raised.value.message


def test_a_chain_as_long_as_a_path_may_be_is_read() -> None:
    path = f"$[?{'&&'.join(['@'] * 330)}]"

    assert found(path, [1]) == ["/0"]


@pytest.mark.fault("G3")
@pytest.mark.parametrize(
    "path", ["$[1000000000]", "$[-1000000000]", "$[900000000:1000000000]", "$[::1000000000]", "$[-1000000000:1]"]
)
def test_indices_far_outside_find_what_is_there_and_nothing_else(path: str) -> None:
    assert len(found(path, [1, 2, 3])) <= 1


@pytest.mark.fault("G3")
@pytest.mark.parametrize(
    "path",
    [
        "$..*..*..*..*",
        "$..*",
        "$[*][*]",
        "$[*][?(@.a == 1)]",
        "$..[?(@ == 1)]",
        "$..a",
        "$[*][::-1]",
        "$[?count(@.*) > 9]",
        "$[?@[?@[0]]]",
        "$[?@ == $[0]]",
        "$[?search(@[3], 'x')]",
        "$[?search(@[3], @[3])]",
    ],
)
def test_a_path_that_would_look_at_too_much_is_refused(path: str) -> None:
    value = [[1, 2, 3, "y" * 80]] * 30

    with pytest.raises(JsonPathError, match="more than 50 values"):
        find_values(value, parse_json_path(path), max_visited=50)


def test_a_path_from_the_root_inside_of_a_filter_is_followed_once() -> None:
    value = {"wanted": [0] * 1_000, "items": list(range(1_000))}

    assert len(find_values(value, parse_json_path("$.items[?count($.wanted[*]) > 1]"), max_visited=5_000)) == 1_000


def test_a_deep_value_is_walked_and_compared_without_recursion() -> None:
    deep: Any = 1
    for _ in range(5_000):
        deep = [deep]

    assert len(found("$..[0]", deep)) == 5_000
    assert found("$[?@ == $[0]]", [deep, 2]) == ["/0"]


@pytest.mark.fault("G3")
def test_a_pattern_made_to_go_back_for_ever_does_not() -> None:
    assert found("$[?match(@, '(a+)+b')]", ["a" * 50_000]) == []


NAMES = st.sampled_from(["a", "b", "c d", "é", "☺"])
LEAVES = (
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-2, 2) | st.sampled_from(["", "a", "ab", "x\ny", "😀"])
)
DOCUMENTS = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=25
)

SPACE = st.sampled_from(["", "", " ", "\n\t"])
NAME = NAMES.map(lambda name: f"['{name}']") | st.sampled_from([".a", ".b", " .a", "\n.é"])
INDEX = st.integers(-3, 3).map(lambda number: f"[{number}]")
BOUND = st.none() | st.integers(-4, 4)
SLICE = st.tuples(BOUND, BOUND, BOUND).map(lambda parts: ":".join("" if part is None else str(part) for part in parts))
SINGULAR = st.lists(NAME | INDEX, max_size=2).map("".join)
LITERAL = st.sampled_from(["1", "-0", "1.0", "2e0", "'a'", '"ab"', "true", "false", "null"])


def _queries(filters: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    selector = (
        NAMES.map(lambda name: f'"{name}"')
        | st.integers(-3, 3).map(str)
        | SLICE
        | st.just("*")
        | filters.map("?{}".format)
    )
    bracket = st.tuples(SPACE, st.lists(selector, min_size=1, max_size=2).map(", ".join), SPACE).map(
        "[{0[0]}{0[1]}{0[2]}]".format
    )
    step = NAME | INDEX | bracket | st.just(".*")
    descent = st.sampled_from(["..a", "..*"]) | bracket.map("..{}".format)
    return st.lists(step | descent, min_size=1, max_size=3).map("".join)


def _filters(queries: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    nodes = st.tuples(st.sampled_from("@$"), queries).map("".join)
    operand = (
        LITERAL
        | st.tuples(st.sampled_from("@$"), SINGULAR).map("".join)
        | SINGULAR.map("length(@{})".format)
        | nodes.map("count({})".format)
        | nodes.map("value({})".format)
    )
    comparison = st.tuples(operand, SPACE, st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), SPACE, operand).map(
        "".join
    )
    pattern = st.sampled_from(["a", "a.?", "[ab]+", ".", "b$", "x.y"])
    calls = st.tuples(st.sampled_from(["match", "search"]), SINGULAR, pattern).map("{0[0]}(@{0[1]}, '{0[2]}')".format)
    basic = comparison | nodes | calls
    return basic | basic.map("!({})".format) | st.tuples(basic, st.sampled_from(["&&", " || "]), basic).map("".join)


BASIC_QUERIES = st.lists(NAME | INDEX | st.sampled_from([".*", "..a", "[0:2]"]), min_size=1, max_size=2).map("".join)
PATHS = _queries(_filters(_queries(_filters(BASIC_QUERIES)))).map("${}".format)


def is_told_apart(value: Any) -> bool:
    """Whether nothing in it is a truth: the oracle takes `[true]` for `[1]`, and `false` for what is not there."""
    if isinstance(value, dict | list):
        return all(map(is_told_apart, value.values() if isinstance(value, dict) else value))
    return not isinstance(value, bool)


@given(path=PATHS, value=DOCUMENTS)
def test_a_path_finds_what_the_oracle_finds(path: str, value: Any) -> None:
    assume(len(path) <= 1_000 and isinstance(value, dict | list))
    assume("?" not in path or is_told_apart(value))

    expected = [str(match.pointer()) for match in ORACLE.finditer(path, value)]

    assert found(path, value) == expected


@given(path=st.text("$.[]*'\"?@()=<>&|!:0123abcé-, \\\n", max_size=30).map("${}".format))
def test_what_the_oracle_refuses_is_refused(path: str) -> None:
    try:
        ORACLE.compile(path)
    except Exception:  # noqa: BLE001  # it fails in other ways than its own, too
        with pytest.raises(JsonPathError):
            parse_json_path(path)
