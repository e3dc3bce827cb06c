"""What is known of servers outlives the hub, so that their tools can be browsed before any of them runs."""

from __future__ import annotations

import hashlib
import json
import logging
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hub_cases import Heard, caller, config_file, eventually, hub_of, listing, program
from process_children import nothing_left

from toolcrib_mcp.config import GatewayConfig
from toolcrib_mcp.hub import Hub
from toolcrib_mcp.upstreams import Listing, ListKind, UpstreamState
from toolcrib_runtime.testing import FakeClock

SECRET = "t0p-s3cret-value"  # invented


def tools_of(hub: Hub) -> list[str]:
    return [each.partition("#")[0] for each in hub.catalog.snapshot().ids]


@asynccontextmanager
async def known(folder: Path, family: str, **ours: Any) -> AsyncIterator[tuple[GatewayConfig, Path]]:
    """A configuration whose server has run once, with the manifest of that."""
    entry = program(family)
    entry["env"]["TOKEN"] = SECRET
    config, manifest = config_file(folder, {"files": entry}, **ours), folder / "state" / "manifest"
    async with Hub(config, manifest=manifest) as hub:
        await hub.start(timeout=20)
    yield config, manifest


@pytest.mark.req("GW-6.4")
async def test_the_tools_of_a_server_that_ran_once_can_be_browsed_while_it_does_not(tmp_path: Path) -> None:
    async with (
        nothing_left() as family,
        known(tmp_path, family) as (config, manifest),
        Hub(config, manifest=manifest) as hub,
    ):
        status = hub.status().servers["files"]
        listed = [each["name"] for each in (await hub.shared("files").tools()).items]
        starts = hub.shared("files").health().starts

    assert tools_of(hub) == ["files:echo", "files:steady"]
    assert listed == ["echo", "steady"]
    assert (status.ok, status.health.state, starts) == (True, UpstreamState.KNOWN, 0)


async def test_a_server_that_lists_what_was_known_is_no_news(tmp_path: Path) -> None:
    async with nothing_left() as family, known(tmp_path, family, mode="transparent") as (config, manifest):
        before = manifest.read_bytes()
        async with Hub(config, manifest=manifest) as hub:
            heard = Heard(hub)
            await hub.start(timeout=20)
            async with hub.lease("files", caller()) as upstream:
                await upstream.call("tools/call", {"name": "echo", "arguments": {"nonce": "n"}})
            pending = hub._news._burst._kinds  # what would be told a moment later

    assert heard.notices == []
    assert pending == set()
    assert manifest.read_bytes() == before


async def test_the_file_is_the_owners_and_holds_no_secret(tmp_path: Path) -> None:
    async with nothing_left() as family, known(tmp_path, family) as (_, manifest):
        mode = stat.S_IMODE(manifest.stat().st_mode)
        text = manifest.read_text("utf-8")

    assert mode == 0o600
    assert SECRET not in text
    assert '"echo"' in text
    assert list(manifest.parent.iterdir()) == [manifest]


async def test_a_server_that_is_reached_otherwise_now_is_not_taken_for_the_known_one(tmp_path: Path) -> None:
    async with nothing_left() as family, known(tmp_path, family) as (_, manifest):
        other = config_file(tmp_path, {"files": program(family, mode="duplicate_names")})
        async with Hub(other, manifest=manifest) as hub:
            found = tools_of(hub)
            problem = hub.status().manifest_problem

    assert found == []
    assert problem is None


async def test_another_secret_makes_no_other_server(tmp_path: Path) -> None:
    async with nothing_left() as family, known(tmp_path, family) as (_, manifest):
        entry = program(family)
        entry["env"]["TOKEN"] = "another-value"  # invented
        async with Hub(config_file(tmp_path, {"files": entry}), manifest=manifest) as hub:
            found = tools_of(hub)

    assert found == ["files:echo", "files:steady"]


