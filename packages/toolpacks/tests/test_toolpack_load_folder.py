"""A folder that is edited while it is in use: the last good state stays, and what is wrong is told."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest
from loading_packs import write, write_text

from toolcrib_runtime.testing import FakeClock
from toolcrib_toolpacks import FolderNews, ToolpackFolder, ToolpackValidationError

SCRIPT = {"execution": {"kind": "python", "script": "run.py"}}


@pytest.mark.req("TP-2")
def test_a_folder_that_is_broken_at_first_cannot_be_opened(tmp_path: Path) -> None:
    write(tmp_path, {"id": "Bad"})

    with pytest.raises(ToolpackValidationError):
        ToolpackFolder(tmp_path)


@pytest.mark.req("TP-2")
def test_packs_that_are_added_changed_and_removed_are_told(tmp_path: Path) -> None:
    write(tmp_path, {"id": "a.one"}, name="one")
    write(tmp_path, {"id": "a.two"}, name="two")
    folder = ToolpackFolder(tmp_path)

    assert folder.refresh() is None
    write(tmp_path, {"id": "a.three"}, name="three")
    write(tmp_path, {"id": "a.two", "timeoutMs": 12_345}, name="two")
    (tmp_path / "one.tool.yaml").unlink()

    assert folder.refresh() == FolderNews(added=("a.three",), changed=("a.two",), removed=("a.one",))
    assert [each.id for each in folder.packs] == ["a.three", "a.two"]
    assert folder.refresh() is None


@pytest.mark.req("TP-2")
def test_a_broken_edit_keeps_the_last_good_state_and_is_told_until_it_is_mended(tmp_path: Path) -> None:
    write(tmp_path)
    folder = ToolpackFolder(tmp_path)
    before = folder.packs
    write(tmp_path, {"id": "a.new"}, name="new")
    broken = write_text(tmp_path, "broken.tool.yaml", "id: [")

    news = folder.refresh()

    assert news is not None
    assert not news.is_good
    assert folder.packs == before
    assert folder.problem is news.problem
    assert folder.refresh() is None
    broken.unlink()
    assert folder.refresh() == FolderNews(added=("a.new",))
    assert folder.problem is None


@pytest.mark.req("TP-2")
def test_a_broken_edit_that_is_taken_back_is_told_as_good_again(tmp_path: Path) -> None:
    write(tmp_path)
    folder = ToolpackFolder(tmp_path)
    broken = write_text(tmp_path, "broken.tool.yaml", "id: [")
    folder.refresh()
    broken.unlink()

    assert folder.refresh() == FolderNews()


@pytest.mark.req("TP-2")
def test_an_edit_of_a_script_or_of_a_schema_changes_the_pack_and_one_of_a_comment_does_not(tmp_path: Path) -> None:
    write(tmp_path, {**SCRIPT, "outputSchema": {"$ref": "out.json"}})
    write_text(tmp_path, "run.py", "print(1)")
    write_text(tmp_path, "out.json", "{}")
    folder = ToolpackFolder(tmp_path)
    changed = FolderNews(changed=("weather.forecast",))

    write_text(tmp_path, "run.py", "print(12)")
    assert folder.refresh() == changed
    write_text(tmp_path, "out.json", '{"type": "object"}')
    assert folder.refresh() == changed
    write_text(tmp_path, "notes.txt", "nothing of the packs")
    write_text(tmp_path, ".hidden/x", "nothing of the packs")
    assert folder.refresh() is None


@pytest.mark.req("TP-2")
def test_a_folder_that_is_gone_keeps_its_last_good_state(tmp_path: Path) -> None:
    write(tmp_path / "packs")
    folder = ToolpackFolder(tmp_path / "packs")
    shutil.rmtree(tmp_path / "packs")

    news = folder.refresh()

    assert news is not None
    assert [each.code for each in news.problem.violations] == ["no-folder"]
    assert len(folder.packs) == 1


@pytest.mark.req("TP-2")
async def test_watching_tells_each_change_once(tmp_path: Path) -> None:
    write(tmp_path)
    folder, clock = ToolpackFolder(tmp_path), FakeClock()
    told: asyncio.Queue[FolderNews] = asyncio.Queue()
    watching = asyncio.create_task(folder.watch(told.put, every=2.0, clock=clock))

    try:
        await asyncio.wait_for(clock.until_waiting(), 10)
        write(tmp_path, {"id": "a.new"}, name="new")
        await clock.advance(2.0)
        news = await asyncio.wait_for(told.get(), 10)
    finally:
        watching.cancel()

    assert news == FolderNews(added=("a.new",))
