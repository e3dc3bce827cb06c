"""A database that replicas share, as commands find it: by an option or by the environment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from toolcrib_cli.app import app
from toolcrib_cli.asking import Choice, asked_for
from toolcrib_cli.doctor_checks import check_database
from toolcrib_cli.probing import probe
from toolcrib_cli.shared_database import database_of, is_there, shared_database
from toolcrib_mcp.shared import SHARED_LINE, shared_key
from toolcrib_store import open_store

pytestmark = pytest.mark.req("GW-9.2")

CONFIG = '{"mcpServers": {"files": {"command": "true"}}, "toolcrib": {"servers": {"files": {"enabled": false}}}}'
OLD, NEW = "correct horse battery staple 41", "correct horse battery staple 42"


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Those of a command about a configuration whose only server is off, and whose database is shared."""
    for name in ("TOOLCRIB_MASTER_KEY_FILE", "TOOLCRIB_PREVIOUS_MASTER_KEY", "TOOLCRIB_MASTER_KEY_KEYRING"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TOOLCRIB_MASTER_KEY", OLD)
    config = tmp_path / "mcp.json"
    config.write_text(CONFIG, encoding="utf-8")
    return ["--config", str(config), "--state-dir", str(tmp_path / "state"), "--shared", str(tmp_path / "shared.db")]


def _run(*words: str) -> Result:
    return CliRunner().invoke(app, list(words), catch_exceptions=False)


def _asked(options: list[str], **environ: str) -> Any:
    choice = Choice(config=Path(options[1]), state_dir=Path(options[3]), shared=None if environ else options[5])
    return asked_for(choice, environ=environ, quietly=True)


def test_the_environment_names_the_database_where_no_option_does(options: list[str]) -> None:
    assert _asked(options).shared == options[5]
    assert _asked(options, TOOLCRIB_SHARED="postgresql://db/x").shared == "postgresql://db/x"
    assert _asked(options, TOOLCRIB_SHARED="").shared is None
    assert shared_database(_asked(options, TOOLCRIB_SHARED="")) is None


def test_a_database_that_was_named_is_taken_to_be_there(options: list[str], tmp_path: Path) -> None:
    alone = _asked(options, TOOLCRIB_SHARED="")

    assert is_there(database_of(_asked(options)))
    assert database_of(alone) == alone.state_dir / "artifacts.db"
    assert not is_there(database_of(alone))


def test_questions_and_pins_of_all_replicas_are_seen_at_the_command_line(options: list[str]) -> None:
    asked, pinned = _run("approvals", "list", *options), _run("pins", "list", *options)

    assert (asked.exit_code, pinned.exit_code) == (0, 0)
    assert Path(options[5]).is_file()


def test_the_doctor_looks_at_the_database_that_is_shared(options: list[str]) -> None:
    good, bad = check_database(_asked(options)), check_database(_asked(options, TOOLCRIB_SHARED="mysql://db/x"))

    assert (good.verdict, good.said) == ("ok", "shared.db, shared")
    assert bad.verdict == "broken"


def test_servers_are_tried_against_the_pins_of_all_replicas(options: list[str]) -> None:
    found = probe(_asked(options), timeout=5)

    assert (found.status["servers"], found.failures) == ({}, {})


def test_the_master_key_before_opens_the_key_until_it_is_sealed_anew(
    options: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = _derived(options)
    monkeypatch.setenv("TOOLCRIB_MASTER_KEY", NEW)
    monkeypatch.setenv("TOOLCRIB_PREVIOUS_MASTER_KEY", OLD)
    while_changing = _derived(options)
    monkeypatch.delenv("TOOLCRIB_PREVIOUS_MASTER_KEY")

    assert before == while_changing == _derived(options)


def _derived(options: list[str]) -> bytes:
    shared = shared_database(_asked(options))
    assert shared is not None
    with open_store(shared.target, lines=[SHARED_LINE]) as store:
        return shared_key(store, shared.sealed_with).derived("a")
