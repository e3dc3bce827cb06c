from __future__ import annotations

import itertools
import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from view_cases import body, pages, refusal, seen

from toolcrib_mcp.firewall.kinds import ContentKind

pytestmark = pytest.mark.req("GW-4.6")

BUDGETS = st.lists(st.integers(200, 500), min_size=1, max_size=3)
SCALARS = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    SCALARS | st.text(max_size=400),
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.text(max_size=12), inner, max_size=8),
    max_leaves=60,
)
ORDERS = {
    "a/b": {"m~n": [10, 20, {"": "empty key"}]},
    "items": [{"id": number, "name": f"item {number}"} for number in range(200)],
    "text": "word " * 4_000,
    "nothing": None,
}


def at(value: object, selector: dict[str, object], *, budget: int = 1_500):
    return seen(json.dumps(value), selector, ContentKind.JSON, budget=budget)


def every_page(value: object, selector: dict[str, object], budgets=(300,)):
    return list(pages(json.dumps(value), selector, ContentKind.JSON, budgets=budgets))


def refused(value: object, selector: dict[str, object]):
    return refusal(json.dumps(value), selector, ContentKind.JSON)


def test_a_value_that_fits_is_shown_whole():
    answer = at({"a": [1, "é", None]}, {"type": "pointer", "pointer": ""})

    assert answer.text == '[whole object of 1 key]\n{"a":[1,"é",null]}'
    assert answer.cursor is None


@pytest.mark.parametrize(
    ("pointer", "shown"),
    [("/a~1b/m~0n/1", "20"), ("/a~1b/m~0n/2/", '"empty key"'), ("/items/3/id", "3"), ("/nothing", "null")],
)
def test_a_pointer_leads_to_its_value(pointer, shown):
    assert body(at(ORDERS, {"type": "pointer", "pointer": pointer})) == shown


@pytest.mark.fault("G3")
@pytest.mark.parametrize(
    ("pointer", "said"),
    [
        ("/item", "Did you mean `/items`?"),
        ("/zzz", "without the key `zzz`"),
        ("/items/200", "indices go from 0 to 199"),
        ("/items/-1", "indices go from 0 to 199"),
        ("/items/-", "indices go from 0 to 199"),
        ("/items/01", "indices go from 0 to 199"),
        ("/items/1000000000", "indices go from 0 to 199"),
        ("/items/" + "9" * 3_000, "indices go from 0 to 199"),
        ("/items/١", "indices go from 0 to 199"),
        ("/text/0", "of type string"),
        ("/nothing/x", "of type null"),
        ("/../../etc/passwd", "without the key `..`"),
    ],
)
def test_a_pointer_to_nothing_says_what_is_there(pointer, said):
    error = refused(ORDERS, {"type": "pointer", "pointer": pointer})

    assert said in error.message
    assert len(error.message) < 400


def test_a_pointer_into_nothing_is_refused():
    assert "nothing in it" in refused([], {"type": "pointer", "pointer": "/0"}).message
    assert "It is empty." in str(refused({}, {"type": "pointer", "pointer": "/a"}).hint)


def test_a_long_list_comes_element_by_element_with_a_cursor():
    answer = at(ORDERS["items"], {"type": "pointer", "pointer": ""}, budget=200)

    assert answer.text.startswith("[items 0–")
    assert ' of 200, counted from 0]\n0: {"id":0,"name":"item 0"}\n1: ' in answer.text
    assert answer.cursor is not None


def test_an_element_that_fits_no_page_is_cut_between_values_and_says_how_to_go_deeper():
    value = {"small": 1, "big": {"rows": [{"n": number} for number in range(5_000)], "more": "x"}, "last": 2}

    (answer,) = every_page(value, {"type": "pointer", "pointer": ""}, budgets=(400,))

    assert '"small": 1' in answer.text
    assert "…(4," in answer.text
    assert '→ pointer "/big"' in answer.text
    assert '"last": 2' in answer.text


