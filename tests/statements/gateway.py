"""The statements of document 004, gateway surface."""

from __future__ import annotations

from tests.statements.statement import Statement

STATEMENTS: tuple[Statement, ...] = ()
