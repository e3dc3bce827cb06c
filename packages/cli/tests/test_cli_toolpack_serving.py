"""Folders of tool files behind the gateway, edited while they are served."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest
from process_children import until

from toolcrib_cli.toolpack import serving
from toolcrib_cli.toolpack.beginning import run_new
from toolcrib_cli.toolpack.grants import Grants
from toolcrib_cli.toolpack.serving import bring_toolpacks, served_folder, server_name
from toolcrib_cli.wiring import Asked, wired
from toolcrib_mcp import GatewayConfig
from toolcrib_mcp.errors import ConfigError
from toolcrib_runtime import ToolCall
from toolcrib_toolpacks import ToolpackFolder, ToolpackValidationError

SOON = 0.02


def begin(folder: Path, tool: str = "text.greet") -> Path:
    run_new("python", tool, folder=folder, url="https://example.com/", force=True)
    return folder / f"{tool.rpartition('.')[2]}.tool.yaml"


@pytest.mark.req("TP-28")
async def test_an_edit_is_served_without_a_restart_and_a_broken_one_is_not(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = begin(tmp_path)
    caplog.set_level(logging.INFO, logger=serving.__name__)

    async with served_folder(ToolpackFolder(tmp_path), Grants(), every=SOON) as service:
        first = service.toolbox
        assert [each.definition.id for each in first.tools] == ["text:greet@0.1.0"]
        good = file.read_text()
        file.write_text("id: [")
        await until(lambda: "is served as it was before" in caplog.text)
        assert service.toolbox is first
        file.write_text(good.replace('"0.1.0"', '"0.2.0"'))
        await until(lambda: service.toolbox is not first)
        assert [each.definition.id for each in service.toolbox.tools] == ["text:greet@0.2.0"]
        called = await service.toolbox.execute(ToolCall(tool="text:greet", arguments={"name": "Ada"}))

    assert called.value == {"greeting": "Hello, Ada!"}
    assert "changed `text.greet`" in caplog.text


async def test_a_call_that_is_under_way_ends_in_the_toolbox_it_began_in(tmp_path: Path) -> None:
    file = begin(tmp_path)
    go, begun = tmp_path / ".go", tmp_path / ".begun"
    (tmp_path / "greet_tool.py").write_text(
        "import os, time\n\ndef greet(name):\n    end = time.monotonic() + 20\n"
        f"    open({str(begun)!r}, 'w').close()\n"
        f"    while not os.path.exists({str(go)!r}) and time.monotonic() < end:\n        time.sleep(0.01)\n"
        "    return {'greeting': name}\n"
    )
    file.write_text(file.read_text() + "caps: {filesystem: {read: [.], write: [.]}}\n")

    async with served_folder(ToolpackFolder(tmp_path), Grants(trust=True), every=SOON) as service:
        first = service.toolbox
        calling = asyncio.create_task(first.execute(ToolCall(tool="text:greet", arguments={"name": "Ada"})))
        await until(begun.exists)
        file.write_text(file.read_text().replace('"0.1.0"', '"0.2.0"'))
        await until(lambda: service.toolbox is not first)
        go.touch()
        result = await calling

    assert result.unwrap() == {"greeting": "Ada"}


async def test_tools_that_cannot_be_served_together_leave_the_ones_before(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from toolcrib_core import WireNameCollision
    from toolcrib_mcp import ToolboxService

    begin(tmp_path)

    def refuse(*_: object) -> None:
        raise WireNameCollision("Two tools would be called the same.")

    async with served_folder(ToolpackFolder(tmp_path), Grants(), every=SOON) as service:
        first = service.toolbox
        monkeypatch.setattr(ToolboxService, "replace", refuse)
        begin(tmp_path, "text.other")
        await until(lambda: "Two tools would be called the same." in caplog.text)
        assert service.toolbox is first


@pytest.mark.req("TP-28")
async def test_every_folder_is_a_server_of_its_own_name(tmp_path: Path) -> None:
    begin(tmp_path / "a/My Packs")
    begin(tmp_path / "b/my-packs")
    asked = Asked(config=GatewayConfig(servers={}), toolpacks=(tmp_path / "a/My Packs", tmp_path / "b/my-packs"))

    async with wired(asked) as parts:
        assert list(parts.upstreams) == ["my-packs", "my-packs-2"]
    assert server_name(Path("/")) == "toolpacks"
    assert server_name(tmp_path / "9x") == "toolpacks-9x"


async def test_a_folder_that_is_broken_at_first_is_not_served(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    begin(tmp_path).write_text("id: [")
    begin(tmp_path, "text.other").write_text("id: [")
    asked = Asked(config=GatewayConfig(servers={}), toolpacks=(tmp_path,))

    with pytest.raises(ToolpackValidationError):
        async with bring_toolpacks(asked):
            pass

    assert "greet.tool.yaml:2: The YAML cannot be read" in capsys.readouterr().err


def test_a_server_takes_its_grants_from_the_environment() -> None:
    environ = {
        "TOOLCRIB_TOOLPACKS_TRUST": "1",
        "TOOLCRIB_TOOLPACKS_ENV": "API_KEY, OTHER_TOKEN",
        "TOOLCRIB_TOOLPACKS_ALLOW": "loopback http",
    }

    grants = Grants.of_environment(environ)

    assert grants == Grants(trust=True, env=("API_KEY", "OTHER_TOKEN"), reach=("loopback", "http"))
    assert (grants.settings().network.allow_loopback, grants.settings().network.allow_private) == (True, False)
    assert Grants.of_environment({"TOOLCRIB_TOOLPACKS_TRUST": "0"}) == Grants()
    with pytest.raises(ConfigError, match="`everything`"):
        Grants.of_environment({"TOOLCRIB_TOOLPACKS_ALLOW": "everything"})
