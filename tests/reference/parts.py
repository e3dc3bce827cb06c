"""The real parts on this machine, and how each is started."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from checks.real_servers import Part, node_of, read_parts
from tests.real_parts import real_part_missing

_ENTRY_POINTS: Mapping[str, str] = {"inspector": "clients/launcher/build/index.js"}


@dataclass(frozen=True, kw_only=True)
class Command:
    """A program with its arguments, and what it needs in its environment."""

    program: Path
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    folder: Path | None = None
    """Where it is started, if that matters to it."""

    @property
    def line(self) -> list[str]:
        """As a process is started."""
        return [str(self.program), *self.arguments]

    @property
    def entry(self) -> dict[str, Any]:
        """As a client's configuration has it."""
        entry = {"command": str(self.program), "args": list(self.arguments), "env": dict(self.environment)}
        return entry if self.folder is None else {**entry, "cwd": str(self.folder)}


def node_package(name: str, *arguments: str, **environment: str) -> Command:
    """A part of npm, run by the Node that belongs to the parts."""
    part = installed(name)
    script = _package_folder(part) / _ENTRY_POINTS.get(name, "dist/index.js")
    node = node_of(installed("node").folder)
    return Command(program=node, arguments=(str(script), *arguments), environment=environment)


def python_server(name: str, *arguments: str, **environment: str) -> Command:
    """A server from the Python package index, in its own environment."""
    program = installed(name).folder / "bin" / f"mcp-server-{name}"
    return Command(program=program, arguments=arguments, environment=environment)


def requirements_of_the_suite(revision: str) -> Path:
    """The file in which the conformance suite says what a revision of the protocol requires."""
    part = installed("conformance")
    return _package_folder(part) / "requirements" / f"{revision}.yaml"


def installed(name: str) -> Part:
    """The part of this name; a test that asks for one that is not here is skipped, or fails under CI."""
    part = read_parts()[name]
    if not part.is_installed:
        real_part_missing(f"`{name}` is not installed; `scripts/reference {name}` installs it")
    return part


def _package_folder(part: Part) -> Path:
    return part.folder / "node_modules" / str(part.pin["package"])
