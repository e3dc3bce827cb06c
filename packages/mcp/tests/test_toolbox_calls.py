"""Calling the tools of a served toolbox: values, content, errors as data, progress, cancellation, principals."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from toolbox_cases import PIXEL, RecordingChannel, add, boxed, called, crawl, old_forecast, request_of, serving

from toolcrib_core import RegistryWarning, ToolError
from toolcrib_mcp.rpc import RpcError
from toolcrib_mcp.rpc.codec import encode_message
from toolcrib_mcp.upstreams import Era
from toolcrib_runtime import RetryPolicy, RuntimeToolContext, pipe, tool

ERAS = [Era.HANDSHAKE, Era.MODERN]


@pytest.mark.req("GW-9.1")
@pytest.mark.parametrize("era", ERAS)
async def test_an_object_is_structured_content_and_text(era: Era) -> None:
    result = await called(serving(), "weather__forecast", {"city": "Oslo"}, era=era)

    assert result == {
        "content": [{"type": "text", "text": '{"Oslo":3}'}],
        "structuredContent": {"Oslo": 3},
        "isError": False,
    }


@pytest.mark.req("GW-9.1")
@pytest.mark.parametrize(("era", "structured"), [(Era.HANDSHAKE, {"result": 3}), (Era.MODERN, 3)])
async def test_a_value_that_a_schema_promises_is_structured_content(era: Era, structured: object) -> None:
    result = await called(serving(), "add", {"a": 1, "b": 2}, era=era)

    assert result["structuredContent"] == structured
    assert result["content"] == [{"type": "text", "text": "3"}]


@pytest.mark.parametrize(("era", "is_structured"), [(Era.HANDSHAKE, False), (Era.MODERN, True)])
async def test_a_list_without_a_schema_is_structured_where_the_era_has_lists(era: Era, is_structured: bool) -> None:  # noqa: FBT001  # a case
    result = await called(serving(), "items", {"of": "x"}, era=era)

    assert ("structuredContent" in result) is is_structured
    assert result["content"] == [{"type": "text", "text": '["x","x"]'}]


@pytest.mark.parametrize("era", ERAS)
async def test_plain_text_is_text(era: Era) -> None:
    result = await called(serving(), "greet", {"name": "Ann"}, era=era)

    assert result == {"content": [{"type": "text", "text": "Hello, Ann!"}], "isError": False}


@pytest.mark.req("GW-9.1")
@pytest.mark.parametrize("era", ERAS)
async def test_content_that_a_tool_laid_out_is_passed_on(era: Era) -> None:
    result = await called(serving(), "picture", era=era)

    assert result["content"] == [PIXEL, {"type": "text", "text": "a pixel"}]
    assert result["structuredContent"] == {"width": 1}


async def test_nothing_is_null_where_a_schema_promises_it() -> None:
    @tool(effects="none", output={"type": "null"})
    async def forget() -> None:
        """Forget."""

    modern = await called(serving(forget), "forget")
    older = await called(serving(forget), "forget", era=Era.HANDSHAKE)

    assert modern["structuredContent"] is None
    assert older["structuredContent"] == {"result": None}


@pytest.mark.req("GW-9.1", "GW-6.8")
async def test_invalid_arguments_are_told_with_every_violation() -> None:
    result = await called(serving(), "add", {"a": "x", "c": 1})

    told = json.loads(result["content"][0]["text"])
    assert result["isError"] is True
    assert told["error"] == "ARGS_INVALID"
    assert told["retryable"] is False
    assert len(told["details"]["violations"]) >= 2
    assert "structuredContent" not in result


@pytest.mark.req("GW-9.1")
async def test_a_failure_of_a_tool_is_an_error_as_data() -> None:
    result = await called(serving(), "break_down", {"why": "it is gone"})

    error = ToolError.from_dict(result["_meta"]["io.toolcrib/error"])
    assert result["isError"] is True
    assert error.code == "tool.default.break_down.not-found"
    assert "it is gone" in error.message


async def test_an_error_is_structured_content_where_no_schema_promises_something_else() -> None:
    result = await called(serving(), "greet", {})

    assert result["structuredContent"] == json.loads(result["content"][0]["text"])
    assert result["structuredContent"]["error"] == "ARGS_INVALID"


@pytest.mark.req("GW-9.1", "GW-7.6")
async def test_an_unknown_tool_is_an_error_of_the_protocol_that_names_the_nearest() -> None:
    with pytest.raises(RpcError) as refused:
        await called(serving(), "weather__forcast", {})

    assert refused.value.code == -32602
    assert "Did you mean `weather__forecast`?" in refused.value.message
    data: Any = refused.value.data
    assert data["error"] == "TOOL_NOT_FOUND"


async def test_an_unknown_id_is_answered_with_the_nearest_id_where_tools_are_listed_by_id() -> None:
    with pytest.raises(RpcError) as refused:
        await called(serving(names="id"), "weather:forcast@1.0.0", {})

    assert "weather:forecast" in refused.value.message


@pytest.mark.parametrize(
    "name",
    ["weather__forecast", "weather:forecast@1.0.0", "weather%3Aforecast%401.0.0", "weather:forecast", "sky"],
)
async def test_a_tool_is_known_by_every_form_of_its_name(name: str) -> None:
    service = serving()
    service.replace(boxed(aliases={"sky": "weather:forecast"}))

    result = await called(service, name, {"city": "Oslo"})

    assert result["isError"] is False


@pytest.mark.parametrize(
    "params", [{}, {"name": 7}, {"name": "add", "arguments": [1]}, {"name": "add", "arguments": "{}"}]
)
async def test_a_request_that_is_no_call_is_refused(params: dict[str, Any]) -> None:
    with pytest.raises(RpcError) as refused:
        await serving().answer(request_of("tools/call", params))

    assert refused.value.code == -32602


async def test_arguments_may_be_left_out() -> None:
    result = await called(serving(), "whoami")

    assert result["content"][0]["text"] == "nobody"


@pytest.mark.req("GW-9.1", "GW-8.5")
async def test_a_call_is_made_for_the_principal_that_the_front_has_made_sure_of() -> None:
    result = await called(serving(), "whoami", principal="ann")

    assert result["content"][0]["text"] == "ann"


@pytest.mark.req("GW-9.1")
@pytest.mark.parametrize("era", ERAS)
async def test_progress_reaches_the_client_in_order_and_before_the_result(era: Era) -> None:
    channel = RecordingChannel()
    params = {"_meta": {"progressToken": "t"}}

    result = await called(serving(), "crawl", {"pages": 3}, era=era, channel=channel, params=params)

    assert result["isError"] is False
    assert channel.told == [
        ("notifications/progress", {"progress": n, "total": 3, "message": f"page {n}", "progressToken": "t"})
        for n in (1, 2, 3)
    ]


async def test_nobody_is_told_of_progress_who_did_not_ask() -> None:
    channel = RecordingChannel()

    await called(serving(), "crawl", {"pages": 3}, channel=channel)

    assert channel.told == []


async def test_progress_only_grows_and_is_made_of_numbers() -> None:
    @tool(effects="read")
    async def waver(context: RuntimeToolContext) -> str:
        """Report in a muddle."""
        for done in (1, float("nan"), 5, 2, "x", True, 10**400, 6):
            context.progress(done)  # type: ignore[arg-type]  # what a careless tool may do
        return "done"

    channel = RecordingChannel()
    await called(serving(waver), "waver", channel=channel, params={"_meta": {"progressToken": 1}})

    assert [params["progress"] for _, params in channel.told] == [1, 5, 6]


async def test_the_steps_of_a_composed_tool_are_heard_too() -> None:
    channel = RecordingChannel()
    service = serving(pipe(crawl, crawl_result(), name="read_all"))

    await called(service, "read_all", {"pages": 2}, channel=channel, params={"_meta": {"progressToken": 1}})

    assert [params["progress"] for _, params in channel.told] == [1, 2]


async def test_a_slow_client_misses_the_oldest_reports_and_gets_the_last() -> None:
    channel = RecordingChannel()

    await called(serving(), "crawl", {"pages": 500}, channel=channel, params={"_meta": {"progressToken": 1}})

    told = [params["progress"] for _, params in channel.told]
    assert len(told) <= 65
    assert told[-1] == 500
    assert told == sorted(told)


async def test_a_client_that_cannot_be_told_gets_its_result_all_the_same(caplog: pytest.LogCaptureFixture) -> None:
    class BrokenChannel(RecordingChannel):
        async def notify(self, method: str, params: Any) -> None:
            raise RuntimeError("broken")

    params = {"_meta": {"progressToken": 1}}
    result = await called(serving(), "crawl", {"pages": 2}, channel=BrokenChannel(), params=params)

    assert result["isError"] is False
    assert "reports of a tool could not be told" in caplog.text


@pytest.mark.req("GW-9.1")
async def test_a_request_that_is_taken_back_stops_the_tool() -> None:
    running, stopped = asyncio.Event(), asyncio.Event()

    @tool(effects="read")
    async def hang(context: RuntimeToolContext) -> str:
        """Never end."""
        context.progress(1)
        running.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        return ""

    params = {"_meta": {"progressToken": 1}}
    calling = asyncio.create_task(called(serving(hang), "hang", params=params))
    async with asyncio.timeout(5):
        await running.wait()
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling

    assert stopped.is_set()


async def test_calls_under_way_end_in_the_toolbox_they_began_in() -> None:
    running, go_on = asyncio.Event(), asyncio.Event()

    @tool(effects="read")
    async def slow() -> str:
        """Take a while."""
        running.set()
        await go_on.wait()
        return "ended"

    service = serving(slow)
    calling = asyncio.create_task(called(service, "slow"))
    async with asyncio.timeout(5):
        await running.wait()
        service.replace(boxed(add))
        go_on.set()
        result = await calling

    assert result["isError"] is False


async def test_progress_of_a_second_try_is_told_where_it_goes_beyond_the_first() -> None:
    tries: list[int] = []

    @tool(effects="read", retries=RetryPolicy(first_delay=0))
    async def flaky(context: RuntimeToolContext) -> str:
        """Fail once."""
        tries.append(1)
        for done in range(1, len(tries) + 2):
            context.progress(done)
        if len(tries) == 1:
            raise ConnectionRefusedError("not yet")
        return "done"

    channel = RecordingChannel()
    await called(serving(flaky), "flaky", channel=channel, params={"_meta": {"progressToken": 1}})

    assert [params["progress"] for _, params in channel.told] == [1, 2, 3]


@tool(effects="read")
async def talkative(context: RuntimeToolContext) -> str:
    """Log something at every level there is, and at some that there are not."""
    for level in ("debug", "info", "warn", "error", "fatal", "loud"):
        context.log(f"said {level}", level=level)
    context.log("with data", level="alert", rows=3)
    return "done"


@pytest.mark.req("GW-9.1")
@pytest.mark.parametrize(
    ("era", "least", "told"),
    [
        (Era.HANDSHAKE, None, ["debug", "info", "warning", "error", "critical", "info", "alert"]),
        (Era.HANDSHAKE, "error", ["error", "critical", "alert"]),
        (Era.MODERN, "warning", ["warning", "error", "critical", "alert"]),
        (Era.MODERN, None, []),
    ],
)
async def test_what_a_tool_logs_reaches_clients_that_want_its_level(
    era: Era, least: str | None, told: list[str]
) -> None:
    channel = RecordingChannel()

    await called(serving(talkative, logs=True), "talkative", era=era, channel=channel, log_level=least)

    assert [method for method, _ in channel.told] == ["notifications/message"] * len(told)
    assert [params["level"] for _, params in channel.told] == told


async def test_a_log_message_names_its_tool_and_has_its_data() -> None:
    channel = RecordingChannel()

    await called(serving(talkative, logs=True), "talkative", channel=channel, log_level="critical")

    assert [params for _, params in channel.told] == [
        {"level": "critical", "logger": talkative.id, "data": "said fatal"},
        {"level": "alert", "logger": talkative.id, "data": {"message": "with data", "data": {"rows": 3}}},
    ]


async def test_what_a_tool_logs_is_for_nobody_else_unless_the_service_says_so() -> None:
    channel = RecordingChannel()
    params = {"_meta": {"progressToken": 1}}

    await called(serving(talkative), "talkative", era=Era.HANDSHAKE, channel=channel, params=params, log_level="debug")
    await called(serving(talkative), "talkative", era=Era.HANDSHAKE, channel=channel, log_level="debug")

    assert channel.told == []
    assert "logging" not in (await serving(talkative).face()).capabilities
    assert (await serving(talkative, logs=True).face()).capabilities["logging"] == {}


async def test_progress_is_for_those_who_asked_also_where_logs_are_told() -> None:
    channel = RecordingChannel()

    await called(serving(logs=True), "crawl", {"pages": 3}, channel=channel, log_level="debug")

    assert channel.told == []


@pytest.mark.parametrize("responses", [None, 5, [], {"approval": 5}, {"name": None}])
async def test_answers_that_have_not_the_form_of_answers_are_refused_before_anything_runs(responses: object) -> None:
    with pytest.raises(RpcError, match="inputResponses") as refused:
        await called(serving(), "greet", {"name": "Ann"}, params={"inputResponses": responses})

    assert refused.value.code == -32602


def crawl_result() -> Any:
    @tool(effects="none")
    async def describe(pages: int) -> str:
        """Say how many."""
        return f"{pages} pages"

    return describe


async def test_a_deprecated_tool_can_still_be_called() -> None:
    with pytest.warns(RegistryWarning, match="deprecated"):
        result = await called(serving(old_forecast), "old_forecast")

    assert result["isError"] is False


async def test_an_error_with_text_that_json_cannot_carry_is_told_all_the_same() -> None:
    @tool(effects="read")
    async def mumble() -> str:
        """Fail in half a character."""
        raise ToolError("half \ud800", hint="\udfff")

    result = await called(serving(mumble), "mumble")

    assert json.loads(result["content"][0]["text"])["message"].startswith("half ")
    assert encode_message(result)
