"""Words: how texts and identifiers are split, stemmed and compared."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib_core.definition import ToolDefinition
from toolcrib_core.search import SearchIndex
from toolcrib_core.search.ranking import lexical_scores
from toolcrib_core.search.related import related_words, tool_words
from toolcrib_core.search.spelling import Lexicon, slips_between
from toolcrib_core.search.text import MAX_WORD_LENGTH, all_terms, stem, terms, words
from toolcrib_core.search.translation import dictionary, is_foreign


@pytest.mark.req("AR-3.1")
@pytest.mark.parametrize(
    ("run", "expected"),
    [
        ("issue", ("issue",)),
        ("GitHub", ("github", "git", "hub")),
        ("HTTPServer", ("httpserver", "http", "server")),
        ("base64", ("base64", "base", "64")),
        ("s3", ("s3",)),
        ("Größe", ("grosse",)),
        ("検索する", ("検索", "索す", "する")),
        ("日", ("日",)),
        ("Jira任务", ("jira", "任务")),
    ],
)
def test_a_run_is_split_into_the_words_people_search_for(run: str, expected: tuple[str, ...]) -> None:
    assert words(run) == expected


@pytest.mark.req("AR-3.1")
def test_separators_part_words_and_grammar_is_left_out_of_prose() -> None:
    assert terms("list_issues of the-repository.name") == ["list", "issu", "repositori", "name"]
    assert all_terms("get_the_list") == ["get", "the", "list"]


@pytest.mark.req("AR-3.1")
@pytest.mark.parametrize(
    "forms", [("create", "creates", "created", "creating"), ("query", "queries"), ("file", "files")]
)
def test_the_forms_of_a_word_have_one_stem(forms: tuple[str, ...]) -> None:
    assert len({stem(form) for form in forms}) == 1


@given(text=st.text(max_size=100))
def test_no_term_is_empty_or_longer_than_a_word(text: str) -> None:
    found = all_terms(text)

    assert all(0 < len(term) <= 2 * MAX_WORD_LENGTH for term in found)


@pytest.mark.parametrize(
    ("one", "other", "slips"),
    [
        ("switch", "swich", 1),
        ("switch", "swicth", 1),
        ("switch", "switch", 0),
        ("abcd", "abdc", 1),
        ("abcd", "wxyz", 3),
    ],
)
def test_slips_count_letters_missed_added_changed_or_swapped(one: str, other: str, slips: int) -> None:
    assert slips_between(one, other, 2) == slips


@given(one=st.text("abcd", max_size=8), other=st.text("abcd", max_size=8))
def test_slips_are_the_same_both_ways(one: str, other: str) -> None:
    assert slips_between(one, other, 8) == slips_between(other, one, 8)


@pytest.mark.req("AR-3.1")
def test_a_lexicon_finds_what_a_word_may_be_a_slip_for_and_nothing_short() -> None:
    lexicon = Lexicon.of(["cluster", "plaster", "staging", "tag", "日本"])

    assert [word for word, _ in lexicon.alike("clster")] == ["cluster"]
    assert [word for word, _ in lexicon.alike("stagng")] == ["staging"]
    assert lexicon.alike("tga") == []


@pytest.mark.req("AR-3.1")
def test_the_shipped_table_relates_words_of_one_meaning() -> None:
    table = related_words()

    assert "remov" in [word for word, _ in table.of("delet")]
    assert table.of("no such stem") == []
    assert all(0 < closeness <= 1 for _, closeness in table.of("delet"))


@pytest.mark.req("AR-3.1")
def test_the_shipped_groups_are_symmetric_and_phrases_read_one_way() -> None:
    known = tool_words()

    assert all(word in known.synonyms[other] for word, others in known.synonyms.items() for other in others)
    assert "assign" in known.phrases["hand", "over"]


@pytest.mark.req("AR-3.1")
@pytest.mark.parametrize(
    ("word", "meant"), [("loschen", "delet"), ("aufgaben", "task"), ("supprimer", "delet"), ("supprimera", "delet")]
)
def test_the_dictionary_knows_words_and_their_inflections(word: str, meant: str) -> None:
    assert meant in dictionary().of(word)


@pytest.mark.req("AR-3.1")
@pytest.mark.parametrize(
    "text", ["Wie spät ist es gerade", "¿cuántos avisos tengo en Linear?", "海拔有多高", "открыть файл"]
)
def test_a_request_in_another_language_is_told_by_its_little_words_and_letters(text: str) -> None:
    assert is_foreign(text)


@pytest.mark.req("AR-3.1")
@pytest.mark.parametrize(
    "text",
    [
        "which action has the page of this table",
        "create a résumé document",
        "flights to los angeles per day",
        "x.com",
        "",
    ],
)
def test_an_english_request_is_not_taken_for_another_language(text: str) -> None:
    assert not is_foreign(text)


@pytest.mark.req("AR-3.1")
def test_a_request_can_be_read_with_its_mistyped_words_repaired() -> None:
    index = SearchIndex.build([ToolDefinition(namespace="grafana", name="panels", description="Charts.")])

    lexical = lexical_scores(index, "grafanna: pictures of a moutain")

    assert lexical.corrected == "grafana: pictures of a mountain"


@pytest.mark.req("AR-3.1")
def test_a_long_request_is_split_where_its_steps_part() -> None:
    lexical = lexical_scores(SearchIndex(), "Find the invoice, then mail it to bob@example.com and archive it.")

    assert lexical.clauses == ("Find the invoice", "mail it to bob@example.com", "archive it")
    assert len(lexical.scores) == 0
