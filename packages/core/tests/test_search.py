"""Search over a small catalogue: what is found, in which order, and why."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from toolcrib_core.definition import ToolDefinition
from toolcrib_core.errors import QueryError
from toolcrib_core.search import SearchIndex


def tool(qualified: str, description: str = "", **fields: object) -> ToolDefinition:
    namespace, _, name = qualified.partition(":")
    return ToolDefinition(namespace=namespace, name=name, description=description, **fields)


def parameters(**described: str) -> dict[str, object]:
    return {"type": "object", "properties": {name: {"description": text} for name, text in described.items()}}


CATALOG = (
    tool("github:create_issue", "Open a new issue in a repository."),
    tool("github:list_issues", "List the issues of a repository."),
    tool("github:create_pull_request", "Propose changes on a branch for merging."),
    tool("jira:transition_issue", "Move an issue to another status."),
    tool("mail:send_message", "Send an e-mail.", input_schema=parameters(recipient="Who gets it", subject="One line")),
    tool("files:deleteFile", "Erase a file from the disk."),
    tool("files:get", "Read what a file holds."),
    tool("maps:elevation", "Height above sea level of a point.", tags=("geo", "terrain")),
    tool("weather:forecast", "The weather of the next days.", examples=("will it rain tomorrow",)),
    tool("calendar:add_event", "Put an appointment into the calendar.", title="Schedule a meeting"),
    tool("ja:memo", "新しいメモを保存します。", title="メモを作成"),
)


@pytest.fixture(scope="module")
def index() -> SearchIndex:
    return SearchIndex.build(CATALOG)


def names(index: SearchIndex, query: str, **options: object) -> list[str]:
    by_id = {each.id: each.name for each in CATALOG}
    return [by_id[hit.id] for hit in index.search(query, **options).hits]


@pytest.mark.req("AR-3.1", "D1-2d")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("open an issue in a repository", "create_issue"),  # description
        ("erase file", "deleteFile"),  # camel case in a name
        ("recipient and subject", "send_message"),  # names of parameters
        ("terrain", "elevation"),  # a tag
        ("will it rain", "forecast"),  # an example
        ("schedule a meeting", "add_event"),  # a title
        ("jira", "transition_issue"),  # a namespace
    ],
)
def test_every_field_of_a_definition_is_searched(index: SearchIndex, query: str, expected: str) -> None:
    found = names(index, query)

    assert found[0] == expected


@pytest.mark.req("AR-3.1")
def test_the_description_of_a_server_is_searched() -> None:
    served = tool("xk:run", "Runs it.", metadata={"serverDescription": "Public holidays of ninety countries"})
    index = SearchIndex.build([*CATALOG, served])

    found = index.search("holidays in my country").hits

    assert found[0].id == served.id


@pytest.mark.req("AR-3.1")
@pytest.mark.parametrize(
    "query", ["deleting files", "delete file", "DELETE_FILES", "file.delete", "deletefile", "delete_fil"]
)
def test_case_inflection_and_separators_do_not_matter(index: SearchIndex, query: str) -> None:
    assert names(index, query)[0] == "deleteFile"


@pytest.mark.req("AR-3.1")
@pytest.mark.parametrize(
    ("typed", "expected"),
    [("elevaton", "elevation"), ("forceast", "forecast"), ("calender apointment", "add_event"), ("wether", "forecast")],
)
def test_a_mistyped_word_still_finds_its_tool(index: SearchIndex, typed: str, expected: str) -> None:
    assert names(index, typed)[0] == expected


@pytest.mark.req("AR-3.1")
@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("get rid of a document", "deleteFile"),
        ("how high is this mountain, altitude", "elevation"),
        ("open a ticket on github", "create_issue"),
        ("message a colleague", "send_message"),
    ],
)
def test_words_that_mean_the_same_find_the_tool(index: SearchIndex, said: str, expected: str) -> None:
    assert names(index, said)[0] == expected


@pytest.mark.req("AR-3.1")
@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("メモを保存", "memo"),
        ("这个坐标点的海拔", "elevation"),
        ("Datei löschen", "deleteFile"),
        ("enviar un mensaje", "send_message"),
        ("supprimer le fichier", "deleteFile"),
        ("погода на завтра", "forecast"),
    ],
)
def test_other_scripts_and_languages_are_understood(index: SearchIndex, said: str, expected: str) -> None:
    assert names(index, said)[0] == expected


@pytest.mark.req("AR-3.1")
def test_a_request_that_names_a_product_prefers_its_tools(index: SearchIndex) -> None:
    found = names(index, "jira: create an issue")

    assert found[0] == "transition_issue"


@pytest.mark.req("AR-3.1")
def test_each_step_of_a_long_request_is_heard(index: SearchIndex) -> None:
    found = names(
        index, "Find out the height of the summit, then send a message to Bob, and finally open a new issue", limit=5
    )

    assert {"elevation", "send_message", "create_issue"} <= set(found)


@pytest.mark.req("AR-3.2")
@pytest.mark.parametrize("form", ["{name}", "{namespace}:{name}", "{id}", "{namespace} {name}"])
def test_every_tool_is_first_for_its_own_name_and_id(index: SearchIndex, form: str) -> None:
    for each in CATALOG:
        query = form.format(name=each.name, namespace=each.namespace, id=each.id)

        found = index.search(query).hits

        assert found[0].id == each.id, query


@pytest.mark.req("AR-3.2")
def test_every_tool_of_our_corpus_is_found_by_its_own_name(
    own_catalog: list[dict[str, object]], define_mcp_tool: Callable[[dict[str, object]], ToolDefinition]
) -> None:
    definitions = [define_mcp_tool(row) for row in own_catalog]
    index = SearchIndex.build(definitions)

    lost = [
        each.id
        for each in definitions
        if not any(hit.id == each.id for hit in index.search(f"{each.namespace}:{each.name}", limit=3).hits)
    ]

    assert lost == []


@pytest.mark.req("AR-3.2")
def test_tools_without_evidence_are_never_hits(index: SearchIndex) -> None:
    found = index.search("elevation", limit=100)

    assert 0 < len(found.hits) < len(CATALOG)
    assert all(hit.score > 0 for hit in found.hits)
    assert index.search("qqqqq").hits == ()


@pytest.mark.req("AR-3.2")
def test_equal_scores_stand_in_the_order_of_their_ids() -> None:
    twins = [tool(f"{letter}x:run_job", "Runs a job.") for letter in "cab"]
    index = SearchIndex.build(twins)

    found = [hit.id for hit in index.search("run a job").hits]

    assert found == sorted(each.id for each in twins)


@pytest.mark.req("AR-3.1")
def test_an_explanation_names_the_words_the_fields_and_what_was_not_answered(index: SearchIndex) -> None:
    hit = index.search("erase the disk gently", explain=True).hits[0]

    assert hit.explanation is not None
    matches = {match.said: match for match in hit.explanation.matches}
    assert matches["erase"].relation == "exact"
    assert matches["disk"].fields == ("summary",)
    assert hit.explanation.unmatched == ("gently",)
    assert sum(match.score for match in hit.explanation.matches) == pytest.approx(hit.score, abs=1e-4)


@pytest.mark.req("AR-3.1")
def test_an_explanation_says_when_the_request_is_the_tools_own_name(index: SearchIndex) -> None:
    hit = index.search("maps:elevation", explain=True).hits[0]

    assert hit.explanation is not None
    assert hit.explanation.exact_name


@pytest.mark.req("CL-5")
def test_hits_far_behind_the_best_are_not_relevant() -> None:
    tools = [tool("git:list_commits", "Lists the commits of a branch."), tool("fs:list", "Lists a folder.")]
    index = SearchIndex.build([*tools, tool("git:log", "Shows the commits of a branch.")])

    found = index.search("list the commits of a branch")

    assert [hit.id for hit in found.hits[: found.relevant]] == [tools[0].id, index.search("git:log").hits[0].id]
    assert len(found.hits) == 3
    assert index.search("qqqqq").relevant == 0
    assert index.search("list_commits").relevant == 1


@pytest.mark.req("AR-3.1")
def test_a_plain_match_is_surer_than_a_vague_one(index: SearchIndex) -> None:
    sure = index.search("list the issues of a repository")
    vague = index.search("something about my holiday plans")
    foreign = index.search("scarf wool repository")

    assert sure.confident
    assert not foreign.confident
    assert 0 <= vague.confidence < sure.confidence <= 1


def test_a_filter_keeps_the_tools_it_is_true_for(index: SearchIndex) -> None:
    found = names(index, "issue", filter=lambda definition: definition.namespace == "jira")

    assert found == ["transition_issue"]


@pytest.mark.parametrize("limit", [0, -1, 1_001, True, 2.5])
def test_a_limit_out_of_bounds_is_refused(index: SearchIndex, limit: int) -> None:
    with pytest.raises(QueryError, match="limit"):
        index.search("issue", limit=limit)


def test_a_request_that_is_not_text_is_refused(index: SearchIndex) -> None:
    with pytest.raises(QueryError, match="text"):
        index.search(b"issue")  # type: ignore[arg-type]  # the mistake under test
