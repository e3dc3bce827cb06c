"""Opening a store that is there, with the tables of the packages that are in it and of no others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from toolcrib_contextpacks import PACKS_LINE
from toolcrib_mcp.safeguards.opening import GATEWAY_LINES
from toolcrib_store import MigrationLine, Store, forms_of, open_store
from toolcrib_toolsets.tables import TOOLSETS_LINE

LINES: Final[Sequence[MigrationLine]] = (PACKS_LINE, TOOLSETS_LINE, *GATEWAY_LINES)
"""The lines of every package that keeps its tables in a store."""


@contextmanager
def opened(database: str) -> Iterator[Store]:
    """A store; nothing is made where there is none.

    Raises:
        StoreError: It is not there, is no store, or cannot be used.
    """
    forms = forms_of(database, lines=LINES)
    with open_store(database, lines=[line for line in LINES if line.name in forms]) as store:
        yield store
