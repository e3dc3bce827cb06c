"""A configuration file is enough: its servers are reached, catalogued and called."""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path

import pytest
from process_children import SIGN, nothing_left
from sdk_servers import SdkServer, serving_sdk

from tests.chaos import hostile_server
from toolcrib_mcp import Catalog, UpstreamTerms, load_config, upstream_of


def _config(folder: Path, server: dict[str, object], **ours: object) -> Path:
    file = folder / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"Test Server": server}, "toolcrib": ours}), "utf-8")
    return file


@pytest.mark.req("GW-6.1", "GW-6.2", "GW-4.3")
async def test_a_program_of_the_file_is_started_catalogued_and_called(tmp_path: Path) -> None:
    async with nothing_left() as family:
        script = ["-I", "-S", hostile_server.__file__, "--mode", "good"]
        file = _config(tmp_path, {"command": sys.executable, "args": script, "env": {SIGN: family}})
        config = load_config(file)
        server = config.servers["Test Server"]

        async with upstream_of(server, gateway=config.settings) as upstream:
            catalog = Catalog()
            catalog.update(server.name, (await upstream.tools()).items, terms=UpstreamTerms(server=server.namespace))
            found = catalog.hydrate(next(each for each in catalog.snapshot().ids if ":echo" in each))
            result = await upstream.call("tools/call", {"name": found.upstream_name, "arguments": {"nonce": "n1"}})

    assert found.tool_id.startswith("test-server:echo")
    assert result["structuredContent"] == {"nonce": "n1"}


@pytest.mark.req("GW-6.1")
async def test_what_a_server_inherits_holds_no_secret(tmp_path: Path) -> None:
    show = "import json, os, sys; sys.stderr.write(json.dumps(sorted(os.environ)))"
    file = _config(
        tmp_path, {"command": sys.executable, "args": ["-I", "-c", show], "env": {"TOKEN": "t0p-s3cret-value"}}
    )
    environ = {"PATH": "/usr/bin:/bin", "HOME": "/", "AWS_SECRET_ACCESS_KEY": "canary"}
    upstream = upstream_of(load_config(file).servers["Test Server"], environ=environ)

    async with upstream:
        with pytest.raises(Exception, match="ended") as raised:
            await upstream.start(timeout=10)

    told = str(raised.value.details)  # type: ignore[attr-defined]  # an UpstreamUnavailable
    assert "TOKEN" in told
    assert "AWS" not in told
    assert "t0p-s3cret-value" not in told


@pytest.mark.req("GW-6.1")
async def test_a_server_may_reserve_as_much_address_space_as_node_does_for_its_first_fetch(tmp_path: Path) -> None:
    reserve = (
        "import mmap, resource, sys; mmap.mmap(-1, 16 * 1024**3, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, "
        "prot=mmap.PROT_READ); sys.stderr.write(f'limit {resource.getrlimit(resource.RLIMIT_AS)[1]}')"
    )
    file = _config(tmp_path, {"command": sys.executable, "args": ["-I", "-S", "-c", reserve]})
    upstream = upstream_of(load_config(file).servers["Test Server"])

    async with upstream:
        with pytest.raises(Exception, match="ended") as raised:
            await upstream.start(timeout=10)

    assert raised.value.details["status"] == 0  # type: ignore[attr-defined]  # an UpstreamUnavailable
    assert f"limit {resource.getrlimit(resource.RLIMIT_AS)[1]}" in str(raised.value.details)  # type: ignore[attr-defined]  # as above


@pytest.mark.req("GW-6.1")
async def test_the_file_may_set_variables_that_change_which_code_its_server_loads(tmp_path: Path) -> None:
    show = "import os, sys; sys.stderr.write(os.environ['PYTHONPATH'] + os.environ['NODE_OPTIONS'])"
    env = {"PYTHONPATH": "/of-the-file", "NODE_OPTIONS": "--of-the-file-too"}
    file = _config(tmp_path, {"command": sys.executable, "args": ["-S", "-c", show], "env": env})
    upstream = upstream_of(load_config(file).servers["Test Server"])

    async with upstream:
        with pytest.raises(Exception, match="ended") as raised:
            await upstream.start(timeout=10)

    assert raised.value.details["status"] == 0  # type: ignore[attr-defined]  # an UpstreamUnavailable
    assert "KeyError" not in str(raised.value.details)  # type: ignore[attr-defined]  # as above


@pytest.mark.enable_socket
@pytest.mark.req("GW-6.1", "GW-6.2")
async def test_a_url_of_the_file_is_reached_on_this_machine_because_it_says_so(tmp_path: Path) -> None:
    async with serving_sdk(SdkServer().server) as url:
        config = load_config(_config(tmp_path, {"type": "http", "url": url}))

        async with upstream_of(config.servers["Test Server"]) as upstream:
            names = [tool["name"] for tool in (await upstream.tools()).items]

    assert "echo" in names


@pytest.mark.req("GW-6.1")
async def test_a_server_runs_where_its_user_is_unless_the_file_says_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(tmp_path)
    show = ["-I", "-c", "import os, sys; sys.stderr.write('in ' + os.path.basename(os.getcwd()))"]
    told = []

    for more in ({}, {"cwd": str(elsewhere)}):
        file = _config(tmp_path, {"command": sys.executable, "args": show, **more})
        async with upstream_of(load_config(file).servers["Test Server"]) as upstream:
            with pytest.raises(Exception, match="ended") as raised:
                await upstream.start(timeout=10)
        told.append(raised.value.details["stderr"])  # type: ignore[attr-defined]  # an UpstreamUnavailable

    assert told == [f"in {tmp_path.name}", "in elsewhere"]
