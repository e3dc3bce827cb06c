"""What the store offers the runtime, which does not know it: read by mypy, never run."""

from __future__ import annotations

from pathlib import Path

from toolcrib_runtime import Approvals, Ledger, SpentApprovals, create_toolbox
from toolcrib_store import Clock, SqlLedger, SqlSpentApprovals, SystemClock, TurnableClock, open_store


def ledgers_of_the_store_are_ledgers_of_the_runtime(file: Path) -> None:
    with open_store(file) as store:
        ledger: Ledger = SqlLedger(store)
        spent: SpentApprovals = SqlSpentApprovals(store)
        create_toolbox([], ledger=ledger, approvals=Approvals(b"secret", ledger=spent))


def clocks_can_be_turned() -> tuple[Clock, Clock]:
    return SystemClock(), TurnableClock()
