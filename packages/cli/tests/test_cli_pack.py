"""`toolcrib pack`: what people type, and what programs read."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from toolcrib_cli.app import app
from toolcrib_cli.pack.opening import pack_database, pack_settings
from toolcrib_core import ToolError
from toolcrib_mcp.errors import ConfigError

pytestmark = pytest.mark.req("CP-20")

DOCUMENT = {
    "name": "auth-fix",
    "title": "Fix the token check",
    "brief": "Compare in constant time.",
    "sections": [
        {"key": "scope", "title": "Scope", "description": "The login alone."},
        {
            "key": "findings",
            "title": "Findings",
            "refs": [{"key": "check", "path": "auth.py", "line_start": 1, "line_end": 2, "why": "a timing risk"}],
        },
        {"key": "qa", "title": "QA", "description": "verdict: pass"},
        {"key": "notes", "title": "Notes", "description": "More."},
    ],
}


class Desk:
    """A folder with a source tree and a database of its own, at which commands are typed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "pack.json"
        self.file.write_text(json.dumps(DOCUMENT), encoding="utf-8")
        (folder / "auth.py").write_text("def check(token):\n    return token == 'x'\n", encoding="utf-8")

    def run(self, *arguments: str, text: str | None = None) -> Any:
        """Run a command of `toolcrib pack`; an error comes as the exception that the edge would tell."""
        return CliRunner().invoke(app, ["pack", *arguments], input=text)

    def fine(self, *arguments: str, text: str | None = None) -> str:
        """What a command prints that must go well."""
        result = self.run(*arguments, text=text)
        assert result.exit_code == 0, result.exception or result.output
        return str(result.stdout)

    def json(self, *arguments: str) -> Any:
        """The same as JSON."""
        return json.loads(self.fine(*arguments, "--json"))

    def refused(self, *arguments: str, text: str | None = None) -> ToolError:
        """The error of a command that must fail."""
        result = self.run(*arguments, text=text)
        assert isinstance(result.exception, ToolError), result.output
        return result.exception

    def write(self) -> str:
        """Make the pack, and give its id."""
        return self.fine("write", str(self.file)).strip()


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOOLCRIB_PACKS", str(tmp_path / "packs.db"))
    for name in ("VISUAL", "EDITOR", "CONTEXT_PACK_SOURCE_ROOT"):
        monkeypatch.delenv(name, raising=False)
    return Desk(tmp_path)


def test_a_pack_is_written_listed_shown_and_deleted(desk: Desk) -> None:
    made = desk.write()

    listed = desk.fine("list")
    shown = desk.fine("show", "auth-fix")
    deleted = desk.run("delete", made)

    assert made.startswith("pk_")
    assert listed.splitlines()[0].split() == ["id", "name", "title", "status", "revision", "expires", "in"]
    assert listed.splitlines()[1].split()[:2] == [made, "auth-fix"]
    assert "- verdict_status: status=draft, verdict=pass" in shown
    assert deleted.stderr == f"The pack {made} is deleted.\n"
    assert desk.run("list").stderr == "No context packs found.\n"


@pytest.mark.req("CT-26")
def test_every_command_speaks_json(desk: Desk) -> None:
    made = desk.json("write", str(desk.file))

    shown = desk.json("show", made["id"])
    assert shown.pop("document")["sections"] == made["sections"]
    assert shown == made
    assert [each["id"] for each in desk.json("list")["packs"]] == [made["id"]]
    assert desk.json("finalize", made["id"])["status"] == "finalized"
    assert desk.json("finalize", made["id"])["revision"] == 2
    assert desk.json("reopen", made["id"], "--revision", "2")["status"] == "draft"
    assert desk.json("ttl", made["id"], "--minutes", "5")["freshness_state"] == "expiring_soon"
    assert desk.json("export", made["id"], "--output", "copy.json")["file"] == "copy.json"
    assert desk.json("delete", "auth-fix", "--revision", "3") == {"id": made["id"], "deleted": True}
    assert desk.json("import", "copy.json")["revision"] == 3


def test_a_pack_is_replaced_only_in_the_revision_that_was_read(desk: Desk) -> None:
    made = desk.write()

    unsaid = desk.refused("write", str(desk.file), "--pack", made)
    desk.fine("write", "-", "--pack", made, "--revision", "1", text=json.dumps(DOCUMENT | {"brief": "Other."}))
    late = desk.refused("write", str(desk.file), "--pack", made, "--revision", "1")

    assert "which revision" in unsaid.message
    assert late.code == "toolbox.pack-revision-conflict"
    assert desk.json("show", made)["brief"] == "Other."


def test_checking_a_document_keeps_nothing(desk: Desk) -> None:
    checked = desk.run("write", str(desk.file), "--validate-only")

    assert checked.stderr == "The document is fine; nothing was kept.\n"
    assert desk.json("list")["count"] == 0


