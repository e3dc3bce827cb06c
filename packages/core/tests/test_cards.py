"""Cards have exactly their ten fields, stay inside their token budget, and come in one order."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot
from pydantic import ValidationError

from toolcrib_core.card_text import one_line
from toolcrib_core.cards import (
    CARD_MAX_TOKENS,
    CARD_TARGET_TOKENS,
    PREAMBLE_TOKENS,
    ChoiceCard,
    card_tokens,
    make_card,
    order_cards,
    render_card,
    render_cards,
)
from toolcrib_core.definition import ToolDefinition
from toolcrib_core.errors import CardOverBudget, CatalogError
from toolcrib_core.risk import ToolRisk
from toolcrib_core.tokens import count_tokens

# Token-hungry: one character can take several tokens, and none merges with its neighbour.
DENSE_WORD = "xQ7zJ9vK3wP5yB1"


def define(**fields: Any) -> ToolDefinition:
    given = {"identity": "github:create_issue@1.4.0", "description": "Create an issue in a repository.", **fields}
    return ToolDefinition(**given)


def card(tool_id: str, *, score: float | None = None, description: str = "Does it.") -> ChoiceCard:
    return ChoiceCard(id=tool_id, name="tool", namespace="n", description=description, score=score)


@pytest.mark.req("GW-2.1", "D4-2.1a", "D4-7a")
def test_the_json_form_of_a_card_has_exactly_these_fields() -> None:
    definition = define(
        tags=["write", "issues"],
        input_schema={"type": "object", "properties": {"title": {"type": "string"}}},
        risk=ToolRisk(effects="write"),
        cost_hint=0.5,
    )

    made = make_card(definition, score=0.82)

    assert made.model_dump(mode="json") == snapshot(
        {
            "id": "github:create_issue@1.4.0",
            "name": "create_issue",
            "description": "Create an issue in a repository.",
            "tags": ["issues", "write"],
            "kind": "tool",
            "namespace": "github",
            "has_schema": True,
            "score": 0.82,
            "cost_hint": 0.5,
            "side_effects": True,
        }
    )


@pytest.mark.req("GW-2.1")
def test_a_card_read_from_its_json_form_is_the_same_card() -> None:
    made = make_card(define(tags=["a"], cost_hint=2), score=1.5)

    assert ChoiceCard.model_validate_json(made.model_dump_json()) == made


@pytest.mark.req("GW-2.1", "D4-2.1b")
def test_a_card_takes_no_other_field() -> None:
    with pytest.raises(ValidationError, match="input_schema"):
        ChoiceCard(id="a:b@1", name="b", namespace="a", description="B.", input_schema={})  # type: ignore[call-arg]  # on purpose


@pytest.mark.req("GW-2.1", "D4-2.1c", "D4-2.1k", "D4-2.1l", "D4-2.1m")
@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({}, "github:create_issue@1.4.0 — Create an issue in a repository."),
        ({"tags": ["write", "issues"]}, "github:create_issue@1.4.0 — Create an issue in a repository. [issues, write]"),
        ({"kind": "agent"}, "github:create_issue@1.4.0 (agent) — Create an issue in a repository."),
        ({"cost_hint": 0.5}, "github:create_issue@1.4.0 — Create an issue in a repository. (cost 0.5)"),
        (
            {"risk": ToolRisk(effects="write")},
            "github:create_issue@1.4.0 — Create an issue in a repository. (side effects)",
        ),
        (
            {"risk": ToolRisk(effects="read", destructive=True), "tags": ["x"], "cost_hint": 3},
            "github:create_issue@1.4.0 — Create an issue in a repository. [x] (side effects) (cost 3)",
        ),
        ({"risk": ToolRisk(effects="read")}, "github:create_issue@1.4.0 — Create an issue in a repository."),
    ],
)
def test_a_card_renders_as_one_line_with_only_what_is_worth_saying(fields: dict[str, Any], line: str) -> None:
    assert render_card(make_card(define(**fields), score=0.9)) == line


@pytest.mark.req("GW-2.1", "D4-2.1g")
def test_the_author_s_first_five_short_tags_are_shown_sorted_and_long_ones_are_left_out_whole() -> None:
    long = "a-tag-of-twenty-five-char"
    definition = define(tags=["zeta", long, "beta", "mu", "alpha", "a-tag-of-twenty-four-cha", "never"])

    tags = make_card(definition).tags

    assert tags == ("a-tag-of-twenty-four-cha", "alpha", "beta", "mu", "zeta")


@pytest.mark.req("GW-2.1", "D4-2.1j")
@pytest.mark.parametrize(
    ("schema", "has_schema"),
    [
        ({"type": "object"}, False),
        ({"type": "object", "$schema": "https://json-schema.org/draft/2020-12/schema"}, False),
        ({"type": "object", "properties": {"a": {}}}, True),
        ({"type": "object", "additionalProperties": {"type": "string"}}, True),
    ],
)
def test_has_schema_says_whether_there_is_more_to_know_than_that_it_takes_an_object(
    schema: dict[str, Any], *, has_schema: bool
) -> None:
    assert make_card(define(input_schema=schema)).has_schema is has_schema


@pytest.mark.req("GW-2.1", "GW-2.3", "D4-2.1e")
def test_a_name_of_sixty_four_characters_has_a_card_and_one_of_sixty_five_has_none() -> None:
    fits = define(identity=f"n:{'tool_name_' * 6}abcd@1")
    too_long = define(identity=f"n:{'tool_name_' * 6}abcde@1")

    assert len(make_card(fits).name) == 64
    with pytest.raises(CardOverBudget, match="65 characters") as caught:
        make_card(too_long)
    assert caught.value.details == {"tool": too_long.id, "field": "name"}


@pytest.mark.req("GW-2.3", "D4-2.3c")
def test_a_long_description_is_cut_so_that_the_line_with_its_break_meets_the_target() -> None:
    definition = define(description="An issue is a note about work to be done " * 20, tags=["issues"])

    made = make_card(definition)

    assert made.description.endswith("…")
    assert CARD_TARGET_TOKENS - 2 <= count_tokens(render_card(made) + "\n") <= CARD_TARGET_TOKENS


@pytest.mark.req("GW-2.3")
def test_where_the_rest_leaves_too_little_below_the_target_the_description_reaches_towards_the_maximum() -> None:
    definition = define(identity=f"n:{DENSE_WORD * 3}@1", tags=["ab-zqxj-kvwp", "cd-zqxj-kvwp"])
    bare = definition.model_copy(update={"description": "It."})
    definition = definition.model_copy(update={"description": "Words about what it does, one after the other, " * 20})

    made = make_card(definition)

    assert card_tokens(make_card(bare)) > CARD_TARGET_TOKENS
    assert made.description.startswith("Words about what it does")
    assert CARD_TARGET_TOKENS < card_tokens(made) <= CARD_MAX_TOKENS


@pytest.mark.req("GW-2.3")
def test_a_description_whose_end_merges_badly_with_the_tags_is_cut_shorter() -> None:
    description = '12👩‍👩‍👧"!"…\\/)👩‍👩‍👧👩‍👩‍👧12漢漢\\….é?👩‍👩‍👧"?"/"\\!?é\\--12👩‍👩‍👧??'
    definition = ToolDefinition(identity="n:t@1", description=description, tags=["a"])

    made = make_card(definition)

    assert card_tokens(made) <= CARD_TARGET_TOKENS
    assert description.startswith(made.description.removesuffix("…"))


@pytest.mark.req("GW-2.3", "GW-2.4")
def test_a_card_with_room_for_an_ellipsis_only_is_refused_instead_of_saying_nothing() -> None:
    definition = define(identity=f"n:{DENSE_WORD * 4}@{DENSE_WORD[:-2]}", description="👩‍👩‍👧‍👦")
    in_words = definition.model_copy(update={"description": "It."})

    assert make_card(in_words).description == "It."
    with pytest.raises(CardOverBudget):
        make_card(definition)


@pytest.mark.req("GW-2.3", "D4-2.3h", "D4-2.3i")
@pytest.mark.parametrize("description", ["", "Does it.", "word " * 100, "👩‍👩‍👧‍👦"])
def test_a_card_over_the_maximum_even_without_its_description_is_refused_by_name(description: str) -> None:
    definition = define(identity=f"{DENSE_WORD.lower() * 4}:{DENSE_WORD * 4}@{DENSE_WORD * 2}", description=description)

    with pytest.raises(CatalogError, match="has no card") as caught:
        make_card(definition)

    assert isinstance(caught.value, CardOverBudget)
    assert caught.value.details == {"tool": definition.id, "field": "id"}


@pytest.mark.req("GW-2.3")
@pytest.mark.fault("A10")
@pytest.mark.parametrize(
    "description",
    [
        "word. " * 170_000,
        "w" * 1_000_000,
        "\n" * 1_000_000,
        "👩‍👩‍👧‍👦" * 40_000,
        "漢字" * 300_000,
        "{" * 1_000_000,
        '{"a":' * 200_000,
    ],
    ids=["prose", "one word", "line breaks", "emoji", "CJK", "braces", "objects"],
)
def test_a_megabyte_of_description_still_gives_a_card(description: str) -> None:
    made = make_card(define(description=description))

    assert made.description
    assert card_tokens(made) <= CARD_TARGET_TOKENS


@pytest.mark.req("GW-2.3", "GW-2.4", "D4-2.3d", "D4-2.3i")
@settings(max_examples=150)
@given(
    # A definition refuses NUL and lone surrogates before there is a card to make.
    description=st.one_of(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=400),
        st.text(st.sampled_from("a .!?\n{}[]\"':é漢👩\u200d"), max_size=300),
    ),
    tags=st.lists(st.from_regex(r"[a-zé]{1,8}", fullmatch=True), max_size=7),
    cost=st.floats(0, 1e300),
)
def test_any_description_and_tags_give_a_card_of_at_most_eighty_tokens_on_one_line(
    description: str, tags: list[str], cost: float
) -> None:
    made = make_card(define(description=description, tags=tags, cost_hint=cost))

    assert card_tokens(made) <= CARD_MAX_TOKENS
    assert made.description
    assert len(render_card(made).splitlines()) == 1
    assert ChoiceCard.model_validate(made.model_dump()) == made


@pytest.mark.req("GW-2.3", "D4-2.3b")
@settings(max_examples=150)
@given(
    st.lists(
        st.tuples(
            st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=12),
            st.text(max_size=60).map(one_line),
        ),
        max_size=8,
    ),
    st.text(max_size=40),
)
def test_a_response_takes_exactly_the_tokens_of_its_lines_and_never_more_than_its_bound(
    texts: list[tuple[str, str]], preamble: str
) -> None:
    cards = [card(tool_id, description=description) for tool_id, description in texts]
    cards = [each for each in cards if card_tokens(each) <= CARD_MAX_TOKENS]
    preamble = preamble if count_tokens(f"{preamble}\n") <= PREAMBLE_TOKENS else ""

    tokens = count_tokens(render_cards(cards, preamble=preamble))

    assert tokens <= CARD_MAX_TOKENS * len(cards) + PREAMBLE_TOKENS
    assert tokens == sum(map(card_tokens, cards)) + (count_tokens(f"{preamble}\n") if preamble else 0)


@pytest.mark.req("GW-2.3", "D4-2.3f")
def test_many_cards_at_their_maximum_stay_within_the_bound_together() -> None:
    dice = random.Random(9)
    endings = [".", "…", ")", "]", " ?!", "'", '"', "é", "漢", "7", "`"]
    descriptions = [" word" * dice.randrange(66, 74) + dice.choice(endings) for _ in range(400)]
    cards = [card(f"n:t{number}@1", description=each.strip()) for number, each in enumerate(descriptions)]
    fitting = [each for each in cards if card_tokens(each) <= CARD_MAX_TOKENS]

    tokens = count_tokens(render_cards(fitting))

    assert len(fitting) > 200
    assert tokens == sum(map(card_tokens, fitting)) <= CARD_MAX_TOKENS * len(fitting)


@pytest.mark.req("GW-2.3", "D4-2.3g")
def test_a_response_refuses_a_card_over_the_maximum_and_a_preamble_over_its_share() -> None:
    with pytest.raises(CardOverBudget, match="`a:b@1`"):
        render_cards([card("a:b@1", description="word " * 79 + "word")])
    with pytest.raises(CatalogError, match="preamble"):
        render_cards([], preamble="word " * PREAMBLE_TOKENS)


def test_a_response_is_the_preamble_and_one_line_for_each_card() -> None:
    cards = [card("n:low@1", score=0.1), card("n:high@1", score=0.9)]

    assert render_cards(cards, preamble="Two tools.") == snapshot("""\
