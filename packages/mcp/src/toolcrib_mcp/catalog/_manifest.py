"""The catalogue as JSON: what each server listed, so that it can be browsed again before any server runs.

Only what servers said is written down. What the configuration says (names, trust, addresses) is not: it is read when
the manifest is, so that a manifest can grant nothing and holds no secret of ours.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, Final, NoReturn

import orjson

from toolcrib_core import CatalogError, JsonValue
from toolcrib_core.wording import kind_of

MANIFEST_FORMAT: Final = "toolcrib-catalog"
MANIFEST_VERSION: Final = 1
MAX_MANIFEST_BYTES: Final = 256 * 1024 * 1024
"""About 190,000 tools: those of published servers take 1.4 KB on average."""


def write_manifest(upstreams: Mapping[str, Iterable[bytes]]) -> bytes:
    """The manifest of the JSON texts of these servers' tools; the same bytes for the same tools in any order."""
    ordered = {name: sorted(upstreams[name]) for name in sorted(upstreams)}
    return orjson.dumps(
        {
            "format": MANIFEST_FORMAT,
            "version": MANIFEST_VERSION,
            "sha256": _checksum(ordered),
            "upstreams": {name: [orjson.Fragment(text) for text in texts] for name, texts in ordered.items()},
        }
    )


def read_manifest(data: bytes | str) -> dict[str, list[JsonValue]]:
    """The tools of each server, from what `write_manifest` wrote.

    Raises:
        CatalogError: It is no manifest, is damaged, or was written by a newer version of this package.
    """
    manifest = _loaded(data)
    if manifest.get("format") != MANIFEST_FORMAT:
        raise CatalogError(f"This is not a manifest: `format` is not `{MANIFEST_FORMAT}`.")
    _check_version(manifest.get("version"))
    upstreams = manifest.get("upstreams")
    if not isinstance(upstreams, dict) or not all(isinstance(tools, list) for tools in upstreams.values()):
        _refuse("`upstreams` must have a list of tools for each server")
    if manifest.get("sha256") != _checksum({name: _texts(tools) for name, tools in upstreams.items()}):
        _refuse("its content does not have the checksum that it says")
    return upstreams


def _loaded(data: bytes | str) -> dict[str, Any]:
    if len(data) > MAX_MANIFEST_BYTES:
        raise CatalogError(f"The manifest is over {MAX_MANIFEST_BYTES:,} bytes long.")
    try:
        manifest = orjson.loads(data)
    except orjson.JSONDecodeError as failure:
        _refuse(f"it is not JSON, from line {failure.lineno}, column {failure.colno} on")
    if not isinstance(manifest, dict):
        _refuse(f"it must be an object, not {kind_of(manifest)}")
    return manifest


def _check_version(version: object) -> None:
    if not isinstance(version, int) or version < 1:
        _refuse("it does not say its version")
    if version > MANIFEST_VERSION:
        raise CatalogError(
            f"The manifest has version {version}, and this program reads {MANIFEST_VERSION}.",
            hint="Update toolcrib, or let the servers be listed again.",
            details={"version": version, "readable": MANIFEST_VERSION},
        )


def _texts(tools: Iterable[object]) -> list[bytes]:
    try:
        return [orjson.dumps(tool) for tool in tools]
    except TypeError:
        _refuse("a tool is nested too deep")


def _checksum(upstreams: Mapping[str, Iterable[bytes]]) -> str:
    sha256 = hashlib.sha256()
    for name, texts in upstreams.items():
        # A JSON text has no line break, so an empty line can only be the end of a server's tools.
        sha256.update(b"\n".join((orjson.dumps(name), *texts, b"\n")))
    return sha256.hexdigest()


def _refuse(why: str) -> NoReturn:
    raise CatalogError(f"The manifest is damaged: {why}.", hint="Delete it, and let the servers be listed again.")
