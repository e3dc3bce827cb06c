"""The examples of text programs, forms and granted folders, each one file, run as they are."""

from __future__ import annotations

import json
import subprocess
import venv
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from loopback import answer, header_of, serving
from running_packs import need, needs_walls

from tests.repository_files import ROOT
from toolcrib_runtime import Policy, Toolbox
from toolcrib_runtime.guards.net import NetGrant
from toolcrib_toolpacks import PathGrant, RunSettings, ToolpackLoader, open_toolbox

pytestmark = [pytest.mark.req("CT-25"), pytest.mark.enable_socket]

FOLDER = ROOT / "examples/toolpacks"


@asynccontextmanager
async def example(name: str, *, folder: Path = FOLDER, **settings: Any) -> AsyncIterator[Toolbox]:
    """One example, for an operator who allows it to write."""
    packs = ToolpackLoader().load_file(folder / f"{name}.tool.yaml")
    async with open_toolbox(packs, settings=RunSettings(**settings), policy=Policy(by_risk=None)) as toolbox:
        yield toolbox


def test_all_of_them_load_as_one_folder() -> None:
    packs = ToolpackLoader().load_dir(FOLDER)

    assert [pack.id for pack in packs] == [
        *("clock.date", "csv.columns", "feedback.send", "git.log"),
        *("json.filter", "python.packages", "tracker.create_issue"),
    ]


@needs_walls
async def test_a_date_is_text() -> None:
    async with example("date") as toolbox:
        worked_out = await toolbox.call("clock:date", {"when": "2026-01-31 + 6 weeks"})
        formatted = await toolbox.call("clock:date", {"when": "2026-01-01", "format": "%A %j"})

    assert (worked_out.unwrap(), formatted.unwrap()) == ("2026-03-14", "Thursday 001")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A git repository with three commits."""
    need("git")
    repository = tmp_path / "repository"
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "commit.gpgSign=false")
    subprocess.run(["git", "init", "--quiet", repository], check=True)
    for subject in ("first", "second", "third"):
        command = ["git", *identity, "commit", "--quiet", "--allow-empty", "--message", subject]
        subprocess.run(command, cwd=repository, check=True)
    return repository


@needs_walls
async def test_commits_are_lines(repository: Path) -> None:
    async with example("git_log", granted_paths=(PathGrant.parse(str(repository)),)) as toolbox:
        two = (await toolbox.call("git:log", {"repository": str(repository), "count": 2})).unwrap()
        none = (await toolbox.call("git:log", {"repository": str(repository), "author": "Bob"})).unwrap()
        ours = (await toolbox.call("git:log", {"repository": str(repository), "author": "Ada"})).unwrap()

    assert [line.partition(" ")[2] for line in two] == ["third", "second"]
    assert (none, len(ours)) == ([], 3)


@needs_walls
async def test_a_filter_takes_json_and_gives_json() -> None:
    need("jq")
    async with example("jq") as toolbox:
        value = {"items": [{"n": 1}, {"n": 2}]}
        given = await toolbox.call("json:filter", {"value": value, "expression": "[.items[].n] | add"})
        text = await toolbox.call("json:filter", {"value": 'a "text"', "expression": "ascii_upcase"})
        wrong = await toolbox.call("json:filter", {"value": 1, "expression": ".["})

    assert given.unwrap() == 3
    assert text.unwrap() == 'A "TEXT"'
    assert wrong.error is not None
    assert "syntax error" in wrong.error.message


async def test_a_form_is_posted_and_answered_with_text(tmp_path: Path) -> None:
    async with serving(answer(body=b"Thank you.\n")) as server:
        moved("form_post", tmp_path, server.url(""))
        async with example("form_post", folder=tmp_path, network=NetGrant(allow_loopback=True)) as toolbox:
            arguments = {"subject": "a&b", "message": "two\nlines", "tags": ["x", "y"]}
            sent = await toolbox.call("feedback:send", arguments)

    assert sent.unwrap() == "Thank you."
    assert header_of(server.requests[0], "Content-Type") == "application/x-www-form-urlencoded"
    assert server.requests[0].endswith(b"\r\n\r\nsubject=a%26b&message=two%0Alines&tags=x&tags=y")


async def test_a_body_is_shaped_and_a_part_of_the_answer_is_returned(tmp_path: Path) -> None:
    body = {"data": {"issue": {"key": "T-7", "self": "…"}}, "meta": {}}
    async with serving(answer("201 Created", body=json.dumps(body).encode())) as server:
        moved("create_issue", tmp_path, server.url(""))
        async with example("create_issue", folder=tmp_path, network=NetGrant(allow_loopback=True)) as toolbox:
            arguments = {"title": 'a "quoted" title', "labels": ["bug", "ui"], "urgent": True}
            created = await toolbox.call("tracker:create_issue", arguments)

    assert created.unwrap() == {"key": "T-7", "self": "…"}
    assert json.loads(server.requests[0].partition(b"\r\n\r\n")[2]) == {
        "fields": {
            "summary": 'a "quoted" title',
            "priority": "high",
            "labels": [{"name": "bug"}, {"name": "ui"}],
        }
    }


@needs_walls
async def test_a_table_in_a_granted_folder_is_analysed(tmp_path: Path) -> None:
    table = tmp_path / "sales.csv"
    table.write_text("city,amount\nUlm,10.5\nBonn,4\n")

    async with example("csv_columns") as toolbox:
        refused = await toolbox.call("csv:columns", {"file": str(table)})
    async with example("csv_columns", granted_paths=(PathGrant.parse(f"csv:columns={tmp_path}"),)) as toolbox:
        read = await toolbox.call("csv:columns", {"file": str(table)})

    assert "PermissionError" in str(refused.error)
    assert read.unwrap() == {"city": None, "amount": 14.5}


@needs_walls
async def test_a_tool_runs_in_a_granted_virtual_environment(tmp_path: Path) -> None:
    home = tmp_path / "analysis"
    venv.create(home, symlinks=True)
    (site,) = home.glob("lib/python3*/site-packages")
    (site / "tables-1.0.dist-info").mkdir()
    (site / "tables-1.0.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: tables\nVersion: 1.0\n")

    async with example("python_packages", granted_paths=(PathGrant.parse(str(home)),)) as toolbox:
        assert (await toolbox.call("python:packages", {})).unwrap() == ["tables"]


def moved(name: str, folder: Path, url: str) -> None:
    """Write an example that asks another server than the one in its file."""
    text = (FOLDER / f"{name}.tool.yaml").read_text(encoding="utf-8")
    (folder / f"{name}.tool.yaml").write_text(text.replace("http://127.0.0.1:8000", url.rstrip("/")), encoding="utf-8")