Two tools.
n:high@1 — Does it.
n:low@1 — Does it.
""")
    assert render_cards(cards, keep_order=True).splitlines()[0] == "n:low@1 — Does it."
    assert render_cards([]) == ""


@pytest.mark.req("GW-2.5", "D4-2.5a", "D4-2.5b")
def test_cards_are_ordered_by_descending_score_then_by_id_with_the_unscored_last() -> None:
    expected = [
        card("n:z@1", score=2),
        card("n:a@1", score=0.5),
        card("n:b@1", score=0.5),
        card("n:m@1", score=0),
        card("n:k@1", score=-1),
        card("n:c@1"),
        card("n:d@1"),
    ]
    shuffled = random.Random(3).sample(expected, len(expected))

    assert list(order_cards(shuffled)) == expected


@pytest.mark.req("GW-2.1", "D4-2.1f", "D4-2.1g")
@pytest.mark.parametrize(
    "wrong",
    [
        {"id": ""},
        {"id": "two words"},
        {"id": "a:b@1\nc:d@1"},
        {"description": "two\nlines"},
        {"description": "hidden \u202e text"},
        {"tags": ("b", "a")},
        {"tags": ("a", "a")},
        {"tags": ("a", "b", "c", "d", "e", "f")},
        {"tags": ("t" * 25,)},
    ],
    ids=repr,
)
def test_a_card_that_could_not_be_shown_as_it_is_cannot_be_made(wrong: dict[str, Any]) -> None:
    fields = {"id": "a:b@1", "name": "b", "namespace": "a", "description": "B.", **wrong}

    with pytest.raises(CatalogError):
        ChoiceCard(**fields)


@pytest.mark.req("D4-2.1h")
@pytest.mark.parametrize(
    "wrong", [{"score": float("nan")}, {"score": float("inf")}, {"cost_hint": -1}, {"kind": "robot"}]
)
def test_a_card_refuses_numbers_that_cannot_be_ordered_and_unknown_kinds(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ChoiceCard(**{"id": "a:b@1", "name": "b", "namespace": "a", "description": "B.", **wrong})


def test_a_card_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        card("a:b@1").description = "Something else."
