"""A served toolbox and the official client, in both eras."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import mcp.types as t
import pytest
from mcp import Client, MCPError, StdioServerParameters
from toolbox_cases import PIXEL, boxed, greet, sdk_streams, serving

from toolcrib_mcp.toolboxes import ToolboxService
from toolcrib_runtime import tool

both_eras = pytest.mark.parametrize("mode", ["legacy", "auto"])


@asynccontextmanager
async def client_of(service: ToolboxService, mode: Any, **options: Any) -> AsyncIterator[Client]:
    async with asyncio.timeout(20), Client(sdk_streams(service), mode=mode, cache=None, **options) as client:
        yield client


@pytest.mark.req("GW-9.1")
@both_eras
async def test_the_official_client_reads_the_list_with_schemas_and_hints(mode: str) -> None:
    async with client_of(serving(instructions="Be kind."), mode) as client:
        tools = {each.name: each for each in (await client.list_tools()).tools}

        assert client.protocol_version == ("2025-11-25" if mode == "legacy" else "2026-07-28")
        assert client.instructions == "Be kind."

    shown = tools["weather__forecast"]
    assert shown.title == "The weather"
    assert shown.input_schema["required"] == ["city"]
    assert shown.output_schema is not None
    assert shown.annotations is not None
    assert shown.annotations.read_only_hint is True
    assert tools["wipe"].annotations == t.ToolAnnotations(
        read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=True
    )
    assert shown.meta == {"io.toolcrib/id": "weather:forecast@1.0.0", "io.toolcrib/version": "1.0.0"}


@pytest.mark.req("GW-9.1")
@both_eras
async def test_the_official_client_finds_structured_content_as_the_schemas_promise(mode: str) -> None:
    calls: dict[str, dict[str, Any]] = {
        "weather__forecast": {"city": "Oslo"},
        "add": {"a": 1, "b": 2},
        "items": {"of": "x"},
        "greet": {"name": "Ann"},
    }

    async with client_of(serving(), mode) as client:
        await client.list_tools()
        results = {name: await client.call_tool(name, arguments) for name, arguments in calls.items()}

    structured = {name: result.structured_content for name, result in results.items()}

    wraps = mode == "legacy"
    assert structured == {
        "weather__forecast": {"Oslo": 3},
        "add": {"result": 3} if wraps else 3,
        "items": None if wraps else ["x", "x"],
        "greet": None,
    }


@pytest.mark.req("GW-9.1")
@both_eras
async def test_the_official_client_gets_images_progress_and_errors(mode: str) -> None:
    seen: list[tuple[float, float | None, str | None]] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, total, message))

    async with client_of(serving(), mode) as client:
        drawn = await client.call_tool("picture", {})
        await client.call_tool("crawl", {"pages": 2}, progress_callback=on_progress)
        failed = await client.call_tool("add", {"a": "x", "b": 2})
        with pytest.raises(MCPError, match="Did you mean `add`") as unknown:
            await client.call_tool("ad", {})

    assert drawn.content[0].model_dump(by_alias=True, exclude_none=True) == PIXEL
    assert seen == [(1, 2, "page 1"), (2, 2, "page 2")]
    assert failed.is_error
    assert unknown.value.error.code == -32602


@pytest.mark.req("GW-9.1", "GW-8.4")
@both_eras
@pytest.mark.parametrize(
    ("answer", "is_error"),
    [
        (t.ElicitResult(action="accept", content={"answer": "once"}), False),
        (t.ElicitResult(action="decline"), True),
    ],
)
async def test_the_official_client_asks_its_user_for_an_approval(
    mode: str,
    answer: t.ElicitResult,
    is_error: bool,  # noqa: FBT001  # a case
) -> None:
    asked: list[str] = []

    async def elicit(_context: Any, params: t.ElicitRequestParams) -> t.ElicitResult:
        asked.append(params.message)
        return answer

    async with client_of(serving(), mode, elicitation_callback=elicit) as client:
        result = await client.call_tool("wipe", {"disk": "sda"})

    assert result.is_error is is_error
    assert len(asked) == 1
    assert "default:wipe" in asked[0]


@pytest.mark.req("GW-9.1")
@both_eras
async def test_a_call_that_the_official_client_gives_up_is_stopped(mode: str) -> None:
    running, stopped = asyncio.Event(), asyncio.Event()

    @tool(effects="read")
    async def hang() -> str:
        """Never end."""
        running.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        return ""

    async with client_of(serving(hang), mode) as client:
        calling = asyncio.create_task(client.call_tool("hang", {}))
        await running.wait()
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        await stopped.wait()


@pytest.mark.req("GW-9.1", "GW-6.5")
async def test_an_older_official_client_hears_of_a_changed_list() -> None:
    heard: asyncio.Queue[Any] = asyncio.Queue()

    async def hear(message: Any) -> None:
        heard.put_nowait(message)

    service = serving()
    async with client_of(service, "legacy", message_handler=hear) as client:
        service.replace(boxed(greet))
        notification = await heard.get()
        tools = (await client.list_tools()).tools

    assert isinstance(notification, t.ToolListChangedNotification)
    assert [each.name for each in tools] == ["greet"]


@pytest.mark.req("GW-9.1", "GW-6.5")
async def test_a_modern_official_client_hears_of_a_changed_list() -> None:
    service = serving()
    async with client_of(service, "auto") as client, client.listen(tools_list_changed=True) as events:
        service.replace(boxed(greet))
        event = await anext(aiter(events))

    assert type(event).__name__ == "ToolsListChanged"


SERVER = """
import asyncio
from toolbox_cases import serving
from toolcrib_mcp.front.stdio import serve_stdio
asyncio.run(serve_stdio(serving()))
"""


@pytest.mark.slow
@pytest.mark.req("GW-9.1")
@both_eras
async def test_a_toolbox_is_served_from_a_process_of_its_own(mode: Any) -> None:
    here = str(Path(__file__).parent)
    program = StdioServerParameters(command=sys.executable, args=["-c", SERVER], env={"PYTHONPATH": here})

    async with asyncio.timeout(60), Client(program, mode=mode, cache=None) as client:
        result = await client.call_tool("weather__forecast", {"city": "Oslo"})

    assert result.structured_content == {"Oslo": 3}
