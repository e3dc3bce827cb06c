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
from zipfile import ZipFile

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

_LOG_LINES: Final = 1_500
_LOG_ERRORS: Final = (250, 750, 1_250)
_SHEET: Final = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_RELATIONS: Final = "http://schemas.openxmlformats.org/package/2006/relationships"
_OFFICE: Final = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_TYPES: Final = "http://schemas.openxmlformats.org/package/2006/content-types"
_KIND: Final = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_WORKBOOK: Final = {
    "[Content_Types].xml": f"""<Types xmlns="{_TYPES}">
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>
<Override PartName="/xl/workbook.xml" ContentType="{_KIND}.sheet.main+xml"/>
<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{_KIND}.worksheet+xml"/></Types>""",
    "_rels/.rels": f"""<Relationships xmlns="{_RELATIONS}">
<Relationship Id="r1" Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>""",
    "xl/workbook.xml": f"""<workbook xmlns="{_SHEET}" xmlns:r="{_OFFICE}">
<sheets><sheet name="Sightings" sheetId="1" r:id="r1"/></sheets></workbook>""",
    "xl/_rels/workbook.xml.rels": f"""<Relationships xmlns="{_RELATIONS}">
<Relationship Id="r1" Type="{_OFFICE}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>""",
}
"""Every part of a workbook but its sheet."""

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
    (folder / "files" / "pond.log").write_text("\n".join(log_lines()) + "\n", encoding="utf-8")
    _write_workbook(folder / "files" / "birds.xlsx")
    _write_database(folder / "birds.db")
    _write_repository(folder / "repo")


def log_lines() -> Iterator[str]:
    """The lines of `files/pond.log`."""
    for number in range(_LOG_LINES):
        level, text = ("ERROR", "the weir is blocked") if number in _LOG_ERRORS else ("INFO", "the water is clear")
        yield f"2026-05-01T{number // 60 % 24:02}:{number % 60:02}:00Z {level} gauge {number}: {text}"


def _sightings() -> Iterator[tuple[int, str, int]]:
    for day in range(1, SHEET_ROWS):
        yield day, BIRDS[day % len(BIRDS)], day * 7 % 23


def _sheet_lines() -> Iterator[str]:
    yield "day,bird,count"
    for day, bird, count in _sightings():
        yield f"{day},{bird},{count}"


def _write_workbook(file: Path) -> None:
    """The same rows as one sheet, `Sightings`."""
    rows = [f"<row>{''.join(map(_text_cell, ('day', 'bird', 'count')))}</row>"]
    rows += [
        f"<row><c><v>{day}</v></c>{_text_cell(bird)}<c><v>{count}</v></c></row>" for day, bird, count in _sightings()
    ]
    with ZipFile(file, "w") as workbook:
        for name, text in _WORKBOOK.items():
            workbook.writestr(name, text)
        sheet = f'<worksheet xmlns="{_SHEET}"><sheetData>{"".join(rows)}</sheetData></worksheet>'
        workbook.writestr("xl/worksheets/sheet1.xml", sheet)


def _text_cell(text: str) -> str:
    return f'<c t="inlineStr"><is><t>{text}</t></is></c>'


def _write_database(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("CREATE TABLE sightings (day INTEGER, bird TEXT, number INTEGER)")
        connection.executemany("INSERT INTO sightings VALUES (?, ?, ?)", _sightings())


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