async def test_what_the_operator_lets_in_now_counts_for_what_was_known(tmp_path: Path) -> None:
    async with nothing_left() as family, known(tmp_path, family) as (_, manifest):
        entry = program(family)
        entry["env"]["TOKEN"] = SECRET
        strict = config_file(tmp_path, {"files": entry}, servers={"files": {"deny": ["echo"]}})
        async with Hub(strict, manifest=manifest) as hub:
            found = tools_of(hub)

    assert found == ["files:steady"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "no manifest"),
        (b"{}\n{}", "no manifest"),
        (b"\xff\xfe\n", "no manifest"),
        (b'{"format":"toolcrib-servers","version":1}\n{}', "another version"),
        (b'{"format":"toolcrib-servers","version":2,"sha256":"00"}\n{}', "damaged"),
    ],
)
async def test_a_file_that_cannot_be_used_is_reported_and_written_anew(
    tmp_path: Path, content: bytes, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    manifest = tmp_path / "manifest"
    manifest.write_bytes(content)

    async with nothing_left() as family:
        with caplog.at_level(logging.WARNING, "toolcrib.mcp"):
            async with Hub(config_file(tmp_path, {"files": program(family)}), manifest=manifest) as hub:
                problem = hub.status().to_json()["manifestProblem"]
                reports = await hub.start(timeout=20)
        async with Hub(config_file(tmp_path, {"files": program(family)}), manifest=manifest) as again:
            found, no_problem = tools_of(again), again.status().manifest_problem

    assert said in problem
    assert said in caplog.text
    assert reports[0].error is None
    assert found == ["files:echo", "files:steady"]
    assert no_problem is None


async def test_a_file_that_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with nothing_left() as family, known(tmp_path, family) as (config, manifest):
        monkeypatch.setattr("toolcrib_mcp.hub.manifest.MAX_BYTES", 100)
        async with Hub(config, manifest=manifest) as hub:
            found, problem = tools_of(hub), hub.status().manifest_problem

    assert found == []
    assert problem is not None
    assert "over 100 bytes" in problem


async def test_what_a_server_said_before_the_file_was_read_is_newer(tmp_path: Path) -> None:
    async with nothing_left() as family, known(tmp_path, family) as (config, manifest):
        text = manifest.read_text("utf-8").splitlines()
        older = text[1].replace('"steady"', '"older"')
        about = json.loads(text[0]) | {"sha256": hashlib.sha256(older.encode()).hexdigest()}
        manifest.write_text(json.dumps(about) + "\n" + older, "utf-8")
        hub = Hub(config, manifest=manifest)
        await hub.shared("files").tools()
        async with hub:
            found = tools_of(hub)
        async with Hub(config, manifest=manifest) as again:
            kept = tools_of(again)

    assert found == kept == ["files:echo", "files:steady"]


async def test_a_tool_that_is_no_json_of_ours_keeps_no_other_out_of_the_file(tmp_path: Path) -> None:
    manifest = tmp_path / "manifest"
    async with nothing_left() as family:
        config = config_file(tmp_path, {"files": program(family)})
        async with Hub(config, manifest=manifest) as hub:
            await hub.load()
            odd = Listing(kind=ListKind.TOOLS, items=({"name": "huge", "version": 2**70}, {"name": "fine"}), pages=1)
            on_tools = hub.shared("files")._hooks.on_tools  # no server can be made to send it in every Python
            on_tools(odd)
            on_tools(odd)
        async with Hub(config, manifest=manifest) as again:
            found = tools_of(again)

    assert found == ["files:fine"]


async def test_a_file_that_cannot_be_written_is_reported_and_nothing_else_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "occupied").write_text("not a directory")

    async with nothing_left() as family:
        hub = Hub(config_file(tmp_path, {"files": program(family)}), manifest=tmp_path / "occupied" / "manifest")
        async with hub:
            reports = await hub.start(timeout=20)
        problem = hub.status().manifest_problem

    assert reports[0].error is None
    assert problem is not None
    assert "could not be written" in problem


async def test_servers_that_list_together_are_written_down_together(tmp_path: Path) -> None:
    manifest, clock = tmp_path / "manifest", FakeClock()
    async with nothing_left() as family:
        config = config_file(tmp_path, {name: program(family) for name in ("one", "other")})
        async with Hub(config, manifest=manifest, clock=clock) as hub:
            await hub.start(timeout=20)
            before = manifest.exists()
            await clock.advance(1)
            await eventually(manifest.exists)
            text = manifest.read_text("utf-8")

    assert not before
    assert '"one"' in text
    assert '"other"' in text


async def test_a_server_of_the_program_itself_is_not_written_down(tmp_path: Path) -> None:
    async with hub_of({"files": listing("echo").connect}, manifest=tmp_path / "manifest") as hub:
        await hub.start(timeout=5)

    assert not (tmp_path / "manifest").exists()
