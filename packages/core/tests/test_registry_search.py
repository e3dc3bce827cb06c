"""Searching a registry: its tools as they are now, or as they were when a snapshot was taken."""

from __future__ import annotations

import pytest

from toolcrib_core.definition import ToolDefinition
from toolcrib_core.errors import QueryError
from toolcrib_core.predicates import in_namespace
from toolcrib_core.registry import create_registry


def _tool(tool_id: str, description: str, **fields: object) -> ToolDefinition:
    return ToolDefinition(identity=tool_id, description=description, **fields)


ISSUE = _tool("github:create_issue@1.0.0", "Open an issue in a repository.")
MAIL = _tool("mail:send@1.0.0", "Send an e-mail to somebody.")
TICKET = _tool("jira:create_issue@1.0.0", "Open an issue in a project.")


@pytest.mark.req("AR-2.1", "AR-3.1")
def test_a_registry_finds_its_tools_by_what_they_do() -> None:
    registry = create_registry([ISSUE, MAIL])

    assert [hit.id for hit in registry.search("write an email").hits][:1] == [MAIL.id]
    assert registry.search("quantum chromodynamics").hits == ()


@pytest.mark.req("AR-2.1", "AR-3.2")
def test_a_search_sees_every_change_and_a_snapshot_none() -> None:
    registry = create_registry([ISSUE])
    before = registry.snapshot()
    registry.register(MAIL)
    registry.unregister(ISSUE.id)

    assert [hit.id for hit in registry.search("send mail").hits] == [MAIL.id]
    assert registry.search("open an issue").hits == ()
    assert [hit.id for hit in before.search("open an issue").hits] == [ISSUE.id]


@pytest.mark.req("AR-3.2")
def test_an_index_is_made_once_per_state_and_shared_with_the_snapshot() -> None:
    registry = create_registry([ISSUE, MAIL])

    assert registry.search_index() is registry.search_index()
    assert registry.snapshot().search_index() is registry.search_index()


@pytest.mark.req("AR-3.2")
def test_searching_a_snapshot_and_the_registry_in_turn_makes_no_index_anew() -> None:
    registry = create_registry([ISSUE])
    before = registry.snapshot()
    old = before.search_index()
    registry.register(MAIL)
    new = registry.search_index()

    assert before.search_index() is old
    assert registry.search_index() is new


@pytest.mark.req("AR-3.1")
def test_a_predicate_narrows_a_search_and_an_explanation_says_why() -> None:
    registry = create_registry([ISSUE, TICKET])

    [hit] = registry.search("open an issue", where=in_namespace("jira"), explain=True).hits

    assert hit.id == TICKET.id
    assert hit.explanation is not None
    assert "issue" in {match.said for match in hit.explanation.matches}


@pytest.mark.req("AR-3.1")
def test_a_predicate_that_fails_is_an_error_and_not_an_empty_answer() -> None:
    def broken(_: ToolDefinition) -> bool:
        raise KeyError("x")

    with pytest.raises(QueryError, match="broken"):
        create_registry([ISSUE]).search("issue", where=broken)


@pytest.mark.req("AR-3.1")
def test_findability_reads_the_cases_that_definitions_carry() -> None:
    mail = MAIL.replace(metadata={"searchCases": ["write to a colleague by e-mail"]})

    report = create_registry([ISSUE, mail]).findability()

    assert [(case.tool_id, case.rank) for case in report.cases] == [(MAIL.id, 1)]
