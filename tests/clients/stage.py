"""What clients connect to: toolcrib over stdio or HTTP, and the servers behind it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from checks.workspace import ROOT
from tests.clients.place import Entry
from tests.reference.parts import Command, node_package, python_server
from tests.reference.processes import listening, serve_command, toolcrib

TRANSPORTS: Final = ("stdio", "http")

_POLICY: Final = """version = 1
default = "allow"

[[rule]]
decision = "ask"
server = "orders"
tool = "delete_*"
"""
_COMMAND_SECONDS: Final = 60


@dataclass(frozen=True)
class Stage:
    """One configuration with its state, for the clients of one transport."""

    folder: Path
    url: str = ""
    """Where toolcrib listens, for clients over HTTP."""

    @property
    def config(self) -> Path:
        """The configuration that is served."""
        return self.folder / "mcp.json"

    def entry_for(self, client: str) -> Entry:
        """How this client reaches toolcrib; over HTTP with a token of its own."""
        if not self.url:
            return Entry(command=serve_command(self.config, "gateway"))
        database = str(self.folder / "state" / "toolsets.db")
        principal = f"{client}@example.org"
        made = _run("token", "create", principal, "--json", "--database", database)
        return Entry(url=self.url, token=json.loads(made)["token"])

    def grant(self, approval: str) -> None:
        """Do what the text tells a person to do."""
        state = str(self.folder / "state")
        _run("approvals", "grant", approval, "--yes", "--config", str(self.config), "--state-dir", state)


@contextmanager
def stage(folder: Path, transport: str, servers: Mapping[str, Command]) -> Iterator[Stage]:
    """Toolcrib in front of these servers, until the context ends."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "state").mkdir()
    config = folder / "mcp.json"
    document = {"mcpServers": {name: server.entry for name, server in servers.items()}}
    config.write_text(json.dumps(document, indent=1), encoding="utf-8")
    (folder / "toolcrib.policy.toml").write_text(_POLICY, encoding="utf-8")
    if transport == "stdio":
        yield Stage(folder)
        return
    with listening(serve_command(config, "gateway", "--http", "127.0.0.1:0", "--auth", "tokens")) as url:
        yield Stage(folder, url)


def orders_server() -> dict[str, Command]:
    """Our own small server."""
    return {"orders": Command(program=Path(sys.executable), arguments=(str(ROOT / "tests/clients/orders_server.py"),))}


def reference_servers(folder: Path) -> dict[str, Command]:
    """Real servers beside ours, as a person has them."""
    files = folder / "files"
    files.mkdir(parents=True, exist_ok=True)
    return {
        "git": python_server("git"),
        "time": python_server("time", "--local-timezone", "Etc/UTC"),
        "sqlite": python_server("sqlite", "--db-path", str(folder / "data.db")),
        "filesystem": node_package("filesystem", str(files)),
        "memory": node_package("memory", MEMORY_FILE_PATH=str(folder / "memory.jsonl")),
        "everything": node_package("everything", "stdio"),
    }


def _run(*arguments: str) -> str:
    command = toolcrib(*arguments)
    done = subprocess.run(
        command.line, check=False, capture_output=True, text=True, timeout=_COMMAND_SECONDS, env=dict(os.environ)
    )
    assert done.returncode == 0, f"toolcrib {' '.join(arguments)}: {done.stderr}{done.stdout}"
    return done.stdout
