"""Whole conversations through the real client, with a server on this machine that speaks the Messages API."""

from __future__ import annotations

import json
from typing import Any

import pytest
from anthropic import Anthropic, BadRequestError

from tests.adapters.anthropic_server import AnthropicModel, says, tool_use
from tests.adapters.arithmetic import DEFINITIONS, FIND, TOOLBOX, add
from tests.adapters.http_server import serving
from tests.adapters.running_examples import run_example
from toolcrib_anthropic import (
    AnthropicStream,
    LoadedTools,
    parse_anthropic_calls,
    to_anthropic_choice,
    to_anthropic_results,
    to_anthropic_tools,
)

pytestmark = [pytest.mark.req("AD-9"), pytest.mark.enable_socket]


PARALLEL = [
    says("Let me see."),
    tool_use("t1", "math__add", a=2, b=3),
    tool_use("t2", "math__divide", a=1, b=0),
    tool_use("t3", "math__subtract", a=1, b=0),
    tool_use("t4", "math__add", a="two", b=3),
]


def _client(url: str) -> Anthropic:
    return Anthropic(api_key="no-key", base_url=url, max_retries=0, timeout=10)


def _asked(text: str) -> list[Any]:
    return [{"role": "user", "content": text}]


async def test_two_turns_with_parallel_calls_an_error_a_wrong_name_and_wrong_arguments() -> None:
    tools = to_anthropic_tools(DEFINITIONS, strict=True, cache="5m")
    model = AnthropicModel([PARALLEL, [says("5, and the rest failed.")]])
    conversation = _asked("2+3 and 1/0")
    declared: Any = tools.tools
    choice: Any = to_anthropic_choice("any", tools)
    with serving(model) as url, _client(url) as client:
        first = client.messages.create(
            model="m", max_tokens=99, messages=conversation, tools=declared, tool_choice=choice
        )
        parsed = parse_anthropic_calls(first, tools)
        results = await TOOLBOX.execute(parsed.calls)
        conversation += [{"role": "assistant", "content": first.content}, to_anthropic_results(parsed, results)]
        second = client.messages.create(model="m", max_tokens=99, messages=conversation, tools=declared)

    assert second.content[0].to_dict()["text"] == "5, and the rest failed."
    told = model.requests[1]["messages"][2]["content"]
    assert [(each["tool_use_id"], each.get("is_error", False)) for each in told] == [
        ("t1", False),
        ("t2", True),
        ("t3", True),
        ("t4", True),
    ]
    assert told[0]["content"] == "5"
    assert "No tool is called `math__subtract`" in told[2]["content"]
    assert "`/a` must be an integer" in told[3]["content"]
    assert model.bodies[1].find(json.dumps(tools.tools, separators=(",", ":")).encode()) >= 0


@pytest.mark.parametrize("helper", [False, True])
async def test_a_streamed_turn_is_answered_like_a_whole_one(*, helper: bool) -> None:
    tools = to_anthropic_tools(DEFINITIONS)
    model = AnthropicModel([PARALLEL[:3], [says("done")]])
    stream = AnthropicStream(tools)
    conversation = _asked("go")
    declared: Any = tools.tools
    with serving(model) as url, _client(url) as client:
        if helper:
            with client.messages.stream(model="m", max_tokens=99, messages=conversation, tools=declared) as events:
                for event in events:
                    stream.feed(event)
        else:
            for raw in client.messages.create(
                model="m", max_tokens=99, messages=conversation, tools=declared, stream=True
            ):
                stream.feed(raw)
        parsed = stream.calls()
        results = await TOOLBOX.execute(parsed.calls)
        conversation += [{"role": "assistant", "content": PARALLEL[:3]}, to_anthropic_results(parsed, results)]
        last = client.messages.create(model="m", max_tokens=99, messages=conversation, tools=declared)

    assert [each.outcome for each in results] == ["success", "error"]
    assert last.stop_reason == "end_turn"


@pytest.mark.req("AD-5")
async def test_a_tool_is_found_loaded_and_called_while_all_that_was_sent_before_stays() -> None:
    tools = to_anthropic_tools([FIND, *DEFINITIONS], loaded=[FIND], cache="5m")
    model = AnthropicModel(
        [[tool_use("s1", "find_tools", query="add")], [tool_use("t1", "math__add", a=1, b=1)], [says("2")]]
    )
    conversation = _asked("1+1")
    declared: Any = tools.tools
    with serving(model) as url, _client(url) as client:
        for _ in range(2):
            message = client.messages.create(model="m", max_tokens=99, messages=conversation, tools=declared)
            parsed = parse_anthropic_calls(message, tools)
            results: list[Any] = [
                LoadedTools.found(each, [add.definition], tools.names)
                if each.tool == FIND.id
                else await TOOLBOX.execute(each)
                for each in parsed.calls
            ]
            conversation += [{"role": "assistant", "content": message.content}, to_anthropic_results(parsed, results)]
        client.messages.create(model="m", max_tokens=99, messages=conversation, tools=declared)

    loaded = model.requests[1]["messages"][2]["content"][0]["content"]
    assert loaded == [{"type": "tool_reference", "tool_name": "math__add"}]
    assert model.requests[2]["messages"][4]["content"][0]["content"] == "2"
    for earlier, later in zip(model.requests, model.requests[1:], strict=False):
        assert json.dumps(later["tools"]) == json.dumps(earlier["tools"])
        assert json.dumps(later["messages"]).startswith(json.dumps(earlier["messages"])[:-1])


def test_the_server_refuses_what_the_api_refuses() -> None:
    tools: Any = to_anthropic_tools([FIND]).tools
    reference = {"type": "tool_reference", "tool_name": "never_declared"}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": [reference]}
    refused: list[tuple[str, list[Any], list[Any]]] = [
        ("should match", _asked("go"), [{"name": "a:b", "input_schema": {"type": "object"}}]),
        ("must be unique", _asked("go"), tools * 2),
        ("At least one tool", _asked("go"), [tools[0] | {"defer_loading": True}]),
        ("without `tool_result`", [{"role": "assistant", "content": [tool_use("t1", "a")]}, *_asked("go")], tools),
        (
            "not found in available tools",
            [{"role": "assistant", "content": [tool_use("t1", "a")]}, {"role": "user", "content": [result]}],
            tools,
        ),
    ]
    with serving(AnthropicModel([])) as url, _client(url) as client:
        for said, conversation, declared in refused:
            with pytest.raises(BadRequestError, match=said):
                client.messages.create(model="m", max_tokens=9, messages=conversation, tools=declared)


@pytest.mark.slow
def test_the_example_talks_to_the_real_client_and_prints_the_answer() -> None:
    turns = [
        [
            tool_use("t1", "weather__forecast", city="Oslo", days=1),
            tool_use("t2", "people__find_contact", name="Ada"),
            tool_use("t3", "charts__plot", values=[1, 2]),
        ],
        [tool_use("t4", "calendar__create_meeting", title="Walk", day="2026-11-18", with_whom=["Ada"])],
        [says("It is arranged.")],
    ]
    model = AnthropicModel(turns)
    with serving(model) as url:
        run = run_example(
            "anthropic_tools.py",
            "Plan a walk with Ada.",
            environ={"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "no-key"},
        )

    assert (run.stdout, run.returncode) == ("It is arranged.\n", 0), run.stderr
    told = model.requests[2]["messages"][2]["content"]
    assert told[0]["content"] == '{"Oslo, day 1":20.0}'
    assert told[2]["content"][0]["type"] == "image"
    assert model.requests[2]["messages"][4]["content"][0]["content"] == "Walk on 18 November 2026 with Ada"