def test_finalizing_says_what_is_missing(desk: Desk) -> None:
    made = desk.fine("write", "-", text=json.dumps({"sections": [DOCUMENT["sections"][1]]})).strip()
    (desk.folder / "auth.py").unlink()

    refused = desk.refused("finalize", made)

    assert refused.details["missing_sections"] == ["scope", "qa"]
    assert "1 reference cannot be resolved: `findings/check`" in refused.message


def test_finalizing_twice_and_reopening_a_draft_say_that_there_is_nothing_to_do(desk: Desk) -> None:
    made = desk.write()

    told = [desk.run(command, made).stderr for command in ("reopen", "finalize", "finalize")]

    assert told[0] == f"The pack {made} is a draft already.\n"
    assert told[1] == f"The pack {made} is written: finalized, revision 2.\n"
    assert told[2] == f"The pack {made} is finalized already.\n"


def test_drift_and_broken_references_are_warned_about(desk: Desk) -> None:
    made = desk.write()
    (desk.folder / "auth.py").write_text("def check(token):\n    return False\n", encoding="utf-8")

    drifted = desk.run("write", str(desk.file), "--pack", made, "--revision", "1").stderr
    (desk.folder / "auth.py").unlink()
    broken = desk.run("write", str(desk.file), "--pack", made, "--revision", "2").stderr

    assert "warning: These lines had changed since they were referred to: `findings/check`." in drifted
    assert "warning: 1 reference cannot be resolved: `findings/check`." in broken


def test_pages_are_shown_one_by_one_or_all_at_once(desk: Desk) -> None:
    made = desk.write()

    first = desk.run("show", made, "--limit", "2")
    token = next(line for line in first.stdout.splitlines() if line.startswith("- next_page_token: ")).split(": ")[1]
    second = desk.fine("show", made, "--page-token", token)
    every = desk.fine("show", made, "--limit", "2", "--all", "--profile", "reviewer")
    some = desk.fine("show", made, "--contains", "TIMING", "--offset", "0")

    assert "There is more" in first.stderr
    assert "## QA [qa]" in second
    assert every.count("[LEGEND]") == 2
    assert "   2:     return token == 'x'" in every
    assert "- chunks_total: 1" in some


@pytest.mark.req("CP-6")
def test_lists_are_filtered(desk: Desk) -> None:
    desk.write()
    desk.fine("ttl", "auth-fix", "--minutes", "5")

    assert desk.json("list", "--freshness", "expiring_soon", "--status", "draft", "--query", "TOKEN")["count"] == 1
    assert desk.json("list", "--freshness", "fresh")["count"] == 0
    assert "(expiring soon)" in desk.fine("list")
    desk.fine("write", "-", text='{"sections": []}')
    assert "There are more" in desk.run("list", "--limit", "1").stderr


def test_what_cannot_be_read_is_told_of(desk: Desk) -> None:
    import sqlite3

    made = desk.write()
    with sqlite3.connect(desk.folder / "packs.db") as connection:
        connection.execute("UPDATE packs SET body = 'x'")
    connection.close()

    assert desk.refused("show", made).code == "toolbox.pack-unreadable"
    assert "1 pack could not be read" in desk.run("list").stderr


def test_a_pack_travels_as_a_file(desk: Desk, tmp_path: Path) -> None:
    made = desk.write()
    text = desk.fine("export", made)
    assert "is in `copy.json`" in desk.run("export", made, "-o", "copy.json").stderr
    other = ("--database", str(tmp_path / "other.db"))

    desk.fine("import", "-", *other, text=text)
    old = json.loads(text) | {"expires_at": "2020-01-01T00:00:00Z", "id": "pk_bbbbbbbb"}
    expired = desk.refused("import", "-", *other, text=json.dumps(old))
    taken = desk.refused("import", "-", "--ttl", "5", *other, text=json.dumps(old))
    desk.fine("import", "-", "--ttl", "5", "--share-name", *other, text=json.dumps(old))

    assert "grace period is over" in expired.message
    assert "has the name `auth-fix`" in taken.message
    assert desk.json("list", *other)["count"] == 2


@pytest.mark.req("CT-9")
def test_a_pack_comes_back_from_its_export_as_the_very_same_bytes(desk: Desk, tmp_path: Path) -> None:
    made = desk.write()
    first = desk.fine("export", made)
    other = ("--database", str(tmp_path / "other.db"))

    desk.fine("import", "-", text=first)
    desk.fine("import", "-", *other, text=first)
    desk.fine("delete", made)
    desk.fine("import", "-", text=first)

    assert desk.fine("export", "auth-fix") == desk.fine("export", "auth-fix", *other) == first


@pytest.mark.req("CT-26")
def test_what_show_prints_as_the_document_is_written_back(desk: Desk) -> None:
    made = desk.write()
    document = json.dumps(desk.json("show", made)["document"])

    desk.fine("write", "-", "--pack", made, "--revision", "1", text=document)

    assert json.dumps(desk.json("show", made)["document"]) == document


