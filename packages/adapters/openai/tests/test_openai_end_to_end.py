"""Whole conversations through the real client, with a server on this machine that speaks both APIs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from openai import BadRequestError, OpenAI

from tests.adapters.arithmetic import DEFINITIONS, FIND, TOOLBOX, add
from tests.adapters.http_server import serving
from tests.adapters.openai_server import OpenAIModel, broken_call, calls, says, searches
from tests.adapters.running_examples import run_example
from toolcrib_core import ResultContent
from toolcrib_core.providers.loading import LoadedTools
from toolcrib_openai import (
    OpenAIStream,
    parse_openai_calls,
    to_openai_choice,
    to_openai_results,
    to_openai_tools,
    with_loaded,
)

pytestmark = [pytest.mark.req("AD-9"), pytest.mark.enable_socket]


PARALLEL = [
    calls("c1", "math__add", a=2, b=3, note=None),
    calls("c2", "math__divide", a=1, b=0),
    broken_call("c3", "math__add", '{"a": 1,'),
]


def _client(url: str) -> OpenAI:
    return OpenAI(api_key="no-key", base_url=f"{url}/v1", max_retries=0, timeout=10)


async def test_two_turns_of_responses_with_parallel_calls_an_error_and_a_broken_call() -> None:
    tools = to_openai_tools(DEFINITIONS, strict=True)
    model = OpenAIModel([PARALLEL, [says("5, and the rest failed.")]])
    conversation: list[Any] = [{"role": "user", "content": "2+3 and 1/0"}]
    with serving(model) as url, _client(url) as client:
        declared: Any = tools.tools
        first = client.responses.create(model="m", input=conversation, tools=declared, tool_choice="auto")
        parsed = parse_openai_calls(first, tools)
        results = await TOOLBOX.execute(parsed.calls)
        conversation += [*first.output, *to_openai_results(parsed, results, tools)]
        second = client.responses.create(model="m", input=conversation, tools=declared)

    assert second.output_text == "5, and the rest failed."
    outputs = [each["output"] for each in model.requests[1]["input"] if each.get("type") == "function_call_output"]
    assert outputs[0] == "5"
    assert [json.loads(each)["error"]["code"] for each in outputs[1:]] == [
        "tool.math.divide.failed",
        "toolbox.unreadable-call",
    ]
    assert model.bodies[1].find(json.dumps(tools.tools, separators=(",", ":")).encode()) >= 0


async def test_two_turns_of_chat_completions_with_parallel_calls_an_error_and_a_broken_call() -> None:
    tools = to_openai_tools(DEFINITIONS, api="chat", strict=True)
    model = OpenAIModel([PARALLEL, [says("done")]])
    conversation: list[Any] = [{"role": "user", "content": "2+3 and 1/0"}]
    with serving(model) as url, _client(url) as client:
        declared: Any = tools.tools
        choice: Any = to_openai_choice("required", tools)
        first = client.chat.completions.create(model="m", messages=conversation, tools=declared, tool_choice=choice)
        parsed = parse_openai_calls(first, tools)
        results = await TOOLBOX.execute(parsed.calls)
        conversation += [first.choices[0].message, *to_openai_results(parsed, results, tools)]
        second = client.chat.completions.create(model="m", messages=conversation, tools=declared)

    assert second.choices[0].message.content == "done"
    told = [each for each in model.requests[1]["messages"] if each["role"] == "tool"]
    assert [each["tool_call_id"] for each in told] == ["c1", "c2", "c3"]


@pytest.mark.parametrize("api", ["responses", "chat"])
async def test_a_streamed_turn_is_answered_like_a_whole_one(api: str) -> None:
    tools = to_openai_tools(DEFINITIONS, api=api, strict=True)
    model = OpenAIModel([PARALLEL[:2], [says("done")]])
    stream = OpenAIStream(tools)
    asked: list[Any] = [{"role": "user", "content": "go"}]
    declared: Any = tools.tools
    with serving(model) as url, _client(url) as client:
        if api == "responses":
            for event in client.responses.create(model="m", input=asked, tools=declared, stream=True):
                stream.feed(event)
        else:
            for chunk in client.chat.completions.create(model="m", messages=asked, tools=declared, stream=True):
                stream.feed(chunk)
    parsed = stream.calls()
    results = await TOOLBOX.execute(parsed.calls)

    assert [each.outcome for each in results] == ["success", "error"]
    answers = to_openai_results(parsed, results, tools)
    assert [each.get("call_id", each.get("tool_call_id")) for each in answers] == ["c1", "c2"]


async def test_a_tool_is_found_loaded_and_called_while_all_that_was_sent_before_stays() -> None:
    tools = to_openai_tools(DEFINITIONS, loaded=[], search=FIND, strict=True)
    model = OpenAIModel([[searches("s1", query="add")], [calls("c1", "math__add", a=1, b=1, note=None)], [says("2")]])
    conversation: list[Any] = [{"role": "user", "content": "1+1"}]
    with serving(model) as url, _client(url) as client:
        for _ in range(2):
            response = client.responses.create(model="m", input=conversation, tools=tools.tools)
            parsed = parse_openai_calls(response, tools)
            results: list[Any] = [
                LoadedTools.found(each, [add.definition], tools.names)
                if each.tool == FIND.id
                else await TOOLBOX.execute(each)
                for each in parsed.calls
            ]
            conversation += [*response.output, *to_openai_results(parsed, results, tools)]
        last = client.responses.create(model="m", input=conversation, tools=tools.tools)

    assert last.output_text == "2"
    assert model.requests[0]["tools"] == model.requests[2]["tools"]
    for earlier, later in zip(model.requests, model.requests[1:], strict=False):
        assert json.dumps(later["input"]).startswith(json.dumps(earlier["input"])[:-1])


async def test_chat_completions_gets_a_found_tool_with_the_next_request() -> None:
    tools = to_openai_tools([FIND, *DEFINITIONS], api="chat", loaded=[FIND])
    model = OpenAIModel([[calls("s1", "find_tools", query="add")], [calls("c1", "math__add", a=1, b=1)]])
    conversation: list[Any] = [{"role": "user", "content": "1+1"}]
    with serving(model) as url, _client(url) as client:
        declared: Any = tools.tools
        first = client.chat.completions.create(model="m", messages=conversation, tools=declared)
        parsed = parse_openai_calls(first, tools)
        found = LoadedTools.found(parsed.calls[0], [add.definition], tools.names)
        conversation += [first.choices[0].message, *to_openai_results(parsed, [found], tools)]
        declared = with_loaded(tools, found.definitions).tools
        second = client.chat.completions.create(model="m", messages=conversation, tools=declared)

    assert [each.tool for each in parse_openai_calls(second, tools).calls] == [add.definition.id]


def test_the_server_refuses_what_the_api_refuses() -> None:
    naive = {
        "type": "function",
        "name": "math__add",
        "strict": True,
        "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}},
    }
    tools: Any = to_openai_tools(DEFINITIONS).tools
    with serving(OpenAIModel([[says("never")]])) as url, _client(url) as client:
        with pytest.raises(BadRequestError, match="additionalProperties"):
            client.responses.create(model="m", input="go", tools=[naive])  # type: ignore[list-item]  # as a naive one has it
        with pytest.raises(BadRequestError, match="No tool output"):
            client.responses.create(model="m", input=[calls("c1", "math__add")], tools=tools)  # type: ignore[list-item]  # as above


def test_a_result_for_nobody_is_refused_before_it_is_sent() -> None:
    tools = to_openai_tools(DEFINITIONS)
    parsed = parse_openai_calls([calls("c1", "math__add")], tools)

    assert to_openai_results(parsed, [ResultContent("c1", value=5)], tools)[0]["output"] == "5"


@pytest.mark.slow
def test_the_example_talks_to_the_real_client_and_prints_the_answer() -> None:
    turns = [
        [
            calls("c1", "weather__forecast", city="Oslo", days=1),
            calls("c2", "people__find_contact", name="Ada"),
            calls("c3", "charts__plot", values=[1, 2]),
        ],
        [calls("c4", "calendar__create_meeting", title="Walk", day="2026-11-18", with_whom=["Ada"], room=None)],
        [says("It is arranged.")],
    ]
    model = OpenAIModel(turns)
    with serving(model) as url:
        run = run_example(
            "openai_tools.py",
            "Plan a walk with Ada.",
            environ={"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "no-key"},
        )

    assert (run.stdout, run.returncode) == ("It is arranged.\n", 0), run.stderr
    outputs = [each["output"] for each in model.requests[2]["input"] if each.get("type") == "function_call_output"]
    assert outputs[0] == '{"Oslo, day 1":20.0}'
    assert outputs[2][0]["type"] == "input_image"
    assert outputs[3] == "Walk on 18 November 2026 with Ada"
