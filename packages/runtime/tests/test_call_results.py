"""What comes out of a call: the result and its fields."""

from __future__ import annotations

import hashlib

import orjson
import pytest
from small_toolboxes import box, called

from toolcrib_core import ToolError
from toolcrib_runtime import CachePolicy, ToolCall, ToolFailed, ToolResult
from toolcrib_runtime.testing import FakeClock, fake_tool

pytestmark = pytest.mark.req("RT-3")


async def test_a_success_says_what_was_called_what_came_out_and_how_long_it_took() -> None:
    clock = FakeClock(start=50.0, wall=1_700_000_000.0)

    async def work(city: str) -> str:
        await clock.advance(2.0)
        return f"sun in {city}"

    result = await box(work, clock=clock).execute(ToolCall("work", {"city": "Oslo"}, id="c1"))

    assert (result.call_id, result.outcome, result.value, result.error) == ("c1", "success", "sun in Oslo", None)
    assert result.tool_id == "default:work"
    assert (result.attempts, result.source, result.ok) == (1, "run", True)
    assert (result.started_at, result.duration, result.queued) == (1_700_000_000.0, 2.0, 0.0)


async def test_the_digests_are_of_the_canonical_arguments_and_value() -> None:
    tool = fake_tool("echo", returns={"b": 1, "a": [2]})

    one = await called(tool, {"y": 1.0, "x": "ü"})
    other = await called(tool, '{"x": "\\u00fc", "y": 1}')

    assert one.input_digest == other.input_digest == hashlib.sha256('{"x":"ü","y":1}'.encode()).hexdigest()
    assert one.output_digest == hashlib.sha256(b'{"a":[2],"b":1}').hexdigest()


@pytest.mark.req("D1-0r")
async def test_a_failure_has_an_error_and_no_value() -> None:
    result = await called(fake_tool("fail", raises=ValueError("no")))

    assert (result.outcome, result.value, result.ok, result.output_digest) == ("error", None, False, None)
    assert isinstance(result.error, ToolFailed)
    assert result.text == str(result.error)
    assert result.content == ({"type": "text", "text": str(result.error)},)


async def test_unwrapping_gives_the_value_or_raises_the_very_error() -> None:
    good, bad = await called(fake_tool("good", returns=1)), await called(fake_tool("bad", raises=ValueError))

    assert good.unwrap() == 1
    with pytest.raises(ToolError) as raised:
        bad.unwrap()
    assert raised.value is bad.error


async def test_a_result_as_json_has_the_keys_of_the_wire_and_leaves_out_what_is_not_there() -> None:
    good = (await called(fake_tool("good", returns=None), {"a": 1})).to_dict()
    bad = (await called(fake_tool("bad", raises=ValueError("no")))).to_dict()

    assert list(good) == [
        "callId",
        "toolId",
        "outcome",
        "value",
        "content",
        "attempts",
        "source",
        "startedAt",
        "duration",
        "queued",
        "inputDigest",
        "outputDigest",
    ]
    assert good["value"] is None
    assert "value" not in bad
    assert bad["error"]["code"] == "tool.default.bad.failed"
    assert orjson.dumps([good, bad])


async def test_nothing_shows_arguments_values_or_approvals_when_it_is_printed() -> None:
    call = ToolCall("echo", {"key": "secret-1"}, approval="secret-2")

    result = await box(fake_tool("echo", returns="secret-3")).execute(call)

    assert repr(call) == "ToolCall(tool='echo', id=None)"
    assert "secret" not in repr(result)
    assert repr(await called(fake_tool("bad", raises=ValueError("secret-4")))).endswith(
        "outcome='error', error='tool.default.bad.failed')"
    )


async def test_a_call_without_an_id_gets_one_that_no_other_has() -> None:
    results = await box(fake_tool("echo")).execute([ToolCall("echo")] * 100)

    assert len({each.call_id for each in results}) == 100


async def test_an_unknown_tool_is_a_result_and_nothing_is_run() -> None:
    tool = fake_tool("forecast")

    result = await box(tool).execute(ToolCall("forcast", id="c1"))

    assert (result.call_id, result.tool_id, result.outcome, result.attempts) == ("c1", "forcast", "error", 0)
    assert result.error is not None
    assert (result.error.code, result.error.category) == ("toolbox.unknown-tool", "not_found")
    assert "forecast" in str(result.error)
    assert tool.calls == []


@pytest.mark.parametrize("name", ["", ":", "a:b:c", "x" * 10_000, "a\nb", "forecast@nonsense range", None, 5])
async def test_a_name_that_is_no_name_is_a_result_too(name: object) -> None:
    result = await box(fake_tool("forecast")).call(name)

    assert result.outcome == "error"
    assert result.call_id.startswith("call_")
    assert len(result.text) < 1_000


async def test_a_remembered_value_says_so() -> None:
    toolbox = box(fake_tool("echo", returns=1, cache=CachePolicy()))

    first, second = await toolbox.call("echo"), await toolbox.call("echo")

    assert [(each.source, each.attempts, each.value) for each in (first, second)] == [("run", 1, 1), ("cache", 0, 1)]


def test_calls_and_results_cannot_be_changed() -> None:
    call, result = ToolCall("echo"), ToolResult("c1", "t:echo", "success")

    with pytest.raises(AttributeError):
        call.tool = "other"
    with pytest.raises(AttributeError):
        result.value = 1
