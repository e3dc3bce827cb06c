"""Keeps what must outlive a process: SQL engine, migrations, artifacts, ledgers, quarantine, copies."""

from __future__ import annotations

from toolcrib_store.approvals import SqlSpentApprovals
from toolcrib_store.artifacts import ArtifactInfo, Artifacts
from toolcrib_store.calls import CallStanding
from toolcrib_store.checking import Check, StoreReport, check_store, wrong_rows
from toolcrib_store.clock import SYSTEM_CLOCK, Clock, SystemClock, TurnableClock
from toolcrib_store.copying import back_up, restore
from toolcrib_store.engine import Store, open_store
from toolcrib_store.errors import (
    ArtifactNotFound,
    QuotaExceeded,
    StoreBusy,
    StoreDamaged,
    StoreError,
    StoreOutcomeUnknown,
    StoreRefused,
    StoreTooNew,
    StoreUnavailable,
    UnknownRevision,
)
from toolcrib_store.ledger import SqlLedger
from toolcrib_store.migrating import STORE_LINE, MigrationLine, migrate_to, revisions_of
from toolcrib_store.peeking import forms_of
from toolcrib_store.putting import ArtifactLimits, NewArtifact, Owner
from toolcrib_store.quarantining import Quarantined, Unreadable, quarantine, quarantined
from toolcrib_store.retention import Sweep, sweep_store, sweeping
from toolcrib_store.upserting import upsert

__all__ = [
    "STORE_LINE",
    "SYSTEM_CLOCK",
    "ArtifactInfo",
    "ArtifactLimits",
    "ArtifactNotFound",
    "Artifacts",
    "CallStanding",
    "Check",
    "Clock",
    "MigrationLine",
    "NewArtifact",
    "Owner",
    "Quarantined",
    "QuotaExceeded",
    "SqlLedger",
    "SqlSpentApprovals",
    "Store",
    "StoreBusy",
    "StoreDamaged",
    "StoreError",
    "StoreOutcomeUnknown",
    "StoreRefused",
    "StoreReport",
    "StoreTooNew",
    "StoreUnavailable",
    "Sweep",
    "SystemClock",
    "TurnableClock",
    "UnknownRevision",
    "Unreadable",
    "back_up",
    "check_store",
    "forms_of",
    "migrate_to",
    "open_store",
    "quarantine",
    "quarantined",
    "restore",
    "revisions_of",
    "sweep_store",
    "sweeping",
    "upsert",
    "wrong_rows",
]
