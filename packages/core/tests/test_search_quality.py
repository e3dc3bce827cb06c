"""The quality targets of search on real queries, and the costs that must not grow."""

from __future__ import annotations

import subprocess
import sys

import pytest

from bench.retrieval_metrics import quality
from bench.retrieval_sets import RetrievalSet, development_sets
from tests.real_parts import real_part_missing
from toolcrib_core.definition import ToolDefinition
from toolcrib_core.search import SearchIndex
from toolcrib_core.search.ranking import best_rows, lexical_scores


@pytest.fixture(scope="module")
def judged() -> dict[str, RetrievalSet]:
    found = {each.name: each for each in development_sets()}
    if not found:
        real_part_missing("the retrieval sets, `../shared/data/retrieval` beside this checkout")
    return found


@pytest.mark.req("AR-3.3")
@pytest.mark.parametrize(
    ("name", "least"), [("cw83", 0.86), ("metatool_multi", 0.74), ("toolalpaca", 0.90), ("mcp-dev", 0.50)]
)
def test_recall_at_five_without_a_model_reaches_its_target(
    judged: dict[str, RetrievalSet], name: str, least: float
) -> None:
    asked = judged[name]
    index = SearchIndex.build(asked.definitions)

    rankings = [[asked.ids[hit.id] for hit in index.search(query.text).hits] for query in asked.queries]

    assert quality(asked.queries, rankings)["recall@5"] >= least


@pytest.mark.req("AR-3.3")
def test_a_query_touches_only_the_tools_that_share_a_word_with_it() -> None:
    def tool(number: int) -> ToolDefinition:
        word = "".join(chr(97 + number // 26**place % 26) for place in range(3)) + "xqw"
        return ToolDefinition(namespace="s", name=f"tool_{number}", version="1", description=f"does {word} things")

    index = SearchIndex.build([tool(number) for number in range(500)])

    lexical = lexical_scores(index, "zcaxqw")

    assert int((lexical.scores > 0).sum()) < 20
    assert lexical.ids[best_rows(lexical.scores, lexical.ids, 1)[0]] == tool(77).id


@pytest.mark.req("AR-3.3")
def test_adding_a_server_reads_only_its_tools() -> None:
    tools = [ToolDefinition(namespace="big", name=f"do_{number}", description="Does it.") for number in range(1_000)]
    index = SearchIndex.build(tools)
    server = [ToolDefinition(namespace="small", name=f"try_{number}", description="Tries it.") for number in range(20)]

    grown = index.with_tools(server)

    assert [len(segment.definitions) for segment in grown.segments] == [1_000, 20]
    assert grown.segments[0].rows is index.segments[0].rows


@pytest.mark.req("AR-3.3")
def test_importing_core_does_not_load_what_only_search_needs() -> None:
    program = "import sys, toolcrib_core; print(sorted({'numpy', 'snowballstemmer'} & set(sys.modules)))"

    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout

    assert printed.strip() == "[]"


@pytest.mark.req("AR-3.2")
def test_an_index_shows_its_size_and_not_its_contents() -> None:
    index = SearchIndex.build([ToolDefinition(namespace="a", name="b")])

    assert repr(index) == "SearchIndex(1 tools)"
