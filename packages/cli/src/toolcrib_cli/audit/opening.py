"""The audit of a configuration, as far as anything was written down."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from toolcrib_cli.asking import Choice, asked_for
from toolcrib_mcp.audit import (
    AUDIT_LINE,
    FOLDER,
    PUBLIC_FILE,
    AuditVerdict,
    Heads,
    KeptAnchor,
    MemoryHeads,
    SqlHeads,
    read_public_keys,
    verify,
)
from toolcrib_mcp.state_files import ARTIFACTS
from toolcrib_store import open_store


@dataclass(frozen=True, kw_only=True)
class OpenedAudit:
    """The segments of a configuration, and the heads that are kept for them."""

    directory: Path
    heads: Heads

    @property
    def folder(self) -> Path:
        """Where the segments are."""
        return self.directory / FOLDER

    def verdict(self, public_key: Path | None = None, *, anchor: KeptAnchor | None = None) -> AuditVerdict:
        """What is found when everything is checked, with the key of the directory unless another is named.

        With an `anchor`, also whether it was taken back to an earlier state.

        Raises:
            AuditUnusable: There is no public key.
            StoreError: The heads cannot be read.
        """
        kept = self.directory / PUBLIC_FILE
        keys = read_public_keys(kept, kept=True) if public_key is None else read_public_keys(public_key)
        return verify(self.folder, self.heads, keys, anchor=anchor)


def audit_folder(choice: Choice) -> Path | None:
    """Where the segments of a configuration are; `None` where nothing was ever written down.

    Raises:
        ConfigError: The configuration cannot be used.
    """
    directory = asked_for(choice, quietly=True).state_dir
    return None if directory is None or not (directory / FOLDER).is_dir() else directory / FOLDER


@contextmanager
def opened_audit(choice: Choice) -> Iterator[OpenedAudit | None]:
    """The audit; `None` where nothing was ever written down, and nothing is made there.

    Raises:
        ConfigError: The configuration cannot be used.
        StoreError: The database cannot be opened.
    """
    directory = asked_for(choice, quietly=True).state_dir
    if directory is None or not ((directory / FOLDER).is_dir() or (directory / PUBLIC_FILE).exists()):
        yield None
    elif (directory / ARTIFACTS).is_file():
        with open_store(directory / ARTIFACTS, lines=[AUDIT_LINE]) as store:
            yield OpenedAudit(directory=directory, heads=SqlHeads(store))
    else:
        # The database is gone, and with it all heads: that is for the check to find.
        yield OpenedAudit(directory=directory, heads=MemoryHeads())
