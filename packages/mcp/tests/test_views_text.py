from __future__ import annotations

import itertools
import json
from base64 import b64decode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from view_cases import body, pages, refusal, seen

from toolcrib_mcp.firewall.kinds import ContentKind
from toolcrib_mcp.views.json_cuts import json_cut

pytestmark = pytest.mark.req("GW-4.6")

LINES = "".join(f"line {number}\n" for number in range(1, 4_001))
BUDGETS = st.lists(st.integers(200, 600), min_size=1, max_size=3)
TEXTS = st.lists(st.text(max_size=40) | st.text("ab\u0301\u200d👩é字\u202e", max_size=600), max_size=40).map("\n".join)


def spans(answers) -> list[list[int]]:
    return [each.facts["bytes"] for each in answers]


def test_an_answer_says_where_it_is():
    answer = seen(LINES, {"type": "lines", "start": 11, "end": 13})

    assert answer.text == "[lines 11–13 of 4,000]\nline 11\nline 12\nline 13"
    assert answer.cursor is None
    assert (answer.facts["first"], answer.facts["last"], answer.facts["total"]) == (11, 13, 4_000)


def test_head_shows_the_first_lines_and_nothing_is_left_of_them():
    answer = seen(LINES, {"type": "head", "lines": 2})

    assert answer.text == "[lines 1–2 of 4,000]\nline 1\nline 2"
    assert answer.cursor is None


def test_tail_shows_the_last_lines_in_their_order():
    assert body(seen(LINES, {"type": "tail", "lines": 2})) == "line 3999\nline 4000"


@pytest.mark.parametrize(("chars", "shown"), [(1, "é"), (2, "éa"), (9, "éa字b👩z"), (4, "éa字b")])
def test_head_by_characters_counts_characters_and_not_bytes(chars, shown):
    assert body(seen("éa字b👩z", {"type": "head", "chars": chars})) == shown


@pytest.mark.parametrize(("chars", "shown"), [(1, "👩"), (2, "z👩"), (3, "字z👩"), (99, "é字z👩")])
def test_tail_by_characters_counts_characters_and_not_bytes(chars, shown):
    assert body(seen("é字z👩", {"type": "tail", "chars": chars})) == shown


def test_a_line_behind_the_last_is_refused_with_how_many_there_are():
    error = refusal(LINES, {"type": "lines", "start": 4_001})

    assert "no line 4,001: the content has 4,000 lines" in error.message


def test_an_end_behind_the_last_line_is_the_last_line():
    assert body(seen("a\nb", {"type": "lines", "start": 2, "end": 10**9})) == "b"


@pytest.mark.parametrize("type_", ["head", "tail", "lines", "all", "bytes"])
def test_empty_content_is_said_to_be_empty(type_):
    answer = seen(b"", {"type": type_})

    assert "0 bytes" in answer.text
    assert answer.cursor is None


def test_carriage_returns_at_the_ends_of_lines_are_not_shown_and_others_are():
    assert body(seen("a\r\nb\rc\r\n", {"type": "all"})) == "a\nb\\rc"


def test_characters_that_cannot_be_seen_are_spelt_out():
    shown = body(seen("a\u202eb\x1b[31m\x00\u2028\U000e0041c\ufeff 👩\u200d🚀\tx", {"type": "all"}))

    assert shown == "a\\u202eb\\u001b[31m\\u0000\\u2028\\udb40\\udc41c\\ufeff 👩\u200d🚀\tx"


@pytest.mark.fault("G10")
def test_invalid_utf_8_is_shown_as_replacements_and_its_bytes_exactly():
    content = b"good\xff\xfe bad\xc3"

    shown = body(seen(content, {"type": "all"}))
    exact = seen(content, {"type": "bytes"})

    assert shown == "good\ufffd\ufffd bad\ufffd"
    assert exact.facts["encoding"] == "base64"
    assert b64decode(body(exact)) == content


def test_bytes_that_are_text_come_as_text_with_their_line_ends():
    answer = seen("a\r\nbé", {"type": "bytes"})

    assert answer.text == "[bytes 0–5 of 6 as text]\na\r\nbé"


def test_bytes_count_from_0_without_the_end():
    assert body(seen("0123456789", {"type": "bytes", "start": 2, "end": 5})) == "234"