def test_the_pointer_beside_a_cut_element_leads_deeper():
    value = {"a/b": [list(range(3_000))]}

    first = at(value, {"type": "pointer", "pointer": ""}, budget=300)
    pointer = re.search(r'→ pointer "(.*)"', first.text)[1]
    second = at(value, {"type": "pointer", "pointer": pointer}, budget=300)

    assert pointer == "/a~1b"
    assert '→ pointer "/a~1b/0"' in second.text


def test_a_huge_string_is_shown_in_part_with_its_length():
    answers = every_page(ORDERS, {"type": "pointer", "pointer": "/text"}, budgets=(800, 1_500))

    assert re.match(r"\[characters 0–\d,\d+ of 20,000 of one string\]", answers[0].text)
    assert "".join(body(each) for each in answers) == ORDERS["text"]


def test_a_huge_string_inside_says_how_long_it_is():
    text = at(ORDERS, {"type": "pointer", "pointer": ""}, budget=1_500).text

    assert '"text": "word word' in text or "[more" in text
    assert "(20,000 characters)" in "".join(
        each.text for each in every_page(ORDERS, {"type": "pointer", "pointer": ""})
    )


def test_an_integer_of_any_size_keeps_its_digits():
    assert (
        body(at({"n": 123456789012345678901234567890}, {"type": "pointer", "pointer": "/n"}))
        == "123456789012345678901234567890"
    )
    assert body(at([2**64, 1.5], {"type": "pointer", "pointer": ""})) == "[18446744073709551616,1.5]"


def test_a_very_long_integer_comes_in_parts_too():
    number = int("7" * 308)

    answers = every_page([number, *range(300)], {"type": "pointer", "pointer": "/0"}, budgets=(200,))
    beside = every_page([[number] * 50], {"type": "pointer", "pointer": ""}, budgets=(200,))

    assert "".join(body(each) for each in answers) == str(number)
    assert "7…" in beside[0].text


@settings(max_examples=25)
@given(elements=st.lists(VALUES, max_size=20), budgets=BUDGETS)
def test_every_element_of_a_list_is_shown_once(elements, budgets):
    answers = every_page(elements, {"type": "pointer", "pointer": ""}, budgets)

    if answers[0].facts["unit"] == "value":
        assert json.loads(body(answers[0])) == elements
        return
    shown = [
        int(found) for each in answers for found in re.findall(r"^(\d+|…): ", body(each), re.MULTILINE) if found != "…"
    ]
    firsts = [(each.facts["first"], each.facts["last"]) for each in answers]
    assert [number for first, last in firsts for number in range(first, last + 1)] == list(range(len(elements)))
    assert shown == sorted(set(shown))


@settings(max_examples=20)
@given(value=st.dictionaries(st.text(max_size=80), VALUES, max_size=8), budgets=BUDGETS)
def test_every_key_of_an_object_is_shown_once(value, budgets):
    answers = every_page(value, {"type": "pointer", "pointer": ""}, budgets)

    if answers[0].facts["unit"] == "keys":
        firsts = [(each.facts["first"], each.facts["last"]) for each in answers]
        assert [number for first, last in firsts for number in range(first, last + 1)] == list(range(len(value)))


@settings(max_examples=40)
@given(
    text=st.text(min_size=1, max_size=3_000) | st.text("👩\u200d\u0301\x00ab", min_size=500, max_size=1_500),
    budgets=BUDGETS,
)
def test_every_character_of_a_string_is_shown_once(text, budgets):
    answers = every_page(text, {"type": "pointer", "pointer": ""}, budgets)

    if answers[0].facts["unit"] == "characters":
        spans = [(each.facts["first"], each.facts["last"] + 1) for each in answers]
        assert spans[0][0] == 0
        assert spans[-1][1] == len(text)
        assert all(before[1] == after[0] for before, after in itertools.pairwise(spans))


def test_keys_of_an_object_come_with_what_stands_there():
    answer = at(ORDERS, {"type": "keys"})

    assert body(answer).split("\n") == [
        '"a/b": object of 1 key',
        '"items": list of 200 items',
        '"text": string of 20,000 characters',
        '"nothing": null',
    ]


