"""Whole conversations through the real client, with a server on this machine that speaks the Gemini API."""

from __future__ import annotations

import json
from typing import Any

import pytest
from google import genai
from google.genai.errors import ClientError

from tests.adapters.arithmetic import DEFINITIONS, FIND, TOOLBOX, add
from tests.adapters.gemini_server import GeminiModel, function_call, says
from tests.adapters.http_server import serving
from tests.adapters.running_examples import run_example
from toolcrib_gemini import (
    GeminiStream,
    LoadedTools,
    parse_gemini_calls,
    to_gemini_choice,
    to_gemini_results,
    to_gemini_tools,
    with_loaded,
)

pytestmark = [pytest.mark.req("AD-9"), pytest.mark.enable_socket]


PARALLEL = [
    says("Let me see."),
    function_call("math__add", "c1", a=2, b=3),
    function_call("math__divide", a=1, b=0),
    function_call("math__subtract", a=1, b=0),
    function_call("math__add", a="two", b=3),
]


def _client(url: str) -> genai.Client:
    return genai.Client(api_key="no-key", http_options=genai.types.HttpOptions(base_url=url, timeout=10_000))


def _asked(text: str) -> list[Any]:
    return [{"role": "user", "parts": [{"text": text}]}]


def _content(response: genai.types.GenerateContentResponse) -> Any:
    assert response.candidates
    return response.candidates[0].content


async def test_two_turns_with_parallel_calls_an_error_a_wrong_name_and_wrong_arguments() -> None:
    tools = to_gemini_tools(DEFINITIONS)
    model = GeminiModel([PARALLEL, [says("5, and the rest failed.")]])
    conversation = _asked("2+3 and 1/0")
    config: Any = {"tools": tools.tools, "tool_config": to_gemini_choice("any", tools, allowed=DEFINITIONS)}
    with serving(model) as url, _client(url) as client:
        first = client.models.generate_content(model="m", contents=conversation, config=config)
        parsed = parse_gemini_calls(first, tools)
        results = await TOOLBOX.execute(parsed.calls)
        conversation += [_content(first), to_gemini_results(parsed, results)]
        second = client.models.generate_content(model="m", contents=conversation, config=config)

    assert second.text == "5, and the rest failed."
    told = [part["functionResponse"] for part in model.requests[1]["contents"][2]["parts"]]
    assert told[0] == {"id": "c1", "name": "math__add", "response": {"output": 5}}
    assert [each["response"]["error"]["code"] for each in told[1:]] == [
        "tool.math.divide.failed",
        "toolbox.unknown-tool",
        "toolbox.invalid-arguments",
    ]
    declared = model.requests[0]["tools"][0]["functionDeclarations"]
    # The versions of the SDK spell it in one way or the other, and the API takes both.
    sent = declared[0].get("parameters_json_schema", declared[0].get("parametersJsonSchema"))
    assert sent == tools.tools[0]["function_declarations"][0]["parameters_json_schema"]
    assert model.requests[0]["toolConfig"]["functionCallingConfig"]["allowedFunctionNames"] == [
        "math__add",
        "math__divide",
    ]


async def test_a_streamed_turn_is_answered_like_a_whole_one() -> None:
    tools = to_gemini_tools(DEFINITIONS)
    model = GeminiModel([PARALLEL[:3], [says("done")]])
    stream = GeminiStream(tools)
    conversation = _asked("go")
    config: Any = {"tools": tools.tools}
    with serving(model) as url, _client(url) as client:
        for chunk in client.models.generate_content_stream(model="m", contents=conversation, config=config):
            stream.feed(chunk)
        parsed = stream.calls()
        results = await TOOLBOX.execute(parsed.calls)
        conversation += [{"role": "model", "parts": PARALLEL[:3]}, to_gemini_results(parsed, results)]
        last = client.models.generate_content(model="m", contents=conversation, config=config)

    assert [each.outcome for each in results] == ["success", "error"]
    assert last.text == "done"


