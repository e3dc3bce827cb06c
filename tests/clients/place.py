"""Where a client runs: a home with nothing in it, an environment made from nothing, and how it is started."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from tests.reference.parts import Command

_NOWHERE: Final = "http://127.0.0.1:9"
"""The discard port: what a client wants from the network, it does not get."""


@dataclass(frozen=True)
class Entry:
    """How a client reaches toolcrib: a program, or a URL with a bearer token."""

    command: Command | None = None
    url: str = ""
    token: str = ""

    @property
    def headers(self) -> dict[str, str]:
        """What a client sends with every request."""
        return {"Authorization": f"Bearer {self.token}"}

    @property
    def as_json(self) -> dict[str, Any]:
        """As most clients have it in `mcpServers`."""
        if self.command is None:
            return {"type": "http", "url": self.url, "headers": self.headers}
        program, *arguments = self.command.line
        return {"type": "stdio", "command": program, "args": arguments, "env": dict(self.command.environment)}


@dataclass(frozen=True)
class Place:
    """One client's own: a home with nothing in it, a working folder, and the model that it speaks to."""

    folder: Path
    entry: Entry
    model: str = ""
    """The base URL, without a version."""

    @property
    def home(self) -> Path:
        """Of the client's user."""
        return self.folder / "home"

    @property
    def work(self) -> Path:
        """Where the client is started."""
        return self.folder / "work"

    def write(self, path: str, content: object) -> Path:
        """A file of the client below its folder: text, or JSON."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content, indent=1), encoding="utf-8")
        return file

    def environment(self, **extra: str) -> dict[str, str]:
        """All that the client has in its environment; nothing of ours is handed on."""
        home = str(self.home)
        proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), _NOWHERE)
        own = {"NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"}
        temporary = self.folder / "tmp"
        for folder in (self.home, self.work, temporary):
            folder.mkdir(parents=True, exist_ok=True)
        basic = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": home, "LANG": "C.UTF-8", "TERM": "dumb"}
        return {**basic, "TMPDIR": str(temporary), "USER": "ada", **proxies, **own, **extra}


@dataclass(frozen=True)
class Launch:
    """A command line with all that its process has in its environment."""

    line: list[str]
    environment: dict[str, str]

    def with_arguments(self, *arguments: str) -> Launch:
        """The same with more at the end of the line."""
        return replace(self, line=[*self.line, *arguments])