@pytest.mark.req("CT-26")
def test_an_expired_pack_is_shown_when_it_is_asked_for(desk: Desk) -> None:
    old = json.loads(desk.fine("export", desk.write()))
    desk.fine("delete", old["id"])
    past = datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=5)
    desk.fine("import", "-", text=json.dumps(old | {"expires_at": past.isoformat()}))

    new = desk.write()

    for state, wanted in (("expired", old["id"]), ("fresh", new)):
        assert f"- id: {wanted}\n" in desk.fine("show", "auth-fix", "--freshness", state)
        assert desk.json("show", "auth-fix", "--freshness", state)["id"] == wanted
    every = desk.fine("show", "auth-fix", "--freshness", "expired", "--limit", "2", "--all")
    assert every.count(f"- id: {old['id']}\n") == 2
    assert (
        desk.refused("show", new, "--freshness", "expired").hint == "Leave `--freshness` out to read it all the same."
    )
    assert desk.refused("ttl", old["id"], "--minutes", "5").code == "toolbox.pack-conflict"


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("show", "nobody"), "No pack is called `nobody`"),
        (("delete", "pk_zzzzzzzz"), "No pack has the id"),
        (("delete", "nothing"), "No pack is called"),
        (("write", "none.json"), "cannot be used: No such file"),
        (("ttl", "x"), "exactly one"),
        (("show", "x", "--source-root", "nowhere"), "source root"),
        (("list", "--database", "mysql://x"), "kind that is not known"),
        (("edit", "x"), "no terminal"),
    ],
)
def test_what_goes_wrong_is_told_in_a_sentence_with_a_hint(desk: Desk, arguments: tuple[str, ...], word: str) -> None:
    refused = desk.refused(*arguments)

    assert word in refused.message
    assert refused.hint
    assert "action=" not in refused.hint


def test_an_export_that_cannot_be_written_is_an_error(desk: Desk) -> None:
    made = desk.write()

    assert "cannot be used" in desk.refused("export", made, "--output", str(desk.folder / "no" / "x.json")).message


def test_a_wrong_setting_of_the_environment_is_no_failure_but_unusable(desk: Desk, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="CONTEXT_PACK_EXPIRED_GRACE_SECONDS"):
        pack_settings(None, environ={"CONTEXT_PACK_EXPIRED_GRACE_SECONDS": "soon"}, directory=tmp_path)
    assert pack_database(None, environ={"TOOLCRIB_STATE_DIR": str(tmp_path)}) == tmp_path / "packs.db"
    assert pack_database("postgresql://h/d", environ={}) == "postgresql://h/d"


def _in_a_terminal(desk: Desk, *arguments: str, **environ: str) -> tuple[int, str]:
    """Run a command in a terminal of its own; its exit code, and all that it wrote there."""
    ours, theirs = pty.openpty()
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "toolcrib_cli", "pack", *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=desk.folder,
            env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", **environ},
        )
        os.close(theirs)
        told = b""
        while True:
            try:
                some = os.read(ours, 65_536)
            except OSError:  # the other end is closed
                break
            if not some:
                break
            told += some
        return process.wait(30), told.decode()
    finally:
        os.close(ours)


@pytest.mark.slow
def test_an_editor_changes_the_document_and_a_late_change_is_kept_beside(desk: Desk) -> None:
    made = desk.write()
    stale = f"{sys.executable} -m toolcrib_cli pack finalize {made} && sed -i s/Less/Late/"
    (desk.folder / "late").write_text(f'#!/bin/sh\n{stale} "$1"\n', encoding="utf-8")
    (desk.folder / "late").chmod(0o700)

    changed = _in_a_terminal(desk, "edit", made, EDITOR="sed -i s/More/Less/")
    same = _in_a_terminal(desk, "edit", made, VISUAL="true")
    late = _in_a_terminal(desk, "edit", made, EDITOR=str(desk.folder / "late"), TMPDIR=str(desk.folder))
    broken = [
        _in_a_terminal(desk, "edit", made, EDITOR=editor, TMPDIR=str(desk.folder))[1]
        for editor in ("false", "/no/such/editor", "")
    ]

    assert changed[0] == 0
    assert desk.json("show", made)["sections"][3]["description"] == "Less."
    assert "Nothing was changed." in same[1]
    assert late[0] == 1
    assert "has revision 3, not 2" in late[1]
    assert "What you typed is kept in" in " ".join(late[1].split())
    assert [word in text for word, text in zip(("failed", "cannot be started", "No editor"), broken, strict=True)]
    assert all("Traceback" not in text for text in broken)
    assert list(desk.folder.glob(f"toolcrib-{made}-*.json"))


@pytest.mark.slow
def test_a_terminal_shows_headings_and_code_in_colour(desk: Desk) -> None:
    made = desk.write()

    code, text = _in_a_terminal(desk, "show", made, "--profile", "reviewer")

    assert code == 0
    assert "\x1b[" in text
    assert "## Scope" not in text
    assert "Scope [scope]" in text
