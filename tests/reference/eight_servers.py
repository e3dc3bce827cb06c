"""The eight reference servers, each over something small to work on, and one use of each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checks.server_fixtures import serve_fixtures
from tests.reference.parts import Command, node_package, python_server


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
    with serve_fixtures(folder) as fixtures:
        yield Workshop(folder=folder, page=fixtures.page)
