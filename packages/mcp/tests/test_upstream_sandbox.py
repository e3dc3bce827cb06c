"""Walls around a server that is started here: each is tried by a real server, with the wall and without it."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import resource
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sandboxed_server
from process_children import SIGN, nothing_left

from toolcrib_mcp import ConfigError, Upstream, load_config, upstream_of
from toolcrib_mcp.config.settings import ServerSandbox
from toolcrib_mcp.errors import UpstreamUnavailable
from toolcrib_mcp.upstreams.walls import limits_of, wishes_of
from toolcrib_runtime.errors import ProcessNotStarted
from toolcrib_runtime.guards.process import ProcessLimits, SandboxWishes
from toolcrib_runtime.guards.process.sandbox import Layers, available_layers, plan_launch

SCRIPT = sandboxed_server.__file__
PATH = "/usr/bin:/bin"
LIMIT_NAMES = sandboxed_server.LIMIT_NAMES
NO_LIMITS = ProcessLimits(memory_bytes=None, cpu_seconds=None, file_bytes=None, open_files=None, processes=None)
NONE = Layers(linux=True, setpriv=None, prlimit=None, unshare=None, landlock_abi=0)

needs_landlock = pytest.mark.skipif(available_layers().landlock_abi == 0, reason="this kernel has no Landlock")
needs_no_network = pytest.mark.skipif(
    not (available_layers().seccomp or available_layers().unshare), reason="neither seccomp nor namespaces here"
)


def config_file(folder: Path, sandbox: dict[str, Any] | None, entry: dict[str, Any]) -> Path:
    settings = {} if sandbox is None else {"sandbox": sandbox}
    file = folder / "mcp.json"
    document = {"mcpServers": {"walled": entry}, "toolcrib": {"servers": {"walled": settings}}}
    file.write_text(json.dumps(document), "utf-8")
    return file


@asynccontextmanager
async def running(
    folder: Path, sandbox: dict[str, Any] | None, *, command: str = sys.executable, args: tuple[str, ...] | None = None
) -> AsyncIterator[Upstream]:
    async with asyncio.timeout(120), nothing_left() as family:
        given = ["-I", "-S", SCRIPT] if args is None else list(args)
        file = config_file(folder, sandbox, {"command": command, "args": given, "env": {SIGN: family}})
        environ = {"PATH": PATH, "HOME": str(folder), "API_TOKEN": "not-for-servers"}
        async with upstream_of(load_config(file).servers["walled"], environ=environ) as upstream:
            yield upstream


async def told(upstream: Upstream, tool: str, **arguments: Any) -> tuple[str, bool]:
    result = await upstream.call("tools/call", {"name": tool, "arguments": arguments}, timeout=60)
    return result["content"][0]["text"], result["isError"]


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    (tmp_path / "outside").mkdir()
    file = tmp_path / "outside" / "canary.txt"
    file.write_text("canary", "utf-8")
    return file


@pytest.mark.req("GW-8.6")
@needs_landlock
async def test_a_file_that_is_not_listed_cannot_be_read_and_without_walls_it_can(tmp_path: Path, canary: Path) -> None:
    async with running(tmp_path, {"read": []}) as upstream:
        text, failed = await told(upstream, "read", path=str(canary))
    async with running(tmp_path, None) as upstream:
        without = await told(upstream, "read", path=str(canary))

    assert failed
    assert "PermissionError" in text
    assert without == ("canary", False)


@needs_landlock
async def test_what_is_listed_can_be_read_and_not_written(
    tmp_path: Path, canary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))

    async with running(tmp_path, {"read": ["~/outside"]}) as upstream:
        read = await told(upstream, "read", path=str(canary))
        _, unwritten = await told(upstream, "write", path=str(canary))
        again = await told(upstream, "read", path=str(canary))

    assert read == ("canary", False)
    assert unwritten
    assert again == read


@needs_landlock
async def test_with_a_list_to_write_everything_can_be_read_and_only_that_written(tmp_path: Path, canary: Path) -> None:
    allowed = tmp_path / "allowed"
    allowed.mkdir()

    async with running(tmp_path, {"write": [str(allowed)]}) as upstream:
        read = await told(upstream, "read", path=str(canary))
        written = await told(upstream, "write", path=str(allowed / "a.txt"))
        _, unwritten = await told(upstream, "write", path=str(canary))

    assert read == ("canary", False)
    assert written == ("written", False)
    assert unwritten
    assert (allowed / "a.txt").read_text("utf-8") == "written"


@pytest.mark.enable_socket
@needs_no_network
async def test_without_a_network_no_connection_arrives_and_with_one_it_does(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0)
        port = listener.getsockname()[1]
        async with running(tmp_path, {"network": False}) as upstream:
            _, failed = await told(upstream, "connect", port=port)
        with pytest.raises(BlockingIOError):
            listener.accept()
        async with running(tmp_path, {}) as upstream:
            connected = await told(upstream, "connect", port=port)
        listener.accept()[0].close()

    assert failed
    assert connected == ("connected", False)


@pytest.mark.skipif(not available_layers().seccomp, reason="this kernel has no seccomp")
async def test_without_a_network_a_socket_that_is_a_file_is_out_of_reach_too(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        place = f"/proc/self/fd/{os.open(tmp_path, os.O_RDONLY)}/s"
        listener.bind(place)
        os.close(int(place.split("/")[4]))
        listener.listen()
        async with running(tmp_path, {"network": False}) as upstream:
            text, failed = await told(upstream, "connect_file", path=str(tmp_path / "s"))

    assert failed
    assert "PermissionError" in text


async def test_a_server_that_eats_its_memory_ends_with_the_limit_named_and_others_serve_on(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    async with AsyncExitStack() as both:
        hungry = await both.enter_async_context(running(tmp_path, {"memoryBytes": 512 * 1024**2}))
        steady = await both.enter_async_context(running(other, None))
        await steady.start()

        with pytest.raises(UpstreamUnavailable, match="limit on memory"):
            await told(hungry, "eat", size=1024**3)

        assert (await told(steady, "environment"))[1] is False
        assert (await told(hungry, "environment"))[1] is False
        # The two families look at the same descriptors, so the inner one has to be gone before the outer one looks.
        await hungry.aclose(drain=0)


@pytest.mark.parametrize("sandbox", [None, {"memoryBytes": 2**30}])
async def test_the_environment_is_made_from_nothing_with_walls_and_without(
    tmp_path: Path, sandbox: dict[str, Any] | None
) -> None:
    async with running(tmp_path, sandbox) as upstream:
        names = json.loads((await told(upstream, "environment"))[0])

    assert set(names) - {"LC_CTYPE"} == {"PATH", "HOME", "LANG", "TMPDIR", "TOOLCRIB_TREE", "TOOLCRIB_CHAIN", SIGN}


async def test_limits_are_those_of_the_settings(tmp_path: Path) -> None:
    sandbox = {"memoryBytes": 2**30, "cpuSeconds": 500, "openFiles": 64}

    async with running(tmp_path, sandbox) as upstream:
        limits = json.loads((await told(upstream, "limits"))[0])

    assert {name: limits[name] for name in ("AS", "CPU", "NOFILE")} == {"AS": 2**30, "CPU": 500, "NOFILE": 64}
    assert limits["FSIZE"] == resource.getrlimit(resource.RLIMIT_FSIZE)[0]


@needs_landlock
@needs_no_network
async def test_the_report_says_which_walls_stand(tmp_path: Path) -> None:
    async with running(tmp_path, {"network": False, "read": []}) as upstream:
        before = upstream.health().to_json()
        await upstream.start()
        walled = upstream.health().to_json()["sandbox"]
    async with running(tmp_path, None) as upstream:
        await upstream.start()
        open_ = upstream.health().to_json()["sandbox"]

    assert "sandbox" not in before
    assert walled["landlock"].startswith("abi")
    assert walled["network"] in {"no sockets", "isolated"}
    assert (open_["landlock"], open_["network"]) == ("off", "not isolated")


@needs_landlock
@pytest.mark.parametrize(
    ("folder", "first_line"), [("bin", "#!{}"), ("bin", "#!/usr/bin/env -S {} -I"), ("elsewhere", "#!{}")]
)
async def test_a_script_finds_the_interpreter_that_its_first_line_names(
    tmp_path: Path, folder: str, first_line: str
) -> None:
    program = tmp_path / folder / "server"
    program.parent.mkdir()
    program.write_text(f"{first_line.format(sys.executable)}\n{inspect.getsource(sandboxed_server)}", "utf-8")
    program.chmod(0o700)

    async with running(tmp_path, {"read": []}, command=str(program), args=()) as upstream:
        text, failed = await told(upstream, "read", path="/etc/hostname")

    assert failed
    assert "PermissionError" in text


async def test_a_program_that_is_missing_is_said_to_be_missing(tmp_path: Path) -> None:
    async with running(tmp_path, {"read": []}, command="no-such-program", args=()) as upstream:
        with pytest.raises(UpstreamUnavailable, match="was not found"):
            await upstream.start(timeout=30)


@pytest.mark.parametrize(
    ("sandbox", "lacking"),
    [
        (ServerSandbox(network=False), "`deny_sockets`"),
        (ServerSandbox(read=("/srv",)), "`restrict_files`"),
        (ServerSandbox(write=("/srv",)), "`restrict_files`"),
    ],
)
def test_a_wall_that_this_machine_cannot_build_keeps_the_server_from_starting(
    sandbox: ServerSandbox, lacking: str
) -> None:
    wishes = wishes_of(sandbox, (sys.executable,), path=PATH, layers=NONE)

    with pytest.raises(ProcessNotStarted, match="cannot give the sandbox that is required") as refused:
        plan_launch(wishes, rlimits=(), granted=(), own=(), layers=NONE)

    assert lacking in refused.value.message


def test_where_there_is_no_seccomp_a_namespace_stands_in_for_it() -> None:
    layers = Layers(linux=True, setpriv=None, prlimit=None, unshare="/usr/bin/unshare", landlock_abi=0)

    wishes = wishes_of(ServerSandbox(network=False), (sys.executable,), path=PATH, layers=layers)

    assert wishes == SandboxWishes(required=True, isolate_network=True)


@pytest.mark.req("CL-7")
def test_a_server_has_only_the_resource_limits_that_its_settings_name() -> None:
    assert wishes_of(None, (sys.executable,), path=PATH) == SandboxWishes()
    assert limits_of(None) is None
    assert limits_of(ServerSandbox(network=False)) is None
    assert limits_of(ServerSandbox(open_files=64)) == replace(NO_LIMITS, open_files=64)


@pytest.mark.req("CL-7")
async def test_without_settings_a_server_has_the_resource_limits_that_it_has_when_it_is_started_directly(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, None) as upstream:
        limits = json.loads((await told(upstream, "limits"))[0])

    assert limits == {name: resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))[0] for name in LIMIT_NAMES}


@pytest.mark.req("CL-7")
async def test_a_server_may_reserve_terabytes_of_address_space_as_chromium_does(tmp_path: Path) -> None:
    async with running(tmp_path, None) as upstream:
        text, failed = await told(upstream, "reserve", size=2**40)

    assert (text, failed) == ("reserved", False)


def test_a_server_behind_a_url_cannot_have_a_sandbox(tmp_path: Path) -> None:
    file = config_file(tmp_path, {"network": False}, {"url": "https://example.com/mcp"})

    with pytest.raises(ConfigError, match="only around what is started here"):
        load_config(file)
