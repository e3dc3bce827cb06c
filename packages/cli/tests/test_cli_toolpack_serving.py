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
from toolcrib_cli.toolpack.serving import bring_toolpacks, served_folder
from toolcrib_cli.wiring import Asked, wired
from toolcrib_mcp import GatewayConfig, load_config
from toolcrib_mcp.hub import Hub
from toolcrib_runtime import ToolCall
from toolcrib_toolpacks import PathGrant, ToolpackFolder, ToolpackValidationError

SOON = 0.02
SPELLINGS = (
    "tracker:create_issue", "tracker.create_issue", "tracker/create_issue", "tracker__create_issue",
    "tracker:create_issue@0.1.0", "tracker.create_issue@0.1.0", "create_issue",
)  # fmt: skip


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


@pytest.mark.req("CT-22")
async def test_several_folders_are_one_catalogue_whose_tools_have_their_own_names(tmp_path: Path) -> None:
    begin(tmp_path / "a")
    begin(tmp_path / "b", "tracker.create_issue")
    begin(tmp_path / "b", "text.statistics.words")
    asked = Asked(config=GatewayConfig(servers={}), toolpacks=(tmp_path / "a", tmp_path / "b"))

    async with wired(asked) as parts, Hub(parts.config, upstreams=parts.upstreams) as hub:
        await hub.start(timeout=20)
        snapshot = hub.catalog.snapshot()
        found = {hub.catalog.resolve(name) for name in SPELLINGS}

    assert list(parts.upstreams) == ["toolpacks"]
    assert list(snapshot.ids) == [
        "text:greet@0.1.0", "text:statistics.words@0.1.0", "tracker:create_issue@0.1.0",
    ]  # fmt: skip
    assert found == {"tracker:create_issue@0.1.0"}


@pytest.mark.req("CT-22")
async def test_an_id_in_two_folders_is_refused_and_both_files_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [begin(tmp_path / name) for name in "ab"]
    asked = Asked(config=GatewayConfig(servers={}), toolpacks=(tmp_path / "a", tmp_path / "b"))

    with pytest.raises(ToolpackValidationError):
        async with bring_toolpacks(asked):
            pass

    told = capsys.readouterr().err
    assert all(str(file) in told for file in files)


async def test_a_server_of_the_configuration_keeps_its_name(tmp_path: Path) -> None:
    begin(tmp_path)
    (tmp_path / "mcp.json").write_text('{"mcpServers": {"toolpacks": {"command": "true"}}}')
    config = load_config(tmp_path / "mcp.json", environ={})

    async with bring_toolpacks(Asked(config=config, toolpacks=(tmp_path,))) as brought:
        assert list(brought) == ["toolpacks-2"]


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


def test_grants_become_the_settings_of_runs(tmp_path: Path) -> None:
    grants = Grants(paths=(f"{tmp_path}:rw",), env=("API_KEY",), reach=("loopback",))

    settings = grants.settings()

    assert (settings.network.allow_loopback, settings.network.allow_private) == (True, False)
    assert settings.granted_env == {"API_KEY"}
    assert settings.granted_paths == (PathGrant(path=tmp_path, write=True),)
