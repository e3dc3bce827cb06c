"""The eight reference servers behind one proxy: unmodified clients find, read and run their tools."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.reference.clients import ERAS, Era, RawClient, connected, inspect
from tests.reference.eight_servers import Workshop, workshop
from tests.reference.processes import listening, serve_command, write_config

pytestmark = [
    pytest.mark.slow,
    pytest.mark.enable_socket,
    pytest.mark.xdist_group("reference-servers"),
    pytest.mark.req("GW-6.1", "GW-6.2", "GW-4.1"),
]

TOOLS = 58
"""Of all eight servers, to a client that offers them nothing."""


class Shop(NamedTuple):
    """What the servers work on, and the configuration that names them all."""

    place: Workshop
    config: Path


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    folder = tmp_path_factory.mktemp("shop")
    with workshop(folder) as place:
        entries = {name: command.entry for name, command in place.servers.items()}
        yield Shop(place, write_config(folder, entries, grants=()))


@pytest.fixture(scope="module")
def url(shop: Shop) -> Iterator[str]:
    """Where one proxy listens, which all tests over HTTP share: its servers take seconds to start."""
    with listening(serve_command(shop.config, "proxy", "--http", "127.0.0.1:0")) as address:
        yield address


async def wait_for_servers(client: RawClient) -> None:
    """Ask until the proxy no longer says that a server is not there yet."""
    async with asyncio.timeout(60):
        # Nobody has promised to tell when a server comes.
        while (await client.ask("tools/list")).get("_meta", {}).get("io.toolcrib/unavailable"):  # noqa: ASYNC110  # as above
            await asyncio.sleep(0.2)


def _said(result: Mapping[str, Any]) -> dict[str, Any]:
    """What `tool_hydrate` says, which is JSON."""
    said: dict[str, Any] = json.loads(result["content"][0]["text"])
    return said


async def listed_names(client: RawClient) -> list[str]:
    """The names of all tools of all servers."""
    await wait_for_servers(client)
    listed = await client.every("tools/list", "tools")
    assert all(each["inputSchema"] == {"type": "object"} for each in listed[2:])
    return [each["name"] for each in listed]


async def use_every_server(client: RawClient, place: Workshop) -> None:
    """List, hydrate and execute as an agent does: with the names that the list gave."""
    names = await listed_names(client)

    assert names[:2] == ["tool_hydrate", "tool_execute"]
    assert len(names) == TOOLS + 2
    for use in place.uses:
        tool_id = use.listed_in(names)
        hydrated = await client.call("tool_hydrate", tool_id=tool_id)
        assert _said(hydrated)["tool_id"] == tool_id
        assert _said(hydrated)["tool"]["name"] == use.tool
        executed = await client.call("tool_execute", tool_id=tool_id, args=dict(use.arguments))
        assert not executed.get("isError"), executed
        assert use.answer in json.dumps(executed)


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_of_either_era_uses_all_eight_over_stdio(era: Era, shop: Shop) -> None:
    async with connected(serve_command(shop.config, "proxy"), era) as client:
        await use_every_server(client, shop.place)


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_of_either_era_uses_all_eight_over_http(era: Era, shop: Shop, url: str) -> None:
    async with connected(url, era) as client:
        await use_every_server(client, shop.place)


@pytest.mark.req("GW-6.6")
async def test_a_hydrated_definition_is_what_the_server_lists(shop: Shop, url: str) -> None:
    async with connected(url, "legacy") as client:
        names = await listed_names(client)
        hydrated = {
            use.server: _said(await client.call("tool_hydrate", tool_id=use.listed_in(names)))["tool"]
            for use in shop.place.uses
        }

    for use in shop.place.uses:
        async with connected(shop.place.servers[use.server], "legacy") as client:
            listed = await client.every("tools/list", "tools")
        assert [hydrated[use.server]] == [each for each in listed if each["name"] == use.tool]


async def test_a_stripped_tool_called_by_its_name_names_the_way(shop: Shop, url: str) -> None:
    use = shop.place.uses[0]

    async with connected(url, "legacy") as client:
        refused = await client.call(use.listed_in(await listed_names(client)), **use.arguments)

    assert refused["isError"]
    assert "tool_execute" in refused["content"][0]["text"]


async def test_prompts_and_resources_of_several_servers_are_reached_beside_each_other(shop: Shop, url: str) -> None:
    async with connected(url, "legacy") as client:
        await listed_names(client)
        prompts = {each["name"] for each in await client.every("prompts/list", "prompts")}
        resources = {each["uri"] for each in await client.every("resources/list", "resources")}
        prompt = await client.ask("prompts/get", name="everything__simple-prompt")
        memo = await client.ask("resources/read", uri="memo://insights")

    assert {"everything__simple-prompt", "fetch__fetch", "sqlite__mcp-demo"} <= prompts
    assert {"memo://insights", "demo://resource/static/document/features.md"} <= resources
    assert prompt["messages"]
    assert memo["contents"][0]["uri"] == "memo://insights"


@pytest.mark.req("GW-6.6")
@pytest.mark.parametrize("era", ERAS)
async def test_all_eight_are_used_by_their_safe_names_in_transparent_mode(era: Era, shop: Shop) -> None:
    async with connected(serve_command(shop.config, "transparent"), era) as client:
        await wait_for_servers(client)
        listed = {each["name"]: each for each in await client.every("tools/list", "tools")}
        assert len(listed) == TOOLS
        for use in shop.place.uses:
            name = f"{use.server}__{use.tool}"
            assert listed[name]["inputSchema"] != {"type": "object"}
            assert use.answer in json.dumps(await client.call(name, **use.arguments))


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_the_inspector_uses_the_proxy_over_http(era: str, shop: Shop, url: str) -> None:
    async with connected(url, "legacy") as client:
        await listed_names(client)

    await inspect_every_step(shop.place, url, "--transport", "http", "--protocol-era", era)


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_the_inspector_uses_the_proxy_over_stdio(era: str, shop: Shop, tmp_path: Path) -> None:
    # Every step starts the proxy anew, and the proxy its servers: here the one that is used.
    used = shop.place.uses[1].server
    config = write_config(tmp_path, {used: shop.place.servers[used].entry}, grants=())
    own = tmp_path / "inspector.json"
    own.write_text(json.dumps({"mcpServers": {"toolcrib": serve_command(config, "proxy").entry}}), "utf-8")

    await inspect_every_step(shop.place, "--config", str(own), "--server", "toolcrib", "--protocol-era", era)


async def inspect_every_step(place: Workshop, *target: str) -> None:
    """List, hydrate and execute, each with a run of its own."""
    use = place.uses[1]
    listed = await inspect(*target, "--method", "tools/list")
    tool_id = use.listed_in(each["name"] for each in listed["tools"])
    call = (*target, "--method", "tools/call", "--tool-name")
    hydrated = await inspect(*call, "tool_hydrate", "--tool-arg", f"tool_id={tool_id}")
    arguments = (f"tool_id={tool_id}", f"args={json.dumps(use.arguments)}")
    executed = await inspect(*call, "tool_execute", "--tool-arg", *arguments)

    assert _said(hydrated)["tool"]["name"] == use.tool
    assert use.answer in json.dumps(executed)
