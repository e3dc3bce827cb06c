"""Whatever a real server says reaches a real client through the proxy as it would without one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tests.reference import exchanges
from tests.reference.clients import ERAS, TRANSPORTS, Era, RawClient, connected, through_proxy
from tests.reference.exchanges import Asking, comparable, differing
from tests.reference.parts import Command, node_package
from tests.reference.processes import conformance_server
from tests.reference.recorder import read_record, recorded

pytestmark = [
    pytest.mark.slow,
    pytest.mark.enable_socket,
    pytest.mark.xdist_group("pass-through"),
    pytest.mark.req("GW-6.6", "GW-6.2"),
]

DOCUMENT = "demo://resource/static/document/features.md"

Answer: TypeAlias = tuple[dict[str, Any], list[tuple[float, float | None, str | None]]]

_KNOWN_ANSWERS: dict[tuple[str, Era], dict[str, Answer]] = {}


async def answers(client: RawClient, asked: Sequence[Asking]) -> dict[str, Answer]:
    """What each request was answered with, and the progress that was reported before."""
    found: dict[str, Answer] = {}
    for asking in asked:
        client.progress.clear()
        result = await client.outcome(asking.method, asking.params)
        found[str(asking)] = result, list(client.progress)
    return found


async def direct_answers(server: Command, era: Era, asked: Sequence[Asking]) -> dict[str, Answer]:
    """The same without a proxy; asked once for all tests."""
    key = (server.line[-1], era)
    if key not in _KNOWN_ANSWERS:
        async with connected(server, era) as client:
            _KNOWN_ANSWERS[key] = await answers(client, asked)
    return _KNOWN_ANSWERS[key]


def comparable_answers(found: Mapping[str, Answer], *, bridged: bool = False) -> dict[str, Answer]:
    """Answers without what differs from run to run, or from era to era."""
    return {key: (comparable(result, bridged=bridged), progress) for key, (result, progress) in found.items()}


async def executing(client: RawClient, calls: Sequence[Asking]) -> list[Asking]:
    """The same calls as a client of the proxy mode makes them."""
    listed = [each["name"] for each in await client.every("tools/list", "tools")]
    found = []
    for call in calls:
        (tool_id,) = (name for name in listed if name.startswith(f"only:{call.params['name']}#"))
        arguments = {"tool_id": tool_id, "args": call.params["arguments"]}
        found.append(Asking("tools/call", {"name": "tool_execute", "arguments": arguments}))
    return found


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("era", ERAS)
async def test_a_server_of_the_handshake_era_is_heard_as_if_directly(era: Era, transport: str, tmp_path: Path) -> None:
    server = node_package("everything", "stdio")
    bridged = era != "legacy"
    direct = await direct_answers(server, "legacy", exchanges.EVERYTHING)

    async with through_proxy(server, mode="transparent", transport=transport, era=era, folder=tmp_path) as client:
        proxied = await answers(client, exchanges.EVERYTHING)

    assert proxied.keys() == direct.keys()
    assert differing(*(comparable_answers(each, bridged=bridged) for each in (direct, proxied))) == {}


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("era", ERAS)
async def test_a_server_of_both_eras_is_heard_as_if_directly(era: Era, transport: str, tmp_path: Path) -> None:
    server = conformance_server()
    direct = await direct_answers(server, era, exchanges.FIXTURE)

    async with through_proxy(server, mode="transparent", transport=transport, era=era, folder=tmp_path) as client:
        proxied = await answers(client, exchanges.FIXTURE)

    assert proxied.keys() == direct.keys()
    assert differing(comparable_answers(direct), comparable_answers(proxied)) == {}


async def test_a_loss_on_the_way_would_be_seen(tmp_path: Path) -> None:
    direct = await direct_answers(conformance_server(), "legacy", exchanges.FIXTURE)
    lossy = conformance_server("--mutation", "drops-audio")

    async with through_proxy(lossy, mode="transparent", transport="stdio", era="legacy", folder=tmp_path) as client:
        proxied = await answers(client, exchanges.FIXTURE)

    assert list(differing(direct, proxied)) == [str(exchanges.tool("test_audio_content"))]


@pytest.mark.req("GW-4.1")
@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("era", ERAS)
async def test_what_the_proxy_mode_executes_is_answered_as_if_directly(
    era: Era, transport: str, tmp_path: Path
) -> None:
    server = node_package("everything", "stdio")
    bridged = era != "legacy"
    calls, rest = exchanges.EVERYTHING_CALLS, (*exchanges.LISTS[1:], *exchanges.EVERYTHING_REST)
    direct = await direct_answers(server, "legacy", exchanges.EVERYTHING)

    async with through_proxy(server, mode="proxy", transport=transport, era=era, folder=tmp_path) as client:
        executed = await answers(client, await executing(client, calls))
        proxied = dict(zip(map(str, calls), executed.values(), strict=True))
        proxied |= await answers(client, rest)

    wanted = {key: direct[key] for key in proxied}
    assert differing(*(comparable_answers(each, bridged=bridged) for each in (wanted, proxied))) == {}


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("era", ERAS)
async def test_a_call_that_is_taken_back_is_taken_back_from_the_server(
    era: Era, transport: str, tmp_path: Path
) -> None:
    record = tmp_path / "record.jsonl"
    server = recorded(node_package("everything", "stdio"), record)

    async with through_proxy(server, mode="transparent", transport=transport, era=era, folder=tmp_path) as client:
        calling = asyncio.create_task(client.call("trigger-long-running-operation", duration=300, steps=1500))
        (call,) = await recorded_messages(record, "tools/call")
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        (taken_back,) = await recorded_messages(record, "notifications/cancelled")
        answer = await client.call("echo", message="still there")

    assert taken_back["params"]["requestId"] == call["id"]
    assert answer["content"][0]["text"] == "Echo: still there"


async def recorded_messages(record: Path, method: str) -> list[dict[str, Any]]:
    """What the server was sent of this kind, as soon as there is any."""
    async with asyncio.timeout(20):
        while True:
            found = [message for message in read_record(record) if message.get("method") == method]
            if found:
                return found
            await asyncio.sleep(0.05)  # a file tells nobody that it has grown


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_what_a_server_logs_reaches_a_client_of_the_handshake_era(transport: str, tmp_path: Path) -> None:
    server = node_package("everything", "stdio")

    async with through_proxy(server, mode="transparent", transport=transport, era="legacy", folder=tmp_path) as client:
        await client.ask("logging/setLevel", level="debug")
        await client.call("toggle-simulated-logging")
        logged = await client.wait_for("notifications/message")

    assert set(logged) == {"level", "data"}
    assert logged["data"].lower().replace("-", " ").startswith(logged["level"])


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("era", ERAS)
async def test_what_a_tool_logs_reaches_the_client_that_called_it(era: Era, transport: str, tmp_path: Path) -> None:
    server = conformance_server()
    options: dict[str, Any] = {} if era == "legacy" else {"log_level": "info"}

    async with through_proxy(
        server, mode="transparent", transport=transport, era=era, folder=tmp_path, **options
    ) as client:
        await client.call("test_tool_with_logging")

    assert client.logged == [
        {"level": "info", "data": "Tool execution started"},
        {"level": "info", "data": "Tool processing data"},
        {"level": "info", "data": "Tool execution completed"},
    ]


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_change_of_a_resource_reaches_who_subscribed(transport: str, tmp_path: Path) -> None:
    server = node_package("everything", "stdio")

    async with through_proxy(
        server, mode="transparent", transport=transport, era="legacy", folder=tmp_path, grants=()
    ) as client:
        await client.ask("resources/subscribe", uri=DOCUMENT)
        await client.call("toggle-subscriber-updates")
        updated = await client.wait_for("notifications/resources/updated")

    assert updated["uri"] == DOCUMENT


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_change_of_a_resource_reaches_a_modern_client_that_listens(transport: str, tmp_path: Path) -> None:
    server = node_package("everything", "stdio")

    async with (
        through_proxy(
            server, mode="transparent", transport=transport, era="2026-07-28", folder=tmp_path, grants=()
        ) as client,
        client.client.listen(resource_subscriptions=[DOCUMENT]) as changes,
    ):
        await client.call("toggle-subscriber-updates")
        async with asyncio.timeout(30):
            event = await anext(aiter(changes))

    assert getattr(event, "uri", None) == DOCUMENT
