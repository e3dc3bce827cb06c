"""Keeps what must outlive a process: SQL engine, migrations, artifacts."""

from __future__ import annotations

from toolcrib_store.artifacts import ArtifactInfo, Artifacts
from toolcrib_store.engine import Store, open_store
from toolcrib_store.errors import (
    ArtifactNotFound,
    QuotaExceeded,
    StoreBusy,
    StoreDamaged,
    StoreError,
    StoreTooNew,
    StoreUnavailable,
)
from toolcrib_store.putting import ArtifactLimits, NewArtifact, Owner

__all__ = [
    "ArtifactInfo",
    "ArtifactLimits",
    "ArtifactNotFound",
    "Artifacts",
    "NewArtifact",
    "Owner",
    "QuotaExceeded",
    "Store",
    "StoreBusy",
    "StoreDamaged",
    "StoreError",
    "StoreTooNew",
    "StoreUnavailable",
    "open_store",
]
