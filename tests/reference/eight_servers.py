"""The eight reference servers, each over something small to work on, and one use of each."""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

from tests.reference.parts import Command, node_package, python_server

_PAGE: Final = "The page that is fetched says: heron."
_BIRD: Final = {"name": "heron", "entityType": "bird", "observations": ["grey"]}


@dataclass(frozen=True, kw_only=True)
class Use:
    """A call of one tool, and a word that its answer must hold."""

    server: str
    tool: str
    arguments: Mapping[str, Any]
    answer: str

    def listed_in(self, names: Iterable[str]) -> str:
        """The name under which the tool is listed: with its namespace before it, and its version or hash behind."""
        start = re.compile(rf"{re.escape(self.server)}:{re.escape(self.tool)}(?=$|[@#])")
        (found,) = (name for name in names if start.match(name))
        return found


@dataclass(frozen=True, kw_only=True)
class Workshop:
    """Everything that the servers work on."""

    folder: Path
    page: str
    """The URL of a page on this machine."""

    @property
    def servers(self) -> dict[str, Command]:
        """How each server is started; what it writes stays in the folder."""
        memory = str(self.folder / "memory.jsonl")
        return {
            "everything": node_package("everything", "stdio"),
            "filesystem": node_package("filesystem", str(self.folder / "files")),
            "memory": node_package("memory", MEMORY_FILE_PATH=memory),
            "sequential-thinking": node_package("sequential-thinking"),
            "git": python_server("git"),
            "time": python_server("time", "--local-timezone", "Etc/UTC"),
            "fetch": python_server("fetch", "--ignore-robots-txt", "--allow-private-ips"),
            "sqlite": python_server("sqlite", "--db-path", str(self.folder / "data.db")),
        }

    @property
    def uses(self) -> tuple[Use, ...]:
        """One of each server."""
        note = str(self.folder / "files" / "note.txt")
        hours = {"source_timezone": "Etc/UTC", "time": "16:30", "target_timezone": "Asia/Tokyo"}
        thought = {"thought": "herons", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1}
        return (
            Use(server="everything", tool="get-sum", arguments={"a": 2, "b": 3}, answer="5"),
            Use(server="filesystem", tool="read_text_file", arguments={"path": note}, answer="heron"),
            Use(server="memory", tool="search_nodes", arguments={"query": "bird"}, answer="heron"),
            Use(server="sequential-thinking", tool="sequentialthinking", arguments=thought, answer="thoughtNumber"),
            Use(server="git", tool="git_log", arguments={"repo_path": str(self.folder / "repo")}, answer="Add a heron"),
            Use(server="time", tool="convert_time", arguments=hours, answer="01:30"),
            Use(server="fetch", tool="fetch", arguments={"url": self.page}, answer="heron"),
            Use(server="sqlite", tool="read_query", arguments={"query": "SELECT 6 * 7 AS bird"}, answer="42"),
        )


@contextmanager
def workshop(folder: Path) -> Iterator[Workshop]:
    """Files, a graph, a repository and a page for the servers; the page is gone afterwards."""
    _prepare(folder)
    with ThreadingHTTPServer(("127.0.0.1", 0), _Page) as serving:
        thread = threading.Thread(target=serving.serve_forever)
        thread.start()
        try:
            yield Workshop(folder=folder, page=f"http://127.0.0.1:{serving.server_port}/bird.txt")
        finally:
            serving.shutdown()
            thread.join()


class _Page(BaseHTTPRequestHandler):
    """Answers everything with the one page."""

    def do_GET(self) -> None:
        body = _PAGE.encode()
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def _prepare(folder: Path) -> None:
    (folder / "files").mkdir()
    (folder / "files" / "note.txt").write_text("a heron by the pond", encoding="utf-8")
    (folder / "memory.jsonl").write_text(json.dumps({"type": "entity", **_BIRD}), encoding="utf-8")
    repository = folder / "repo"
    repository.mkdir()
    _git(repository, "init", "--quiet", "--initial-branch=main")
    (repository / "heron.txt").write_text("grey", encoding="utf-8")
    _git(repository, "add", ".")
    _git(repository, "commit", "--quiet", "--message", "Add a heron")


def _git(repository: Path, *arguments: str) -> None:
    person = {f"GIT_{role}_{what}": "tester" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    untouched = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    environment = {**os.environ, **person, **untouched}
    subprocess.run(["git", "-C", str(repository), *arguments], check=True, capture_output=True, env=environment)
