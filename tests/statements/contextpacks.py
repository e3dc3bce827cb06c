"""The statements of document 002, context packs."""

from __future__ import annotations

from tests.statements.statement import Statement

STATEMENTS: tuple[Statement, ...] = ()
