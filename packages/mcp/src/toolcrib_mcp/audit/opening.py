"""The journal of a state directory, and what it takes to check it."""

from __future__ import annotations

from pathlib import Path

from toolcrib_core.wording import quoted
from toolcrib_mcp.audit.events import EventWriter
from toolcrib_mcp.audit.heads import Heads, MemoryHeads, SqlHeads
from toolcrib_mcp.audit.journal import AuditJournal
from toolcrib_mcp.audit.keys import PUBLIC_FILE, open_key, read_public_keys
from toolcrib_mcp.audit.segment import FOLDER
from toolcrib_mcp.errors import AuditUnusable
from toolcrib_mcp.state_files import Untrusted, private_directory
from toolcrib_runtime.guards.secrets import Scrubber
from toolcrib_store import Store


def open_journal(
    directory: Path, *, store: Store | None, scrubber: Scrubber | None = None, arguments: bool = False
) -> AuditJournal:
    """The journal of a new process, in a state directory; its file is made with the first event.

    `store` keeps the signed heads, and was opened with `AUDIT_LINE`; without one they end with the process. `scrubber`
    knows the secrets that no record may hold. With `arguments` those of every call are written, too, without secrets.

    Raises:
        AuditUnusable: The key or the folder cannot be made or used.
    """
    folder = directory / FOLDER
    try:
        private_directory(folder)
    except OSError as failure:
        raise AuditUnusable(
            f"The folder of the audit, {quoted(FOLDER)}, cannot be used: {failure.strerror}.",
            hint=failure.advice
            if isinstance(failure, Untrusted)
            else "Check the state directory, or turn the audit off with `audit.enabled`.",
        ) from None
    key = open_key(directory)
    keys = read_public_keys(directory / PUBLIC_FILE, kept=True)
    heads: Heads = MemoryHeads() if store is None else SqlHeads(store, key=key, keys=keys)
    writer = EventWriter(key, scrubber=Scrubber() if scrubber is None else scrubber, arguments=arguments)
    return AuditJournal(folder, key=key, heads=heads, writer=writer, keeps_arguments=arguments)
