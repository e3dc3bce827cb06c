"""The statements of document 003, toolset instances."""

from __future__ import annotations

from tests.statements.statement import Statement

STATEMENTS: tuple[Statement, ...] = ()
