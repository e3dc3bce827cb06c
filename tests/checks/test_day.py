"""How `scripts/day` counts tokens, finds tools on a page, answers questions, and judges two days."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from checks.day_agent import (
    Agent,
    Person,
    Prompts,
    TaskOutcome,
    fill_references,
    find_id,
    is_error,
    prompt_tokens,
    text_of,
    tokens_of_tools,
)
from checks.day_report import Day, Report, render_report, to_json
from checks.day_tasks import Step, Task, read_tasks
from checks.server_fixtures import Fixtures
from toolcrib_core import count_tokens


@pytest.mark.parametrize(("turns", "total"), [((), 110), ((5,), 110 + 115), ((5, 7), 110 + 115 + 122)])
def test_each_turn_reads_everything_before_it_again(turns: tuple[int, ...], total: int) -> None:
    assert prompt_tokens(100, 10, turns) == total


@pytest.mark.parametrize(
    ("page", "found"),
    [
        ("- git:git_log#ac6a532a  Show the log.", "git:git_log#ac6a532a"),
        ("git:git_log: shows the log", "git:git_log"),
        ("git:git_log@1.2.0 shows", "git:git_log@1.2.0"),
        ("See git:git_log.", "git:git_log"),
        ("git:git_log_all", None),
        ("old-git:git_log", None),
    ],
)
def test_a_tool_is_found_on_a_page_by_its_whole_name(page: str, found: str | None) -> None:
    assert find_id("git:git_log", ["nothing", page]) == found


def test_a_reference_is_what_the_pattern_finds_in_the_answer_before() -> None:
    arguments = {"target": r'{ref:button "Clap" \[ref=(\w+)\]}', "count": 1}

    assert fill_references(arguments, '- button "Clap" [ref=e4]') == {"target": "e4", "count": 1}
    assert fill_references(arguments, "no button") == arguments


def test_a_model_reads_text_and_the_structure_only_without_any() -> None:
    text = {"result": {"content": [{"type": "text", "text": "a"}, {"type": "image"}], "structuredContent": {"b": 1}}}

    assert text_of(text) == "a"
    assert text_of({"result": {"content": [], "structuredContent": {"b": 1}}}) == '{"b": 1}'
    responses: tuple[dict[str, Any], ...] = (text, {"error": {}}, {"result": {"isError": True}})
    assert text_of({"error": {"message": "no"}}) == "no"
    assert [is_error(each) for each in responses] == [False, True, True]


def test_of_a_tool_a_model_is_given_name_description_and_arguments() -> None:
    tool = {"name": "count", "description": "Count.", "inputSchema": {"type": "object"}}
    tokens = count_tokens('{"name":"count","description":"Count.","inputSchema":{"type":"object"}}')

    assert tokens_of_tools([tool]) == tokens_of_tools([{**tool, "annotations": {"title": "Count"}}]) == tokens


ALL = ["once", "for this session", "always for this tool", "always for this server", "no", "never"]


@pytest.mark.parametrize(
    ("message", "schema", "chosen"),
    [
        ("May sqlite:read_query run?", {"enum": ALL}, "always for this server"),
        ("May memory:create_entities run?", {"enum": ALL}, "always for this tool"),
        ("May pond:count run?", {"oneOf": [{"const": each, "title": each} for each in ALL]}, "always for this tool"),
        ("May pond:count run?", {"enum": ["once", "always"]}, "always"),
        ("May pond:count run?", {"enum": ["once", "no"]}, "once"),
        ("May pond:count run?", {"type": "boolean"}, True),
    ],
)
def test_the_person_answers_always_where_it_can(message: str, schema: dict[str, Any], chosen: object) -> None:
    person = Person()

    answer = person.answer({"message": message, "requestedSchema": {"properties": {"answer": schema}}})

    assert answer == {"action": "accept", "content": {"answer": chosen}}
    assert person.asked == [message]


class Gateway:
    """Stands for the client: pages by query, answers by tool."""

    def __init__(self, answers: dict[str, str], *, fails: bool = False) -> None:
        self.answers = answers
        self.fails = fails
        self.calls: list[tuple[str, Any]] = []

    async def call_tool(self, name: str, arguments: Any, *, seconds: float) -> dict[str, Any]:
        assert seconds
        self.calls.append((name, arguments))
        key = arguments.get("query") or arguments.get("tool_id") or arguments["handle"]
        failed = {"isError": True} if self.fails and name == "tool_execute" else {}
        return {"result": {"content": [{"type": "text", "text": self.answers.get(key, "")}], **failed}}


TASK = Task(
    name="birds",
    question="How many birds?",
    queries=("birds", "count birds"),
    steps=(Step(tool="pond:count", arguments={"a": 1}, holds="7", view={"type": "all"}, whole="6 7 8"),),
    answer="7",
)


async def outcome(gateway: Any, task: Task = TASK) -> TaskOutcome:
    return await Agent(gateway, Person(), Prompts(gateway=100, direct=1_000)).work_on(task)


async def test_the_agent_searches_calls_and_reads_what_is_too_large() -> None:
    gateway = Gateway({"birds": "pond:count#1 counts", "pond:count#1": "see art_abc", "art_abc": "7"})

    found = await outcome(gateway)

    assert gateway.calls[1:] == [
        ("tool_execute", {"tool_id": "pond:count#1", "args": {"a": 1}}),
        ("tool_view", {"handle": "art_abc", "selector": {"type": "all"}}),
    ]
    assert (found.problem, found.calls, found.wrong_turns) == (None, 3, 0)
    question = count_tokens(TASK.question)
    call = count_tokens('{"a":1}') + count_tokens("6 7 8")
    assert found.direct_tokens == 2 * (1_000 + question) + call
    assert found.prompt_tokens > 4 * (100 + question)


async def test_a_page_without_the_tool_is_a_wrong_turn_and_the_next_search_may_mend_it() -> None:
    found = await outcome(Gateway({"birds": "pond:feed", "count birds": "pond:count", "pond:count": "7"}))

    assert (found.problem, found.browses, found.wrong_turns) == (None, 2, 1)


@pytest.mark.parametrize(
    ("gateway", "problem"),
    [
        (Gateway({}), "no search showed pond:count"),
        (Gateway({"birds": "pond:count", "pond:count": "8"}), "pond:count: `7` is not in 8"),
        (Gateway({"birds": "pond:count", "pond:count": "broken"}, fails=True), "pond:count answered: broken"),
    ],
)
async def test_a_task_that_is_not_done_says_why(gateway: Gateway, problem: str) -> None:
    found = await outcome(gateway)

    assert found.problem == problem
    assert found.wrong_turns >= 1


def day(questions: int = 0, *, calls: int = 2, problem: str | None = None) -> Day:
    task = TaskOutcome(name="birds", problem=problem, browses=1, executes=calls - 1, prompt_tokens=1_234)
    return Day(tasks=(task,), asked=("May it run?\nReally?",) * questions)


def report(*days: Day, missing: dict[str, str] | None = None) -> Report:
    return Report(servers=2, tools=9, missing=missing or {}, prompts=Prompts(gateway=500, direct=9_000), days=days)


@pytest.mark.req("CL-25")
@pytest.mark.parametrize(
    ("days", "problem"),
    [
        ((day(6), day()), None),
        ((day(7), day()), "day 1: 7 questions, more than 6"),
        ((day(6), day(1)), "day 2: 1 questions, more than 0"),
        ((day(calls=41), day()), "day 1: 41 calls, more than 40"),
        ((day(), day(problem="no search showed it")), "day 2, birds: no search showed it"),
    ],
)
def test_a_day_fails_on_a_task_not_done_and_on_a_passed_bound(days: tuple[Day, ...], problem: str | None) -> None:
    found = report(*days)

    assert found.problems == ([] if problem is None else [problem])
    assert to_json(found)["problems"] == found.problems
    assert ("FAILED" in render_report(found)) is (problem is not None)


def test_a_server_that_is_missing_fails_the_day() -> None:
    assert report(day(), day(), missing={"git": "not there"}).problems == ["git is missing: not there"]


def test_the_report_prints_tokens_questions_and_the_first_line_of_each() -> None:
    printed = render_report(report(day(1), day()))

    assert "2 servers, 9 tools; tokens: 9,000, through toolcrib 500" in printed
    assert "day 1: 1 of 1 tasks done, 2 calls (1 browse, 1 execute, 0 view), 1 questions" in printed
    assert "  asked: May it run?\n" in printed


@pytest.mark.req("CL-25")
def test_there_are_fifteen_tasks_and_each_says_what_its_answers_hold(tmp_path: Path) -> None:
    tasks = read_tasks(Fixtures(folder=tmp_path, origin="http://127.0.0.1:1"))

    assert len({each.name for each in tasks}) == len(tasks) == 15
    assert all(task.queries and task.steps for task in tasks)