@pytest.mark.req("AD-5")
async def test_a_tool_is_found_declared_and_called_while_all_that_was_sent_before_stays() -> None:
    tools = to_gemini_tools([FIND, *DEFINITIONS], loaded=[FIND])
    model = GeminiModel(
        [[function_call("find_tools", query="add")], [function_call("math__add", a=1, b=1)], [says("2")]]
    )
    conversation = _asked("1+1")
    with serving(model) as url, _client(url) as client:
        for _ in range(2):
            config: Any = {"tools": tools.tools}
            response = client.models.generate_content(model="m", contents=conversation, config=config)
            parsed = parse_gemini_calls(response, tools)
            results: list[Any] = []
            for each in parsed.calls:
                if each.tool == FIND.id:
                    found = LoadedTools.found(each, [add.definition], tools.names)
                    tools = with_loaded(tools, found)
                    results.append(found)
                else:
                    results.append(await TOOLBOX.execute(each))
            conversation += [_content(response), to_gemini_results(parsed, results)]
        last = client.models.generate_content(model="m", contents=conversation, config={"tools": tools.tools})

    assert last.text == "2"
    names = [[each["name"] for each in one["tools"][0]["functionDeclarations"]] for one in model.requests]
    assert names == [["find_tools"], ["find_tools", "math__add"], ["find_tools", "math__add"]]
    for earlier, later in zip(model.requests, model.requests[1:], strict=False):
        assert json.dumps(later["contents"]).startswith(json.dumps(earlier["contents"])[:-1])
        assert json.dumps(later["tools"]).startswith(json.dumps(earlier["tools"])[:-3])


def test_the_server_refuses_what_the_api_refuses() -> None:
    declarations: Any = to_gemini_tools([FIND]).tools[0]["function_declarations"]
    parts = [{"function_call": {"name": "find_tools", "args": {}}}]
    refused: list[tuple[str, list[Any], list[Any]]] = [
        ("Invalid function name", _asked("go"), [{"name": "1a"}]),
        ("Duplicate function", _asked("go"), declarations * 2),
        ("At most 512", _asked("go"), [{"name": f"f{at}"} for at in range(513)]),
        ("Cannot find field", _asked("go"), [{"name": "a", "behavior": "BLOCKING"}]),
        ("number of function response parts", [{"role": "model", "parts": parts}, *_asked("go")], declarations),
    ]
    with serving(GeminiModel([])) as url, _client(url) as client:
        for said, conversation, declared in refused:
            with pytest.raises((ClientError, ValueError), match=said):
                client.models.generate_content(
                    model="m", contents=conversation, config={"tools": [{"function_declarations": declared}]}
                )


@pytest.mark.slow
def test_the_example_talks_to_the_real_client_and_prints_the_answer() -> None:
    turns = [
        [
            function_call("weather__forecast", "c1", city="Oslo", days=1),
            function_call("people__find_contact", "c2", name="Ada"),
            function_call("charts__plot", "c3", values=[1, 2]),
        ],
        [function_call("calendar__create_meeting", title="Walk", day="2026-11-18", with_whom=["Ada"])],
        [says("It is arranged.")],
    ]
    model = GeminiModel(turns)
    with serving(model) as url:
        run = run_example(
            "gemini_tools.py",
            "Plan a walk with Ada.",
            environ={"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "no-key"},
        )

    assert (run.stdout, run.returncode) == ("It is arranged.\n", 0), run.stderr
    told = [part["functionResponse"] for part in model.requests[2]["contents"][2]["parts"]]
    assert told[0]["response"] == {"output": {"Oslo, day 1": 20.0}}
    assert told[2]["parts"][0]["inline_data"]["mime_type"] == "image/png"
    last = model.requests[2]["contents"][4]["parts"][0]["functionResponse"]
    assert last["response"] == {"output": "Walk on 18 November 2026 with Ada"}
