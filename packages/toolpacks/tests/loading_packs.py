"""Packs written for the tests of loading, and what is wrong with them."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from toolcrib_toolpacks.errors import ToolpackValidationError, ToolpackViolation
from toolcrib_toolpacks.loader import ToolpackLoader
from toolcrib_toolpacks.model import Toolpack

GONE = object()
"""As a value of `pack_with`: the key is left out."""

GOOD: Mapping[str, Any] = {
    "id": "weather.forecast",
    "version": "1.0.0",
    "deterministic": True,
    "timeoutMs": 2000,
    "limits": {"maxInputBytes": 1024, "maxOutputBytes": 4096},
    "inputSchema": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
    "outputSchema": {"type": "object"},
    "execution": {"kind": "python", "module": "weather:forecast"},
}

CLI = {"kind": "cli", "cmd": ["echo", "hello"]}
CHILDREN = {"subprocess": True}


def pack_with(changes: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The good pack with some keys changed; a key may be a path with dots."""
    document = copy.deepcopy(dict(GOOD))
    for path, value in (changes or {}).items():
        *parents, last = path.split(".")
        place = document
        for each in parents:
            place = place.setdefault(each, {})
        if value is GONE:
            del place[last]
        else:
            place[last] = copy.deepcopy(value)
    return document


def write(folder: Path, changes: Mapping[str, Any] | None = None, *, name: str = "a") -> Path:
    """Write a pack; `changes` as for `pack_with`."""
    text = yaml.safe_dump(pack_with(changes), sort_keys=False, allow_unicode=True)
    return write_text(folder, f"{name}.tool.yaml", text)


def write_text(folder: Path, name: str, text: str | bytes) -> Path:
    """Write a file, with the folders above it."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def loaded(folder: Path) -> Toolpack:
    """The only pack of a folder."""
    (pack,) = ToolpackLoader().load_dir(folder)
    return pack


def violations(folder: Path) -> tuple[ToolpackViolation, ...]:
    """What is wrong with a folder."""
    try:
        ToolpackLoader().load_dir(folder)
    except ToolpackValidationError as failure:
        return failure.violations
    raise AssertionError("the folder was loaded")


def places(folder: Path) -> list[tuple[str, str]]:
    """Path and code of everything that is wrong with a folder."""
    return [(each.path, each.code) for each in violations(folder)]
