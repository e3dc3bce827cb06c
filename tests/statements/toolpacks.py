"""The statements of document 000, Toolpack loader."""

from __future__ import annotations

from tests.statements.statement import Statement

STATEMENTS: tuple[Statement, ...] = ()
