"""`toolcrib store`: the database is looked at, copied, put back and migrated, as a stranger would do it."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update
from typer.testing import CliRunner, Result

from toolcrib_cli.app import app
from toolcrib_contextpacks import PACKS_LINE, ContextPacks
from toolcrib_contextpacks.tables import PACKS
from toolcrib_mcp.errors import ConfigError
from toolcrib_store import (
    Artifacts,
    Owner,
    StoreRefused,
    StoreUnavailable,
    TurnableClock,
    UnknownRevision,
    check_store,
    open_store,
)
from toolcrib_store.tables import ARTIFACTS

ANNA = Owner(principal="anna")


@pytest.fixture
def database(tmp_path: Path) -> str:
    with open_store(tmp_path / "a.db") as store:
        Artifacts(store).put(b"one", owner=ANNA, media_type="t", kind="k", source="s")
    return str(tmp_path / "a.db")


@pytest.fixture
def with_packs(database: str) -> str:
    with open_store(database, lines=[PACKS_LINE]) as store:
        ContextPacks(store).write({"title": "A pack", "sections": []})
    return database


def run(*words: str, **options: Any) -> Result:
    return CliRunner().invoke(app, ["store", *words], catch_exceptions=False, **options)


def test_a_store_that_is_sound_says_so_and_what_is_in_it(database: str) -> None:
    result = run("check", database)

    assert result.exit_code == 0
    assert result.output.splitlines() == [
        "a.db (sqlite): store 0002",
        "  artifacts: 1 row",
        "  blobs: 1 row",
        "  chunks: 1 row",
        "Everything is what was written.",
    ]


def test_looking_at_a_store_brings_no_tables_into_it_that_were_not_there(database: str) -> None:
    run("check", database)

    assert "packs" not in json.loads(run("check", database, "--json").output)["rows"]


@pytest.mark.req("CP-17")
@pytest.mark.fault("G9")
def test_what_is_wrong_is_told_then_moved_then_shown(with_packs: str) -> None:
    with open_store(with_packs, lines=[PACKS_LINE]) as store, store.writing() as connection:
        connection.execute(update(ARTIFACTS).values(source="another"))
        connection.execute(update(PACKS).values(body="{}"))

    found = run("check", with_packs)
    moved = run("check", with_packs, "--quarantine", "--json")
    after = run("check", with_packs)
    shown = run("quarantine", with_packs)
    whole = json.loads(run("quarantine", with_packs, "--json", "--limit", "1").output)

    assert (found.exit_code, moved.exit_code, after.exit_code) == (1, 1, 0)
    assert "In `artifacts`: Row `1` cannot be read." in found.output
    assert "In `packs`: Row `pk_" in found.output
    assert found.output.splitlines()[-1] == "2 problems found."
    assert (json.loads(moved.output)["moved"], json.loads(moved.output)["ok"]) == (2, False)
    assert [line.split()[2] for line in shown.output.splitlines()] == ["artifacts", "packs"]
    assert whole[0]["content"]["source"] == "another"
    assert "Moved into quarantine" not in after.output


def test_moving_is_told(database: str) -> None:
    with open_store(database) as store, store.writing() as connection:
        connection.execute(update(ARTIFACTS).values(source="another"))

    assert "Moved into quarantine: 1 row." in run("check", database, "--quarantine").output
    assert run("quarantine", database, "--after", "1").output == "Nothing is in quarantine.\n"


def test_packs_that_are_sound_are_right(with_packs: str) -> None:
    assert run("check", with_packs).exit_code == 0
    assert json.loads(run("check", with_packs, "--json").output)["rows"]["packs"] == 1


def test_a_copy_is_made_and_put_back(database: str, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"

    made = run("backup", database, str(copy))
    with pytest.raises(StoreRefused):
        run("backup", database, str(copy))
    again = run("backup", database, str(copy), "--replace", "--json")
    back = run("restore", str(copy), database)
    new = run("restore", str(copy), str(tmp_path / "new.db"), "--json")

    assert made.output.endswith("bytes, checked.\n")
    assert json.loads(again.output) == {"file": str(copy), "bytes": copy.stat().st_size}
    assert "is kept as a.db.before-" in back.output
    assert json.loads(new.output) == {"file": str(tmp_path / "new.db"), "kept": None}
    with open_store(tmp_path / "new.db") as store:
        assert check_store(store).rows["artifacts"] == 1


def test_a_store_goes_back_only_when_that_is_meant_and_forward_by_itself(with_packs: str) -> None:
    with pytest.raises(ConfigError, match="deletes"):
        run("migrate", with_packs, "--to", "0001")

    back = run("migrate", with_packs, "--to", "0001", "--yes")
    forward = run("migrate", with_packs, "--json")
    nothing = run("migrate", with_packs)

    assert "store: 0002 → 0001" in back.output
    assert json.loads(forward.output)["before"]["store"] == "0001"
    assert json.loads(forward.output)["after"]["store"] == "0002"
    assert "store: 0002\n" in nothing.output


def test_forms_and_lines_that_are_not_there_are_refused(with_packs: str) -> None:
    for words, refusal in (
        (("--to", "0099", "--yes"), UnknownRevision),
        (("--line", "nobody", "--to", "base", "--yes"), ConfigError),
        (("--to", "base", "--yes"), ConfigError),
    ):
        with pytest.raises(refusal):
            run("migrate", with_packs, *words)
    assert run("check", with_packs).exit_code == 0


def test_what_has_expired_is_swept_with_the_packs(tmp_path: Path) -> None:
    with open_store(tmp_path / "a.db", lines=[PACKS_LINE], clock=TurnableClock()) as store:
        Artifacts(store).put(b"old", owner=ANNA, media_type="t", kind="k", source="s")
        ContextPacks(store).write({"title": "An old pack", "sections": []})

    result = run("sweep", str(tmp_path / "a.db"))
    again = run("sweep", str(tmp_path / "a.db"), "--json")

    assert result.output == "Forgotten: 1 artifacts, 0 calls, 0 approvals, 1 packs.\n"
    assert json.loads(again.output) == {"artifacts": 0, "calls": 0, "approvals": 0, "packs": 0}


@pytest.mark.parametrize("command", ["check", "quarantine", "migrate", "sweep"])
def test_nothing_is_made_where_there_is_no_store(tmp_path: Path, command: str) -> None:
    with pytest.raises(StoreUnavailable):
        run(command, str(tmp_path / "a.db"))

    assert list(tmp_path.iterdir()) == []


def test_a_database_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "a.db")) as plain:
        plain.execute("CREATE TABLE mine (a)")
    before = (tmp_path / "a.db").read_bytes()

    with pytest.raises(StoreRefused):
        run("check", str(tmp_path / "a.db"))

    assert (tmp_path / "a.db").read_bytes() == before


def test_postgresql_is_looked_at_and_its_password_comes_from_the_environment(postgresql_url: str) -> None:
    open_store(postgresql_url).close()

    result = run("check", env={"TOOLCRIB_DATABASE": postgresql_url.replace("postgres@", "postgres:hunter2@")})

    assert result.exit_code == 0
    assert "(postgresql): store 0002" in result.output
    assert "hunter2" not in result.output


@pytest.mark.slow
def test_help_has_an_example_for_every_command_and_errors_are_two_lines() -> None:
    for command in ("check", "quarantine", "backup", "restore", "migrate", "sweep"):
        assert "Example: toolcrib store" in " ".join(run(command, "--help").output.split())

    failed = subprocess.run(
        [sys.executable, "-m", "toolcrib_cli", "store", "check", "mysql://u:hunter2@x/y"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert failed.returncode == 1
    assert [line.partition(":")[0] for line in failed.stderr.splitlines()] == ["error", "hint"]
    assert "hunter2" not in failed.stderr
