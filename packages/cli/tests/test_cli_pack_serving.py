"""Context packs as a server: alone over HTTP, and as one server of the gateway; and the editor, in this process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp import Client
from typer.testing import CliRunner

from toolcrib_cli.app import app
from toolcrib_cli.pack import serving
from toolcrib_cli.pack.changing import edit_pack
from toolcrib_cli.pack.opening import opened_packs
from toolcrib_cli.pack.reading import show_pack
from toolcrib_contextpacks import ContextPacks, RevisionConflict
from toolcrib_mcp.config import HttpFront
from toolcrib_mcp.errors import ConfigError
from toolcrib_runtime.errors import ProcessExited, ProcessNotStarted

pytestmark = pytest.mark.req("CP-20")


@pytest.fixture
def packs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ContextPacks]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOOLCRIB_PACKS", str(tmp_path / "packs.db"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for name in ("VISUAL", "EDITOR"):
        monkeypatch.delenv(name, raising=False)
    with opened_packs() as opened:
        yield opened


@pytest.mark.enable_socket
@pytest.mark.allow_hosts(["127.0.0.1"])
async def test_packs_are_served_over_http(packs: ContextPacks, capsys: pytest.CaptureFixture[str]) -> None:
    pack = packs.write({"title": "Over HTTP", "sections": []}).pack
    running = asyncio.create_task(serving.serve_packs(database=None, source_root=None, http=HttpFront(port=0)))
    told = ""
    async with asyncio.timeout(30):
        while " at " not in told:
            await asyncio.sleep(0.01)
            told += capsys.readouterr().err
        async with Client(told.split()[-1]) as client:
            listed = await client.call_tool("output", {"action": "list"})
    running.cancel()
    await asyncio.wait([running])

    assert pack.id in listed.content[0].text


async def test_packs_are_a_server_of_the_gateway(packs: ContextPacks) -> None:
    async with serving.bring_context_packs(None) as brought:
        assert list(brought) == ["contextpacks"]


def test_serving_over_standard_input_ends_with_it(packs: ContextPacks, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    async def serve_packs(**given: object) -> None:
        asked.append(given)

    monkeypatch.setattr(serving, "serve_packs", serve_packs)
    result = CliRunner().invoke(app, ["pack", "serve", "--database", "x.db"])

    assert result.exit_code == 0
    assert asked == [{"database": "x.db", "source_root": None, "http": None}]


@pytest.fixture
def at_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolcrib_cli.pack.changing._has_terminal", lambda: True)


def _editor(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    file = folder / "editor"
    file.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    file.chmod(0o700)
    monkeypatch.setenv("EDITOR", str(file))


@pytest.mark.usefixtures("at_a_terminal")
def test_what_is_edited_is_written_with_the_revision_that_was_read(
    packs: ContextPacks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pack = packs.write({"title": "Before", "sections": []}).pack
    _editor(tmp_path, monkeypatch, 'sed -i s/Before/After/ "$1"')

    edit_pack(packs, pack.id, as_json=True)

    assert json.loads(capsys.readouterr().out)["title"] == "After"
    assert packs.get(pack_id=pack.id).revision == 2
    _editor(tmp_path, monkeypatch, "true")
    edit_pack(packs, pack.id, as_json=True)
    assert capsys.readouterr().err == "Nothing was changed.\n"
    assert list(tmp_path.glob("toolcrib-pk_*")) == []


@pytest.mark.usefixtures("at_a_terminal")
def test_what_was_typed_is_kept_when_it_is_refused(
    packs: ContextPacks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack = packs.write({"title": "Before", "sections": []}).pack
    monkeypatch.setattr(
        "toolcrib_cli.pack.changing._run",
        lambda _, file: (
            file.write_text('{"sections": []}')
            and packs.write({"sections": []}, pack_id=pack.id, expected_revision=1)
            and 0
        ),
    )
    monkeypatch.setenv("EDITOR", "any")

    with pytest.raises(RevisionConflict) as refused:
        edit_pack(packs, pack.id, as_json=False)

    kept = next(tmp_path.glob("toolcrib-pk_*"))
    assert kept.read_text("utf-8") == '{"sections": []}'
    assert str(kept) in str(refused.value.hint)


@pytest.mark.usefixtures("at_a_terminal")
def test_an_editor_that_is_missing_or_fails_is_an_error(
    packs: ContextPacks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack = packs.write({"sections": []}).pack

    with pytest.raises(ConfigError, match="No editor is named"):
        edit_pack(packs, pack.id, as_json=False)
    monkeypatch.setenv("EDITOR", "/no/such/editor")
    with pytest.raises(ProcessNotStarted):
        edit_pack(packs, pack.id, as_json=False)
    _editor(tmp_path, monkeypatch, "exit 3")
    with pytest.raises(ProcessExited):
        edit_pack(packs, pack.id, as_json=False)
    monkeypatch.setenv("EDITOR", "'unbalanced")
    with pytest.raises(ConfigError):
        edit_pack(packs, pack.id, as_json=False)


def test_a_terminal_gets_markdown_that_is_laid_out(
    packs: ContextPacks, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    pack = packs.write({"sections": [{"key": "scope", "title": "Scope", "description": "Words."}]}).pack

    show_pack(packs, pack.id, options={}, every_page=False, as_json=False)

    out = capsys.readouterr().out
    assert "## Scope" not in out
    assert "Scope [scope]" in out
