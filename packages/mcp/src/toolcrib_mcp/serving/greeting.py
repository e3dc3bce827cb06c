"""What clients are answered before any server is known: `initialize`, and the fixed list of the gateway's tools.

What they were answered last time is kept in the state directory, so that the next process answers the same at once.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal, Self, TypeAlias

Mode: TypeAlias = Literal["gateway", "proxy", "transparent"]
"""What clients see of the servers: `gateway` three tools, `proxy` a stripped list and two tools, `transparent` all."""

MAX_BYTES: Final = 1024 * 1024

MAX_NAMES: Final = 400
"""Characters that the names of servers may have together in a first greeting: about 150 tokens."""

_EVERYTHING: Final[Mapping[str, Any]] = {
    "resources": {"listChanged": True, "subscribe": True},
    "prompts": {"listChanged": True},
    "completions": {},
}
_logger = logging.getLogger("toolcrib.mcp")


@dataclass(frozen=True, kw_only=True)
class Greeting:
    """The answers to `initialize` and, in gateway mode, to `tools/list`."""

    mode: Mode
    capabilities: Mapping[str, Any]
    instructions: str | None
    tools: Sequence[Mapping[str, Any]] | None
    """`None` where the list depends on the servers and is waited for."""
    max_message: int
    """The longest message that is read, in bytes: the limit of the configuration."""

    @classmethod
    def parse(cls, value: object) -> Self | None:
        """A greeting from JSON; `None` if it is not one."""
        match value:
            case {
                "mode": "gateway" | "proxy" as mode,
                "capabilities": dict() as capabilities,
                "instructions": str() | None as instructions,
                "tools": list() | None as tools,
                "max_message": int() as max_message,
            } if all(isinstance(each, dict) for each in tools or ()) and max_message > 0:
                return cls(
                    mode=mode,
                    capabilities=capabilities,
                    instructions=instructions,
                    tools=tools,
                    max_message=max_message,
                )
        return None


def first_greeting(
    mode: Mode, *, execute: Literal["one", "by-risk"], max_message: int, servers: Sequence[str] = ()
) -> Greeting | None:
    """The greeting for servers that were never seen: they may have everything, so that nothing is lost later.

    In gateway mode it names the `servers`, unless that would be long. In transparent mode there is none: there,
    clients are told what the servers say of themselves.
    """
    if mode == "gateway":
        from toolcrib_mcp.gateway.surfaces import SURFACES

        surface, names = SURFACES[execute], "; ".join(sorted(servers))
        digest = names if len(names) <= MAX_NAMES else ""
        return Greeting(
            mode=mode,
            capabilities={"tools": {"listChanged": True}, **_EVERYTHING},
            instructions=surface.instructions_with(digest),
            tools=surface.tools_with(digest),
            max_message=max_message,
        )
    if mode == "proxy":
        from toolcrib_mcp.proxy.meta_tools import INSTRUCTIONS

        return Greeting(
            mode=mode,
            capabilities={"tools": {"listChanged": True}, **_EVERYTHING},
            instructions=INSTRUCTIONS,
            tools=None,
            max_message=max_message,
        )
    return None


@dataclass(frozen=True, kw_only=True)
class GreetingFile:
    """The greeting of one configuration, as it was when its servers were last known.

    `key` names all that the greeting depends on; a file that was written under another key counts for nothing.
    """

    path: Path
    key: str

    def read(self) -> Greeting | None:
        """The greeting; `None` if there is none for this key, or the file cannot be used."""
        try:
            with self.path.open("rb") as file:
                data = file.read(MAX_BYTES + 1)
            written = json.loads(data) if len(data) <= MAX_BYTES else None
        except (OSError, ValueError):
            return None
        if not isinstance(written, dict) or written.get("key") != self.key:
            return None
        return Greeting.parse(written.get("greeting"))

    def write(self, greeting: Greeting) -> None:
        """Replace the file; that it cannot be written is logged, and does no harm."""
        data = json.dumps({"key": self.key, "greeting": asdict(greeting)}).encode()
        draft = self.path.with_name(f".{self.path.name}.{secrets.token_hex(4)}")
        try:
            try:
                with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                    file.write(data)
                draft.replace(self.path)
            finally:
                draft.unlink(missing_ok=True)
        except OSError as failure:
            _logger.warning("what clients are told at first cannot be kept: %s", failure.strerror)


def greeting_key(parts: Iterable[bytes]) -> str:
    """One key for everything that a greeting depends on."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()
