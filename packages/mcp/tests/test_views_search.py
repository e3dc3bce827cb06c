from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from view_cases import HANDLE, body, pages, refusal, seen

from toolcrib_mcp.firewall.kinds import ContentKind
from toolcrib_mcp.views import read_selector, view
from toolcrib_mcp.views.searching import PATIENCE
from toolcrib_runtime.testing import FakeClock

pytestmark = pytest.mark.req("GW-4.6")

LOG = "".join(f"{number} {'ERROR' if number % 7 == 0 else 'info'} message\n" for number in range(1, 101))
BUDGETS = st.lists(st.integers(200, 500), min_size=1, max_size=3)


class Ticking(FakeClock):
    """A clock that goes on by itself, each time it is looked at."""

    def __init__(self, step: float) -> None:
        super().__init__()
        self._step = step
        self._now = 0.0

    def monotonic(self) -> float:
        self._now += self._step
        return self._now


def shown_lines(answers) -> list[int]:
    """The numbers of the lines that were shown as matches."""
    return [
        int(found[1])
        for each in answers
        for found in re.finditer(r"^(\d+)(?: \(byte \d+\))?: ", body(each), re.MULTILINE)
    ]


def shown_places(answers) -> list[int]:
    """Where the matches in long lines are."""
    return [int(found[1]) for each in answers for found in re.finditer(r"\(byte (\d+)\): ", body(each))]


def test_matches_come_with_their_line_numbers_and_the_lines_around_them():
    answer = seen(LOG, {"type": "search", "text": "ERROR", "context": 1, "max": 2})

    assert answer.text.startswith(
        "[matches 1–2 in 100 lines; 14 occurrences]\n"
        "6- 6 info message\n7: 7 ERROR message\n8- 8 info message\n--\n"
        "13- 13 info message\n14: 14 ERROR message\n15- 15 info message\n"
    )
    assert answer.cursor is not None


def test_lines_between_near_matches_are_not_repeated():
    assert (
        body(seen("a\nx\nb\nx\nc\n", {"type": "search", "text": "x", "context": 3})) == "1- a\n2: x\n3- b\n4: x\n5- c"
    )


def test_context_stops_at_both_ends_of_the_content():
    assert body(seen("x\na\nx", {"type": "search", "text": "x", "context": 9})) == "1: x\n2- a\n3: x"


def test_no_match_is_an_answer():
    answer = seen(LOG, {"type": "search", "text": "warning"})

    assert answer.text == "[no match in 100 lines]"
    assert answer.cursor is None


def test_case_counts_unless_it_is_to_be_ignored():
    assert seen(LOG, {"type": "search", "text": "error"}).facts["occurrences"] == 0
    assert seen(LOG, {"type": "search", "text": "error", "ignore_case": True}).facts["occurrences"] == 14


@pytest.mark.parametrize("text", ["ÜBER", "über", "Über"])
def test_case_is_ignored_beyond_ascii_too(text):
    answer = seen("nothing\nein Über-Fall\n", {"type": "search", "text": text, "ignore_case": True, "context": 0})

    assert body(answer) == "2: ein Über-Fall"


def test_a_text_that_looks_like_a_pattern_is_a_text():
    answer = seen("a+b (é)\naab (é)\n", {"type": "search", "text": "A+B (É)", "ignore_case": True, "context": 0})

    assert body(answer) == "1: a+b (é)"


@pytest.mark.parametrize(
    ("pattern", "lines"),
    [
        (r"ERROR", [*range(7, 101, 7)]),
        (r"^\d ERROR", [7]),
        (r"^1\d? ", [1, *range(10, 20)]),
        (r"message$", [*range(1, 101)]),
        (r"(?i)error m.s", [*range(7, 101, 7)]),
        (r"\b9[0-3]\b", [90, 91, 92, 93]),
        (r"[^ ]RROR", [*range(7, 101, 7)]),
        (r"warning", []),
    ],
)
def test_patterns_match_line_by_line(pattern, lines):
    answers = pages(LOG, {"type": "search", "pattern": pattern, "context": 0}, ContentKind.LOG, budgets=(400,))

    assert shown_lines(answers) == lines


def test_the_end_of_a_line_is_before_its_carriage_return():
    assert body(seen("ab\r\nabc\r\n", {"type": "search", "pattern": "b$", "context": 0})) == "1: ab"


@pytest.mark.parametrize(
    ("pattern", "lines"),
    [(r"\Aab", [1, 3]), (r"ab\z", [1, 2]), (r"(?-i)^ab$", [1]), (r"\Bb$", [1, 2]), (r"\bx", [2])],
)
def test_anchors_of_every_kind_are_those_of_the_line(pattern, lines):
    content = "ab\r\nxab\nabc\n"

    assert shown_lines([seen(content, {"type": "search", "pattern": pattern, "context": 0})]) == lines


def test_empty_lines_are_found_by_a_pattern_with_anchors():
    assert shown_lines([seen("a\n\nb\n\n", {"type": "search", "pattern": "^$", "context": 0})]) == [2, 4]


@pytest.mark.parametrize("pattern", ["a*", "x?", "(a|b|)"])
def test_a_pattern_that_matches_nothing_at_all_would_find_everything(pattern):
    assert "would find everything" in refusal(LOG, {"type": "search", "pattern": pattern}).message


@pytest.mark.fault("G3")
@pytest.mark.parametrize(
    "pattern", [r"(a)\1", r"(?=a)a", r"(?<!b)a", r"(", r"[", r"a{9999999}", r"\p{L}{500}", "(?P<x"]
)
def test_a_pattern_that_cannot_be_matched_in_linear_time_is_refused(pattern):
    error = refusal(LOG, {"type": "search", "pattern": pattern})

    assert "linear time" in error.message
    assert "plain `text`" in str(error.hint)


