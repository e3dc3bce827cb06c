"""The statements of document 001, core and runtime split."""

from __future__ import annotations

from tests.statements.statement import Statement

STATEMENTS: tuple[Statement, ...] = ()
