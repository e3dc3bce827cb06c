"""The committed lock is what a fresh resolution gives, and names no host and no path."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from checks.lockfile import LOCK_NAME, LockError, differences, main, renew
from checks.workspace import ROOT, find_packages, find_uv
from tests.real_parts import real_part_missing

pytestmark = pytest.mark.req("AR-9.5")


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    """The pyproject files of the workspace and its lock, without uv.lock: what a fresh clone resolves from."""
    if find_uv() is None:
        real_part_missing("uv is not on PATH")
    for package in find_packages():
        target = tmp_path / package.folder.relative_to(ROOT)
        target.mkdir(parents=True)
        shutil.copy(package.folder / "pyproject.toml", target)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copy(ROOT / LOCK_NAME, tmp_path)
    return tmp_path


@pytest.mark.slow
def test_a_fresh_resolution_is_what_is_committed(manifest: Path) -> None:
    assert differences(manifest) == []


@pytest.mark.slow
def test_a_version_that_was_edited_by_hand_is_found(manifest: Path) -> None:
    lock = manifest / LOCK_NAME
    text = lock.read_text("utf-8")
    lock.write_text(text.replace("\npydantic==", "\npydantic==9", 1), "utf-8")

    found = differences(manifest)

    assert any(line.startswith("-pydantic==9") for line in found)


@pytest.mark.slow
def test_renewing_moves_the_timestamp_and_writes_a_lock_that_agrees(manifest: Path) -> None:
    renew(manifest, "2026-11-01")

    assert 'exclude-newer = "2026-11-01T00:00:00Z"' in (manifest / "pyproject.toml").read_text("utf-8")
    assert differences(manifest) == []


def test_a_missing_lock_is_an_error_that_names_the_script(tmp_path: Path) -> None:
    with pytest.raises(LockError, match="scripts/lock makes it"):
        differences(tmp_path)


def test_a_workspace_without_a_timestamp_is_refused(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.uv]\n", "utf-8")

    with pytest.raises(LockError, match="exactly one `exclude-newer`"):
        renew(tmp_path, "2026-11-01")


def test_a_day_that_is_none_is_refused() -> None:
    with pytest.raises(SystemExit):
        main(["--date", "tomorrow"])


def test_every_locked_line_is_a_pinned_name_or_a_hash() -> None:
    lines = (ROOT / LOCK_NAME).read_text("utf-8").splitlines()

    assert [line for line in lines if "==" not in line and not line.startswith("    --hash=sha256:")] == []