def test_a_long_line_is_shown_around_its_match():
    content = "x" * 5_000 + "needle" + "y" * 5_000

    answer = seen(content, {"type": "search", "text": "needle"})

    assert body(answer) == f"1 (byte 5000): …{'x' * 120}needle{'y' * 120}…"


@pytest.mark.parametrize(
    "selector", [{"text": "needle"}, {"pattern": "ne{2}dle"}, {"pattern": "NEEDLE", "ignore_case": True}]
)
def test_every_match_in_one_long_line_is_found_once(selector):
    places = [10, 3_000, 8_190, 8_500, 20_000, 30_000]
    line = list("z" * 40_000)
    for each in places:
        line[each : each + 6] = "needle"

    answers = list(pages("".join(line), {"type": "search", **selector}))

    assert shown_places(answers) == places


def test_what_stands_beside_a_shown_match_is_not_shown_again():
    content = "z" * 1_000 + "needle and needle" + "z" * 1_000

    answers = list(pages(content, {"type": "search", "text": "needle"}))

    assert shown_places(answers) == [1_000]
    assert "needle and needle" in body(answers[0])


def test_a_long_line_is_left_out_of_a_search_with_anchors_only_when_it_is_very_long():
    content = "needle" + "z" * 10_000 + "\nneedle" + "z" * 20_000

    answer = seen(content, {"type": "search", "pattern": "^needle", "context": 0})

    assert shown_lines([answer]) == [1]


@settings(max_examples=25)
@given(
    lines=st.lists(
        st.text("ab ", max_size=12) | st.text("abcdefghi字", min_size=400, max_size=450), min_size=1, max_size=25
    ),
    budgets=BUDGETS,
    context=st.integers(0, 3),
    way=st.sampled_from([{"text": "ab"}, {"pattern": "a+b"}, {"pattern": "ab"}]),
)
def test_every_line_that_matches_is_shown_and_shorter_ones_once(lines, budgets, context, way):
    wanted = [number for number, line in enumerate(lines, 1) if "ab" in line]
    short = [number for number in wanted if len(lines[number - 1].encode()) <= 400]

    found = shown_lines(pages("\n".join(lines), {"type": "search", "context": context, **way}, budgets=budgets))

    assert sorted(set(found)) == wanted
    assert [each for each in found if each in short] == short
    assert found == sorted(found)


@settings(max_examples=40)
@given(
    places=st.sets(st.integers(0, 300), min_size=1),
    gap=st.sampled_from([7, 60, 131, 400]),
    filler=st.sampled_from([b"z", b"\x00"]),
    budgets=BUDGETS,
)
def test_every_match_in_a_long_line_lies_in_what_is_shown(places, gap, filler, budgets):
    line = bytearray(filler * 301 * gap)
    for each in places:
        line[each * gap : each * gap + 5] = b"#%04d" % each

    answers = list(pages(bytes(line), {"type": "search", "pattern": "#[0-9]{4}"}, budgets=budgets))

    text = "".join(body(each) for each in answers)
    assert all(f"#{each:04d}" in text for each in places)
    found = shown_places(answers)
    assert found == sorted(set(found))
    assert found[0] == min(places) * gap


def test_a_slow_search_is_broken_off_and_goes_on_with_the_next_page():
    content = ("nothing here\n" * 3_000 + "needle\n") * 2
    selector = read_selector({"type": "search", "pattern": "need+le", "context": 0})
    answers = []
    cursor = None

    for _ in range(100):
        clock = Ticking(PATIENCE / 3)
        answer = view(content.encode(), ContentKind.PROSE, selector, handle=HANDLE, cursor=cursor, clock=clock)
        answers.append(answer)
        cursor = answer.cursor
        if cursor is None:
            break

    assert shown_lines(answers) == [3_001, 6_002]
    assert "the search has not ended" in answers[0].text
    assert "no match up to line" in answers[0].text


def test_a_slow_search_in_one_long_line_goes_on_too():
    content = b"z" * 100_000 + b"needle" + b"z" * 50_000
    selector = read_selector({"type": "search", "pattern": "need+le"})
    cursor, answers = None, []

    for _ in range(100):
        clock = Ticking(PATIENCE * 2)
        answers.append(view(content, ContentKind.PROSE, selector, handle=HANDLE, cursor=cursor, clock=clock))
        cursor = answers[-1].cursor
        if cursor is None:
            break

    assert shown_places(answers) == [100_000]
    assert len(answers) > 10


def test_a_match_that_fits_no_page_is_shown_with_less_around_it():
    content = (
        "\x00" * 200 + "needle" + "\x00" * 190 + "\n" + "\x00" * 600 + "needle" + "\x00" * 60 + "needle" + "\x00" * 600
    )

    answers = list(pages(content, {"type": "search", "text": "needle", "context": 5}))

    assert shown_places(answers) == [200, 997, 1_063]


def test_a_long_match_that_fits_no_page_is_shown_in_part():
    content = "\x00" * 3_000

    answers = list(pages(content, {"type": "search", "text": "\x00" * 1_000}))

    assert shown_places(answers) == [0, 1_000, 2_000]


def test_a_pattern_hit_that_fits_no_page_gets_on_as_well():
    content = ("\x01" * 350 + "\n") * 3 + "\x01" * 3_000

    answers = list(pages(content, {"type": "search", "pattern": "^\\x01", "context": 5}))

    assert shown_lines(answers) == [1, 2, 3, 4]
