"""Descriptions are cut at the end of a sentence where one fits, else with an ellipsis, never over budget."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from toolcrib_core.errors import CardOverBudget
from toolcrib_core.tokens import count_tokens, split_tokens
from toolcrib_core.truncation import truncate_description

SENTENCES = "Create an issue. Assign it to a person! Is it urgent? Then say so in the title and tell the whole team"
BUDGETS = st.integers(min_value=1, max_value=30)
# Few different characters, so that terminators, merges and runs are frequent.
HOSTILE = st.text(st.sampled_from(".!? \n\"')-=ab…é漢👩\u200d\u0301🏽"), max_size=80)
PROSE = st.lists(
    st.sampled_from(
        [
            "Create",
            " an",
            " issue",
            ".",
            "!",
            "?",
            " v1.2",
            " (e.g. x)",
            " 東京",
            "の天気",
            " 👩‍👩‍👧‍👦",
            " 👍🏽",
            " é",
            " 12345",
            "…",
        ]
    ),
    max_size=40,
).map("".join)


@pytest.mark.req("GW-2.4", "D4-2.4a")
def test_a_text_within_its_budget_is_returned_verbatim() -> None:
    text = "  Two spaces,\ta tab and no full stop "

    assert truncate_description(text, count_tokens(text)) == text


@pytest.mark.req("GW-2.4", "D4-2.4b")
@pytest.mark.parametrize(
    ("budget", "expected"),
    [
        (4, "Create an issue."),
        (9, "Create an issue."),
        (10, "Create an issue. Assign it to a person!"),
        (13, "Create an issue. Assign it to a person!"),
        (14, "Create an issue. Assign it to a person! Is it urgent?"),
        (20, "Create an issue. Assign it to a person! Is it urgent?"),
    ],
)
def test_a_longer_text_ends_with_the_last_sentence_that_fits(budget: int, expected: str) -> None:
    assert truncate_description(SENTENCES, budget) == expected


@pytest.mark.req("GW-2.4", "D4-2.4c")
@pytest.mark.parametrize(
    ("budget", "expected"), [(3, "Create an…"), (2, "Create…"), (1, "…")], ids=["three", "two", "one"]
)
def test_where_no_sentence_fits_the_text_is_cut_one_token_short_and_gets_an_ellipsis(
    budget: int, expected: str
) -> None:
    assert truncate_description(SENTENCES, budget) == expected


@pytest.mark.req("GW-2.4", "D4-2.4d")
@settings(max_examples=300)
@given(st.one_of(HOSTILE, PROSE, st.text(max_size=80)), BUDGETS)
def test_the_result_never_has_more_tokens_than_the_budget_and_is_never_empty(text: str, budget: int) -> None:
    result = truncate_description(text, budget)

    assert count_tokens(result) <= budget
    assert bool(result) == bool(text)


@pytest.mark.req("GW-2.4", "D4-2.4b")
@settings(max_examples=300)
@given(st.one_of(HOSTILE, PROSE), BUDGETS)
@example(".Execute.mixer.Face.gf {}'.')).", 8)
def test_the_result_is_what_trying_every_prefix_would_find(text: str, budget: int) -> None:
    result = truncate_description(text, budget)

    if count_tokens(text) <= budget:
        assert result == text
        return
    prefixes = (text[:end] for end in range(len(text), 0, -1) if text[end - 1] in ".!?")
    longest = next((prefix for prefix in prefixes if count_tokens(prefix) <= budget), None)
    if longest is not None:
        assert result == longest
    else:
        assert result.endswith("…")
        assert text.startswith(result[:-1])


@pytest.mark.req("GW-2.4", "D4-2.4c")
@settings(max_examples=200)
@given(st.text(st.sampled_from("abc de\tfgh"), min_size=40, max_size=80), BUDGETS)
def test_a_hard_cut_of_plain_text_keeps_exactly_one_token_less_than_the_budget(text: str, budget: int) -> None:
    tokens = split_tokens(text)
    kept = b"".join(tokens[: budget - 1]).decode()

    result = truncate_description(text, budget)

    if len(tokens) > budget and count_tokens(f"{kept}…") <= budget:
        assert result == f"{kept}…"


@pytest.mark.req("GW-2.4")
@pytest.mark.fault("A10")
@pytest.mark.parametrize("text", ["👩‍👩‍👧‍👦" * 20, "👍🏽" * 20, "漢字かな交じり文" * 20, "e\u0301" * 60, "🏳️‍🌈" * 20])
def test_a_cut_never_leaves_half_a_character(text: str) -> None:
    results = [truncate_description(text, budget) for budget in range(1, 60)]

    for result in results:
        kept = result.removesuffix("…")
        assert text.startswith(kept)
        assert not kept.endswith("\u200d")
        assert "\ufffd" not in result


@pytest.mark.req("GW-2.4")
def test_a_cut_falls_between_families_of_emoji_not_inside_one() -> None:
    family = "👩‍👩‍👧"
    room_for_one = count_tokens(family) + 1

    results = [truncate_description(family * 20, budget) for budget in range(room_for_one, 60)]

    assert {result.removesuffix("…") for result in results} == {family * number for number in range(1, 5)}


@pytest.mark.fault("A10")
@pytest.mark.parametrize(
    "text",
    [
        "Word after word. " * 60_000,
        "a" * 1_000_000,
        " " * 1_000_000,
        "." * 1_000_000,
        "?!." * 350_000,
        "👩‍👩‍👧‍👦" * 100_000,
        "漢" * 1_000_000,
        "\u0301" * 1_000_000,
        "\ud800" * 1_000_000 + "end",
    ],
    ids=["prose", "one word", "spaces", "dots", "marks", "emoji", "CJK", "combining", "surrogates"],
)
def test_a_megabyte_of_anything_is_cut_to_the_budget(text: str) -> None:
    result = truncate_description(text, 60)

    assert 1 <= count_tokens(result) <= 60


@pytest.mark.req("GW-2.4")
@given(st.text(st.characters(exclude_categories=[]), max_size=60), BUDGETS)
def test_the_result_can_always_be_encoded(text: str, budget: int) -> None:
    result = truncate_description(text, budget)

    assert result.encode().decode() == result


def test_surrogates_that_form_a_pair_become_the_character_and_lone_ones_go() -> None:
    assert truncate_description("a\ud83d\ude00b\udc00", 10) == "a😀b"


@pytest.mark.req("GW-2.4", "D4-2.4e")
def test_another_process_with_another_hash_seed_and_locale_cuts_the_same_bytes() -> None:
    script = (
        "import sys; from toolcrib_core.truncation import truncate_description as cut;"
        f"sys.stdout.buffer.write('|'.join(cut({SENTENCES!r}, n) for n in range(1, 25)).encode())"
    )
    here = "|".join(truncate_description(SENTENCES, budget) for budget in range(1, 25)).encode()

    for seed in ("1", "2"):
        environment = {"PYTHONHASHSEED": seed, "LC_ALL": "C"}
        there = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, check=True)

        assert there.stdout == here


@pytest.mark.parametrize("budget", [0, -1])
def test_a_budget_below_one_token_is_refused(budget: int) -> None:
    with pytest.raises(CardOverBudget, match=str(budget)):
        truncate_description("text", budget)
