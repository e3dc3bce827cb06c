"""What is known of the servers, in a file: so that their tools can be browsed before any of them runs.

The file has two lines: what it is, with a checksum; and by server its tools, what it said about itself when it started
(name, era, capabilities, instructions), and the fingerprint of how it was reached. It is replaced whole, and only its
owner may read it.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

import orjson

from toolcrib_core import CatalogError
from toolcrib_mcp.hub.servers import HubServer
from toolcrib_mcp.redaction import ResultRedactor
from toolcrib_mcp.upstreams import Agreement, Era
from toolcrib_runtime.clock import Clock, Timer

FORMAT: Final = "toolcrib-servers"
VERSION: Final = 2
MAX_BYTES: Final = 256 * 1024 * 1024

# Servers that start together are written down together.
_SETTLE_SECONDS: Final = 1.0
_logger = logging.getLogger("toolcrib.mcp")


@dataclass(frozen=True, kw_only=True)
class KnownServer:
    """What is known of a server that need not be running."""

    tools: tuple[Any, ...]
    agreement: Agreement | None = None
    """What it said about itself."""


class ManifestFile:
    """Reads the file once, and writes it anew after changes, in a thread; no fault of the file is anybody else's."""

    def __init__(self, path: Path, servers: Mapping[str, HubServer], *, redactor: ResultRedactor, clock: Clock) -> None:
        self.problem: str | None = None
        self._path = path
        self._fingerprints = _fingerprints(servers)
        self._redactor = redactor
        self._clock = clock
        self._known: dict[str, KnownServer] = {}
        self._is_stale = False
        self._timer: Timer | None = None
        self._writing: asyncio.Task[None] | None = None

    async def read(self) -> Mapping[str, KnownServer]:
        """The servers that are still reached as they were; nothing where the file cannot be used."""
        known: dict[str, KnownServer] = {}
        try:
            known = await asyncio.to_thread(_read, self._path, self._fingerprints)
        except FileNotFoundError:
            pass
        except (OSError, CatalogError) as failure:
            self._note("could not be read", failure)
        known = {name: each for name, each in known.items() if name in self._fingerprints}
        self._known = {**known, **self._known}
        return known

    def reconfigure(self, servers: Mapping[str, HubServer]) -> None:
        """Write down these servers from now on; what was known of one that is reached otherwise now is forgotten."""
        before, self._fingerprints = self._fingerprints, _fingerprints(servers)
        self._known = {
            name: each for name, each in self._known.items() if self._fingerprints.get(name) == before.get(name)
        }

    def note(self, server: str, tools: Iterable[Any], agreement: Agreement | None) -> None:
        """Have what a server said written down, soon; one that is no configured server is not."""
        known = KnownServer(tools=tuple(tools), agreement=self._without_secrets(server, agreement))
        if server not in self._fingerprints or self._known.get(server) == known:
            return
        self._known[server] = known
        self._is_stale = True
        if self._timer is None and self._writing is None:
            self._timer = self._clock.call_at(self._clock.monotonic() + _SETTLE_SECONDS, self._begin)

    async def aclose(self) -> None:
        """Write down what is not yet."""
        if self._timer is not None:
            self._timer.cancel()
        if self._writing is None and self._is_stale:
            self._begin()
        while self._writing is not None:
            await asyncio.wait([self._writing])

    def _without_secrets(self, server: str, agreement: Agreement | None) -> Agreement | None:
        if agreement is None:
            return None
        said = {name: getattr(agreement, name) for name in ("capabilities", "server_info", "instructions")}
        return replace(agreement, **self._redactor.redact_definitions(said, server=server))

    def _begin(self) -> None:
        self._timer = None
        self._writing = asyncio.create_task(self._write(), name="manifest")
        self._writing.add_done_callback(self._end)

    def _end(self, _: asyncio.Task[None]) -> None:
        self._writing = None

    async def _write(self) -> None:
        while self._is_stale:
            self._is_stale = False
            known = {name: (self._fingerprints[name], each) for name, each in self._known.items()}
            try:
                await asyncio.to_thread(_write, self._path, known)
            except OSError as failure:
                self._note("could not be written", failure)
            else:
                self.problem = None

    def _note(self, what: str, failure: Exception) -> None:
        reason = failure.strerror if isinstance(failure, OSError) else str(failure)
        self.problem = f"The manifest {what}: {reason}"
        _logger.warning("%s", self.problem)


def _fingerprints(servers: Mapping[str, HubServer]) -> dict[str, str]:
    return {name: server.fingerprint for name, server in servers.items() if server.fingerprint}


def _read(path: Path, fingerprints: Mapping[str, str]) -> dict[str, KnownServer]:
    with path.open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise CatalogError(f"It is over {MAX_BYTES:,} bytes long.")
    head, _, body = data.partition(b"\n")
    servers = _checked(head, body)
    return {
        name: KnownServer(tools=tuple(entry["tools"]), agreement=_agreement(entry["said"]))
        for name, entry in servers.items()
        if entry["fingerprint"] == fingerprints.get(name)
    }


def _agreement(said: dict[str, Any] | None) -> Agreement | None:
    return None if said is None else Agreement(**{**said, "era": Era(said["era"])})


def _checked(head: bytes, body: bytes) -> dict[str, Any]:
    try:
        about = orjson.loads(head)
        if not isinstance(about, dict) or about.get("format") != FORMAT:
            raise CatalogError("It is no manifest.")
        if about.get("version") != VERSION:
            raise CatalogError("It was written by another version of this program.")
        if about.get("sha256") != hashlib.sha256(body).hexdigest():
            raise CatalogError("It is damaged: it does not have the checksum that it says.")
        servers: dict[str, Any] = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise CatalogError("It is no manifest.") from None
    return servers


def _write(path: Path, known: Mapping[str, tuple[str, KnownServer]]) -> None:
    servers = {
        name: {
            "fingerprint": fingerprint,
            "said": _said(each.agreement),
            "tools": list(map(orjson.Fragment, _texts(each.tools))),
        }
        for name, (fingerprint, each) in known.items()
    }
    body = orjson.dumps(servers, option=orjson.OPT_SORT_KEYS)
    about = {"format": FORMAT, "version": VERSION, "sha256": hashlib.sha256(body).hexdigest()}
    path.parent.mkdir(parents=True, exist_ok=True)
    # A name of its own: another gateway may write the same file.
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(orjson.dumps(about) + b"\n" + body)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _said(agreement: Agreement | None) -> orjson.Fragment | None:
    if agreement is None:
        return None
    said = {field.name: getattr(agreement, field.name) for field in fields(agreement)}
    return next(map(orjson.Fragment, _texts([said])), None)


def _texts(tools: Iterable[Any]) -> Iterable[bytes]:
    for tool in tools:
        try:
            yield orjson.dumps(tool)
        except TypeError:
            continue  # not JSON that can be passed on; the catalogue reports it
