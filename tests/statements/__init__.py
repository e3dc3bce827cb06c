"""Every testable statement of the five source documents, in our words, one module for each document.

A statement is a requirement like any other: a test proves it by carrying `@pytest.mark.req("D4-1.3a")`. Where the
product does otherwise on purpose, `deviation` gives the reason. `docs/contracts.md` is made from them.
"""

from __future__ import annotations

from tests.statements import contextpacks, core, gateway, toolpacks, toolsets
from tests.statements.statement import Statement

DOCUMENTS = {
    "D0": ("Toolpack loader", toolpacks.STATEMENTS),
    "D1": ("Core and runtime split", core.STATEMENTS),
    "D2": ("Context packs", contextpacks.STATEMENTS),
    "D3": ("Toolset instances", toolsets.STATEMENTS),
    "D4": ("Gateway surface", gateway.STATEMENTS),
}

STATEMENTS: tuple[Statement, ...] = tuple(each for _, statements in DOCUMENTS.values() for each in statements)
