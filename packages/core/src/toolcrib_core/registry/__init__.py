"""The registry: tools by id and version, aliases, queries, snapshots and a change feed."""

from __future__ import annotations

from toolcrib_core.registry._changes import ChangeKind, ChangeListener, RegistryChange
from toolcrib_core.registry._combine import ConflictPolicy, combine_registries
from toolcrib_core.registry._query import QueryFilters, Selection, ToolSummary
from toolcrib_core.registry._registry import ToolRegistry, create_registry
from toolcrib_core.registry._requests import IdentityLike
from toolcrib_core.registry._state import RegistryOptions, VersionSelector
from toolcrib_core.registry._view import RegistrySnapshot, RegistryView
from toolcrib_core.registry._warnings import RegistryWarning

__all__ = [
    "ChangeKind",
    "ChangeListener",
    "ConflictPolicy",
    "IdentityLike",
    "QueryFilters",
    "RegistryChange",
    "RegistryOptions",
    "RegistrySnapshot",
    "RegistryView",
    "RegistryWarning",
    "Selection",
    "ToolRegistry",
    "ToolSummary",
    "VersionSelector",
    "combine_registries",
    "create_registry",
]
