"""An index is a snapshot: what changes, what is shared, and what must not depend on how it came to be."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolcrib_core.definition import ToolDefinition
from toolcrib_core.search import SearchIndex

_WORDS = ("invoice", "customer", "branch", "photo", "meeting", "weather", "server", "password", "report", "folder")
_VERBS = ("create", "delete", "list", "export", "restore")


def made(number: int, *, edition: int = 0) -> ToolDefinition:
    verb, thing = _VERBS[number % 5], _WORDS[(number + edition) % 10]
    return ToolDefinition(
        namespace=f"server{number % 4}",
        name=f"{verb}_{number}",
        version="1.0.0",
        description=f"{verb.title()} a {thing} of the {_WORDS[(number * 7 + edition) % 10]}.",
    )


QUERIES = ("delete a customer", "restore the photo of a meeting", "server2 list", "exprot weather", "list_7", "tidy up")


def answers(index: SearchIndex) -> list[list[tuple[str, float]]]:
    return [[(hit.id, hit.score) for hit in index.search(query, limit=50).hits] for query in QUERIES]


@pytest.mark.req("AR-3.2")
@settings(max_examples=40, deadline=None)
@given(
    steps=st.lists(
        st.tuples(st.booleans(), st.sets(st.integers(0, 29), min_size=1, max_size=12), st.integers(0, 2)), max_size=8
    )
)
def test_an_index_changed_step_by_step_equals_one_built_at_once(
    steps: list[tuple[bool, set[int], int]],
) -> None:
    index, model = SearchIndex(), {}
    for adds, numbers, edition in steps:
        changed = [made(number, edition=edition) for number in sorted(numbers)]
        if adds:
            index = index.with_tools(changed)
            model |= {each.id: each for each in changed}
        else:
            index = index.with_tools(removed_ids=[each.id for each in changed])
            model = {key: each for key, each in model.items() if key not in {one.id for one in changed}}

    fresh = SearchIndex.build(model.values())

    assert sorted(index.ids) == sorted(model)
    assert answers(index) == answers(fresh)


@pytest.mark.req("AR-3.2")
def test_the_order_of_registration_changes_neither_hits_nor_scores() -> None:
    definitions = [made(number) for number in range(30)]
    expected = answers(SearchIndex.build(definitions))

    for seed in range(5):
        random.Random(seed).shuffle(definitions)
        index = SearchIndex()
        for each in definitions:
            index = index.with_tools([each])

        assert answers(index) == expected


@pytest.mark.req("AR-3.2")
def test_the_hash_seed_changes_neither_hits_nor_scores() -> None:
    program = (
        "from test_search_changes import SearchIndex, answers, made\n"
        "print(answers(SearchIndex.build([made(n) for n in range(30)])))"
    )
    here = str(Path(__file__).parent)

    printed = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join([here, *sys.path])},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    }

    assert len(printed) == 1


@pytest.mark.req("AR-3.2")
def test_an_old_snapshot_still_answers_as_it_did() -> None:
    before = SearchIndex.build([made(number) for number in range(20)])
    expected = answers(before)

    after = before.with_tools([made(number, edition=1) for number in range(5)], [made(9).id])

    assert answers(before) == expected
    assert made(9).id in before
    assert made(9).id not in after


@pytest.mark.req("AR-3.2")
def test_a_removed_tool_is_not_found_and_lends_no_words_to_repairs() -> None:
    rare = ToolDefinition(namespace="odd", name="zymurgy", description="Brewing.")
    index = SearchIndex.build([made(number) for number in range(10)]).with_tools([rare])

    without = index.with_tools(removed_ids=[rare.id])

    assert index.search("zymurgi").hits[0].id == rare.id
    assert without.search("zymurgi").hits == ()


@pytest.mark.req("AR-3.2")
def test_a_replaced_tool_is_found_by_its_new_words_only() -> None:
    old = ToolDefinition(namespace="a", name="run", version="1.0.0", description="Paints giraffes.")
    new = old.replace(description="Feeds elephants.")

    index = SearchIndex.build([old, made(1)]).with_tools([new])

    assert [hit.id for hit in index.search("elephants").hits] == [new.id]
    assert index.search("giraffes").hits == ()
    assert len(index) == 2


@pytest.mark.req("AR-3.2", "AR-3.3")
def test_adding_and_removing_a_server_leaves_the_postings_of_the_others_alone() -> None:
    index = SearchIndex.build([made(number) for number in range(200)])
    server = [made(number) for number in range(200, 210)]

    grown = index.with_tools(server)
    shrunk = grown.with_tools(removed_ids=[each.id for each in server])

    assert grown.segments[0] is index.segments[0]
    assert shrunk.segments == index.segments


@pytest.mark.req("AR-3.3")
def test_many_small_changes_leave_few_segments() -> None:
    index = SearchIndex()

    for number in range(300):
        index = index.with_tools([made(number)])

    assert len(index) == 300
    assert len(index.segments) <= 10


@pytest.mark.req("AR-3.2")
def test_an_index_can_be_brought_to_hold_exactly_what_a_registry_holds() -> None:
    index = SearchIndex.build([made(number) for number in range(10)])
    wanted = [made(number, edition=number % 2) for number in range(5, 15)]

    held = index.holding(wanted)

    assert sorted(held.ids) == sorted(each.id for each in wanted)
    assert answers(held) == answers(SearchIndex.build(wanted))
    assert held.holding(wanted).segments == held.segments


@pytest.mark.req("AR-3.2")
def test_threads_search_one_snapshot_without_a_lock() -> None:
    index = SearchIndex.build([made(number) for number in range(30)])
    expected = answers(SearchIndex.build([made(number) for number in range(30)]))
    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(answers(index))) for _ in range(4)]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == [expected] * 4


@pytest.mark.req("AR-3.2")
def test_every_real_tool_is_among_the_first_for_its_own_name(
    shared_catalog: list[dict[str, object]], define_mcp_tool: Callable[[dict[str, object]], ToolDefinition]
) -> None:
    definitions = [define_mcp_tool({**row, "tool": {**row["tool"], "inputSchema": {}}}) for row in shared_catalog]
    index = SearchIndex.build(definitions)

    lost = [
        each.id
        for each in definitions[::7]
        if index.search(f"{each.namespace}:{each.name}", limit=1).hits[0].id.partition("#")[0]
        != each.id.partition("#")[0]
    ]

    assert lost == []


def test_a_row_leads_to_its_tool_in_any_segment_and_no_further() -> None:
    index = SearchIndex.build([made(number) for number in range(20)]).with_tools([made(30)], [made(3).id])

    found = [segment.definitions[row].id for segment, row in map(index.place, range(len(index)))]

    assert tuple(found) == index.ids
    with pytest.raises(IndexError):
        index.place(len(index))