def test_bytes_behind_the_last_are_refused():
    assert "no byte 10: the content has 10 bytes" in refusal("0123456789", {"type": "bytes", "start": 10}).message


@given(text=TEXTS, budgets=BUDGETS, type_=st.sampled_from(["all", "lines", "tail", "head"]))
def test_pages_of_text_follow_each_other_without_gap_or_overlap(text, budgets, type_):
    content = text.encode()
    selector = {"type": type_} if type_ in {"all", "lines"} else {"type": type_, "lines": 10**6}

    found = spans(pages(content, selector, budgets=budgets))

    assert found[0][0] == 0
    assert found[-1][1] == len(content)
    assert all(before[1] == after[0] for before, after in itertools.pairwise(found))


@given(content=st.binary(max_size=3_000) | TEXTS.map(str.encode), budgets=BUDGETS)
def test_pages_of_bytes_together_are_the_content(content, budgets):
    together = b""

    for answer in pages(content, {"type": "bytes"}, budgets=budgets):
        shown = answer.text.partition("\n")[2]
        shown = shown.rpartition("\n[more: cursor")[0] if answer.cursor is not None else shown
        together += b64decode(shown) if answer.facts["encoding"] == "base64" else shown.encode()

    assert together == content


@given(lines=st.lists(st.text("abc ,.", min_size=1, max_size=60), min_size=1, max_size=80), budgets=BUDGETS)
def test_every_line_is_shown_once(lines, budgets):
    shown = [
        line
        for answer in pages("\n".join(lines), {"type": "all"}, budgets=budgets)
        for line in body(answer).split("\n")
    ]

    assert shown == lines


@given(
    value=st.recursive(
        st.none() | st.integers() | st.text(max_size=200) | st.text('"\\\n👩', max_size=200),
        lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=10), inner, max_size=6),
        max_leaves=40,
    ),
    ascii_only=st.booleans(),
    budgets=BUDGETS,
)
def test_json_is_cut_between_its_tokens_or_inside_a_string_between_characters(value, ascii_only, budgets):
    text = json.dumps(value, ensure_ascii=ascii_only)

    cuts = [each[1] for each in spans(pages(text, {"type": "all"}, ContentKind.JSON, budgets=budgets))][:-1]

    for cut in cuts:
        before = text.encode()[:cut].decode()
        state = _state(before)
        assert state == "string" or (state == "outside" and before[-1] in ',[]{}:"')


def _state(text: str) -> str:
    inside, left = False, 0
    for each in text:
        if left:
            left = 4 if left == 5 and each == "u" else 0 if left == 5 else left - 1
        elif inside and each == "\\":
            left = 5
        elif each == '"':
            inside = not inside
    return "escape" if left else "string" if inside else "outside"


@pytest.mark.parametrize(
    ("text", "limit", "in_string", "expected"),
    [
        ('{"a":1,"b":2}', 9, False, (7, False)),
        ('{"a":"' + "x" * 50, 20, False, (5, False)),
        ("x" * 50, 20, True, (20, True)),
        ('xx","b":12345', 12, True, (8, False)),
        ("xxxx\\u00e9xxxx", 7, True, (4, True)),
        ("xxxx\\ud83d\\ude00xxxx", 12, True, (4, True)),
        ("\\u00e9xxxx", 3, True, (6, True)),
        ("xxxx\\u00", 8, True, (4, True)),
        ("xxxx\\", 5, True, (4, True)),
        ("xx\\nxx\\nxx", 9, True, (9, True)),
        ("xxxxx\\n", 3, True, (3, True)),
        ("1234567890", 5, False, (5, False)),
        ('"ab" ', 5, False, (4, False)),
    ],
)
def test_the_place_of_a_cut_in_json(text, limit, in_string, expected):
    assert json_cut(text, limit, in_string=in_string) == expected


def test_minified_json_goes_on_inside_a_long_string_on_the_next_page():
    content = json.dumps({"id": 1, "text": "word " * 600, "end": True}, separators=(",", ":"))

    answers = list(pages(content, {"type": "all"}, ContentKind.JSON, budgets=(300,)))

    assert body(answers[0]) == '{"id":1,"text":'
    assert "".join(body(each) for each in answers) == content
