"""What real servers work on: files, notes, a graph, a database, a repository, and pages on this machine."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

BIRDS: Final = ("heron", "kingfisher", "dipper", "coot", "grebe", "teal")
SHEET_ROWS: Final = 181
"""Of `sheet.csv`, its header included."""

_BIRD: Final = {"name": "heron", "entityType": "bird", "observations": ["grey"]}
_PAGES: Final[Mapping[str, tuple[str, str]]] = {
    "/bird.txt": ("text/plain", "The page that is fetched says: heron."),
    "/pond.html": (
        "text/html",
        """<!doctype html><title>Pond</title><h1>Birds of the pond</h1><p>A heron waits at the weir.</p>
        <button onclick="document.querySelector('p').textContent='The heron flew.'">Clap</button>""",
    ),
    "/favicon.ico": ("image/x-icon", ""),
}
_KUBECONFIG: Final = """\
apiVersion: v1
kind: Config
current-context: pond
contexts: [{name: pond, context: {cluster: pond, user: pond}}]
clusters: [{name: pond, cluster: {server: "http://127.0.0.1:9"}}]
users: [{name: pond, user: {}}]
"""
"""A cluster that is not there."""

_COMMITS: Final = (
    ("heron.txt", "Add a heron"),
    ("pond.txt", "Dig the pond"),
    ("weir.txt", "Build the weir at the outlet"),
)


@dataclass(frozen=True, kw_only=True)
class Fixtures:
    """Everything that the servers work on."""

    folder: Path
    origin: str
    """Of the pages: `http://127.0.0.1:PORT`."""

    @property
    def page(self) -> str:
        """A page of plain text."""
        return f"{self.origin}/bird.txt"

    @property
    def pond(self) -> str:
        """A page with a heading and a button that changes it."""
        return f"{self.origin}/pond.html"


@contextmanager
def serve_fixtures(folder: Path) -> Iterator[Fixtures]:
    """Write all files below the folder, and serve the pages until the end."""
    write_files(folder)
    with ThreadingHTTPServer(("127.0.0.1", 0), _Pages) as serving:
        thread = threading.Thread(target=serving.serve_forever)
        thread.start()
        try:
            yield Fixtures(folder=folder, origin=f"http://127.0.0.1:{serving.server_port}")
        finally:
            serving.shutdown()
            thread.join()


def write_files(folder: Path) -> None:
    """Everything but the pages."""
    for name in ("files", "vault", "repo", "papers"):
        (folder / name).mkdir()
    (folder / "files" / "note.txt").write_text("a heron by the pond", encoding="utf-8")
    (folder / "files" / "report.html").write_text(
        "<h1>Birds of 2026</h1><p>We counted <b>seven</b> herons.</p>", encoding="utf-8"
    )
    (folder / "vault" / "heron.md").write_text("# Heron\nA grey bird.\n", encoding="utf-8")
    (folder / "memory.jsonl").write_text(json.dumps({"type": "entity", **_BIRD}), encoding="utf-8")
    (folder / "kubeconfig").write_text(_KUBECONFIG, encoding="utf-8")
    (folder / "files" / "sheet.csv").write_text("\n".join(_sheet_lines()) + "\n", encoding="utf-8")
    _write_database(folder / "birds.db")
    _write_repository(folder / "repo")


def _sheet_lines() -> Iterator[str]:
    yield "day,bird,count"
    for day in range(1, SHEET_ROWS):
        yield f"{day},{BIRDS[day % len(BIRDS)]},{day * 7 % 23}"


def _write_database(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("CREATE TABLE sightings (day INTEGER, bird TEXT, number INTEGER)")
        rows = [(day, BIRDS[day % len(BIRDS)], day * 7 % 23) for day in range(1, SHEET_ROWS)]
        connection.executemany("INSERT INTO sightings VALUES (?, ?, ?)", rows)


def _write_repository(repository: Path) -> None:
    _git(repository, "init", "--quiet", "--initial-branch=main")
    for file, subject in _COMMITS:
        (repository / file).write_text(subject, encoding="utf-8")
        _git(repository, "add", ".")
        _git(repository, "commit", "--quiet", "--message", subject)


def _git(repository: Path, *arguments: str) -> None:
    person = {f"GIT_{role}_{what}": "tester" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    untouched = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    environment = {**os.environ, **person, **untouched}
    command = ["git", "-C", str(repository), *arguments]
    subprocess.run(command, check=True, capture_output=True, env=environment)


class _Pages(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        found = _PAGES.get(self.path)
        kind, text = found or ("text/plain", "")
        body = text.encode()
        self.send_response(HTTPStatus.OK if found else HTTPStatus.NOT_FOUND)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Write nothing to standard error."""
