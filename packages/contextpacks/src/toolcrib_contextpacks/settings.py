"""What a service of packs is set to, by its caller or by the environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolcrib_contextpacks.document import MAX_PACK_BYTES
from toolcrib_contextpacks.errors import InvalidPack
from toolcrib_contextpacks.freshness import GRACE_SECONDS
from toolcrib_contextpacks.refs import MAX_SOURCE_BYTES

_PREFIX: Final = "CONTEXT_PACK_"
_HERE: Final = frozenset({"", ".", "cwd", "session_cwd", "__SESSION_CWD__"})


@dataclass(frozen=True, kw_only=True)
class PackSettings:
    """How packs are kept and read."""

    source_root: Path | None = None
    """The directory that references are relative to; without one, none can be resolved."""
    grace_seconds: float = GRACE_SECONDS
    """How long an expired pack can still be had."""
    max_pack_bytes: int = MAX_PACK_BYTES
    max_source_bytes: int = MAX_SOURCE_BYTES


def settings_from(environ: Mapping[str, str], *, directory: Path) -> PackSettings:
    """The settings that the environment has, for a process in this directory.

    They are `CONTEXT_PACK_SOURCE_ROOT`, `CONTEXT_PACK_EXPIRED_GRACE_SECONDS`, `CONTEXT_PACK_MAX_PACK_BYTES` and
    `CONTEXT_PACK_MAX_SOURCE_BYTES`.

    Raises:
        InvalidPack: One of them cannot be used; it is never replaced by a default in silence.
    """
    root = environ.get(f"{_PREFIX}SOURCE_ROOT", "").strip()
    source_root = directory if root in _HERE else (directory / Path(root).expanduser())
    if not source_root.is_dir():
        raise InvalidPack(
            f"`{_PREFIX}SOURCE_ROOT` is no directory.",
            hint="Name the directory that references are relative to.",
            details={"requested_field": f"{_PREFIX}SOURCE_ROOT"},
        )
    return PackSettings(
        source_root=source_root,
        grace_seconds=_number(environ, "EXPIRED_GRACE_SECONDS", GRACE_SECONDS, least=0),
        max_pack_bytes=_number(environ, "MAX_PACK_BYTES", MAX_PACK_BYTES, least=1),
        max_source_bytes=_number(environ, "MAX_SOURCE_BYTES", MAX_SOURCE_BYTES, least=1),
    )


def _number(environ: Mapping[str, str], name: str, default: int, *, least: int) -> int:
    text = environ.get(f"{_PREFIX}{name}", "").strip()
    if not text:
        return default
    if not text.isascii() or not text.isdecimal() or len(text) > 12 or int(text) < least:  # noqa: PLR2004  # far more than any of them means
        raise InvalidPack(
            f"`{_PREFIX}{name}` is no whole number of at least {least}.",
            hint="Correct it, or leave it out for the default.",
            details={"requested_field": f"{_PREFIX}{name}"},
        )
    return int(text)
