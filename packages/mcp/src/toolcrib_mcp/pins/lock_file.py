"""`toolcrib.lock.json`: the digests of the tools that a team trusts, for everybody to have the same."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn

import orjson

from toolcrib_core import ToolError
from toolcrib_core.json_text import parse_json
from toolcrib_core.json_values import pointer_join
from toolcrib_core.schema.limits import JsonLimits
from toolcrib_core.wording import kind_of, quoted
from toolcrib_mcp.config.files import refuse_others
from toolcrib_mcp.errors import ConfigError

LOCK_FILE: Final = "toolcrib.lock.json"
"""What it is called; it lies beside the configuration."""

VERSION: Final = 1

# A hundred thousand tools, each with a name and a digest.
_LIMITS: Final = JsonLimits(max_depth=4, max_nodes=300_000, max_bytes=32 * 1024 * 1024)
_PREFIX: Final = "sha256:"
_DIGEST: Final = re.compile(rf"{_PREFIX}[0-9a-f]{{64}}")


@dataclass(frozen=True, kw_only=True)
class PinLock:
    """What a lock file says."""

    servers: Mapping[str, Mapping[str, str]]
    """By server, then by its names for its tools: their digests in hex."""

    def of(self, server: str) -> Mapping[str, str]:
        """The digests for one server; none for one that the file does not know."""
        return self.servers.get(server, {})


def read_lock(path: Path) -> PinLock:
    """The lock file at a path.

    Raises:
        ConfigError: It is not there, cannot be read, or is no lock file of this version; `details["place"]` says where.
    """
    try:
        with path.open("rb") as file:
            refuse_others(path, os.fstat(file.fileno()))
            data = file.read(_LIMITS.max_bytes + 1)
    except OSError as failure:
        raise ConfigError(
            f"The lock file {quoted(path.name)} cannot be read: {failure.strerror}.",
            hint="Make it with `toolcrib pins lock`, or set `pins` to `first-use`.",
            details={"path": str(path)},
        ) from None
    try:
        document = parse_json(data, limits=_LIMITS)
    except ToolError as failure:
        _refuse(path, failure.message, place="")
    return PinLock(servers=_servers(path, document))


def lock_text(lock: PinLock) -> bytes:
    """What the file of a lock has in it: the same bytes for the same pins."""
    servers = {
        server: {tool: f"{_PREFIX}{digest}" for tool, digest in tools.items()} for server, tools in lock.servers.items()
    }
    document = {"version": VERSION, "servers": servers}
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)


def write_lock(path: Path, lock: PinLock) -> None:
    """Put a lock in the place of the one before, whole.

    Raises:
        ConfigError: It cannot be written.
    """
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        draft.write_bytes(lock_text(lock))
        draft.replace(path)
    except OSError as failure:
        with suppress(OSError):
            draft.unlink()
        raise ConfigError(
            f"The lock file {quoted(path.name)} cannot be written: {failure.strerror}.", details={"path": str(path)}
        ) from None


def _servers(path: Path, document: Any) -> dict[str, dict[str, str]]:
    _check_object(path, document, "")
    version = document.get("version")
    if version != VERSION or isinstance(version, bool):
        _refuse(path, f"`version` must be {VERSION}", place="/version")
    unknown = sorted(document.keys() - {"version", "servers"})
    if unknown:
        _refuse(path, f"{quoted(unknown[0])} is not known", place=pointer_join("", unknown[0]))
    servers = document.get("servers")
    _check_object(path, servers, "/servers")
    return {server: _tools(path, tools, pointer_join("/servers", server)) for server, tools in servers.items()}


def _tools(path: Path, tools: Any, place: str) -> dict[str, str]:
    _check_object(path, tools, place)
    for tool, digest in tools.items():
        if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
            _refuse(path, f"a digest is `{_PREFIX}` and 64 hexadecimal digits", place=pointer_join(place, tool))
    return {tool: digest.removeprefix(_PREFIX) for tool, digest in tools.items()}


def _check_object(path: Path, value: object, place: str) -> None:
    if not isinstance(value, dict):
        _refuse(path, f"expected an object, not {kind_of(value)}", place=place)


def _refuse(path: Path, why: str, *, place: str) -> NoReturn:
    where = f" at {quoted(place)}" if place else ""
    raise ConfigError(
        f"The lock file {quoted(path.name)} cannot be used{where}: {why.removesuffix('.')}.",
        hint="Make it anew with `toolcrib pins lock`.",
        details={"path": str(path), "place": place},
    )