def test_keys_of_a_list_of_objects_are_those_of_all_of_them():
    answer = at([{"a": 1}, {"a": None, "b": 1.5}, {"a": 2}], {"type": "keys"})

    assert body(answer) == '"a": integer ×2 | null\n"b": number'


@pytest.mark.parametrize("value", [[1, 2], [], "text", 5, None, [{"a": 1}, 2]])
def test_what_has_no_keys_says_what_it_is(value):
    assert "Only objects have keys" in refused(value, {"type": "keys"}).message


@given(names=st.lists(st.text(max_size=70), unique=True, max_size=120), budgets=BUDGETS)
def test_keys_are_paged_without_gap_or_overlap(names, budgets):
    answers = every_page(dict.fromkeys(names, 1), {"type": "keys"}, budgets)

    if names:
        shown = [number for each in answers for number in range(each.facts["first"], each.facts["last"] + 1)]
        assert shown == list(range(len(names)))
    else:
        assert answers[0].text == "[no keys]"


def test_a_shape_names_every_place_with_its_types():
    value = {"items": [{"id": 1, "tags": ["a"]}, {"id": None, "odd key": {}}, "x"], "n": 1.5}

    assert body(at(value, {"type": "shape"})).split("\n") == [
        "$: object",
        "$.items: list of 3 items",
        "$.items[*]: object ×2 | string",
        "$.items[*].id: integer | null",
        "$.items[*].tags: list of 1 items",
        "$.items[*].tags[*]: string",
        '$.items[*]["odd key"]: object',
        "$.n: number",
    ]


def test_a_shape_of_a_part_is_that_of_the_part():
    assert body(at(ORDERS, {"type": "shape", "pointer": "/items/0"})) == "$: object\n$.id: integer\n$.name: string"


def test_a_shape_counts_the_keys_that_it_does_not_name():
    answer = "".join(each.text for each in every_page({f"k{number}": 1 for number in range(500)}, {"type": "shape"}))

    assert "$: object, …(400 more keys)" in answer


def test_a_shape_of_too_much_says_that_it_is_of_a_part(monkeypatch):
    monkeypatch.setattr("toolcrib_mcp.views.outlines.MAX_VISITED", 10)

    answer = at([[1, 2, 3]] * 5, {"type": "shape"})

    assert "values only" in answer.text
    assert "$[*][*]: integer ×3" in answer.text


def test_the_places_of_a_shape_are_paths_that_find_something():
    places = [line.split(": ")[0] for line in body(at(ORDERS, {"type": "shape"})).split("\n")]

    for place in places:
        assert at(ORDERS, {"type": "path", "path": place}).facts["total"] >= 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{broken", "not valid JSON"),
        (b"[" * 5_000 + b"]" * 5_000, "nested too deeply"),
        (b'{"a": "\xff"}', "not valid JSON"),
    ],
)
@pytest.mark.parametrize(
    "selector", [{"type": "pointer", "pointer": ""}, {"type": "path", "path": "$"}, {"type": "shape"}, {"type": "rows"}]
)
def test_json_that_cannot_be_read_can_still_be_read_as_text(content, said, selector):
    error = refusal(content, selector, ContentKind.JSON)

    assert said in error.message
    assert "Read it as text" in str(error.hint)
    assert seen(content, {"type": "all"}, ContentKind.JSON).text


def test_a_mark_of_byte_order_does_not_matter():
    assert body(seen(b"\xef\xbb\xbf[1]", {"type": "pointer", "pointer": "/0"}, ContentKind.JSON)) == "1"


def test_json_nested_nearly_too_deeply_is_shown_in_part():
    content = b"[" * 1_000 + b"12345678901234567890123" + b"]" * 1_000

    answer = seen(content, {"type": "pointer", "pointer": ""}, ContentKind.JSON, budget=300)
    deep = seen(content, {"type": "pointer", "pointer": "/0" * 990}, ContentKind.JSON)

    assert "…(1 more)" in answer.text
    assert body(deep).startswith("[[[[")
    assert seen(content, {"type": "shape"}, ContentKind.JSON).facts["total"] == 41
    assert seen(content, {"type": "path", "path": "$..*"}, ContentKind.JSON).facts["total"] == 1_000
