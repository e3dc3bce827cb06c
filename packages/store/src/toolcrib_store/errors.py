"""What can go wrong with what is kept, as data.

ToolError (of core)
  StoreError          StoreBusy, StoreUnavailable, StoreDamaged, StoreTooNew, StoreOutcomeUnknown,
                      StoreRefused, UnknownRevision
  ArtifactNotFound, QuotaExceeded
"""

from __future__ import annotations

from toolcrib_core import ToolError, ToolErrorCategory


class StoreError(ToolError):
    """The database did not do what was asked; nothing was changed."""

    default_code = "toolbox.store-error"


class StoreBusy(StoreError):
    """Somebody else has been writing for longer than is waited for."""

    default_code = "toolbox.store-busy"
    default_category = ToolErrorCategory.TRANSIENT


class StoreUnavailable(StoreError):
    """The database cannot be opened or written: no permission, no room, no such folder."""

    default_code = "toolbox.store-unavailable"
    default_category = ToolErrorCategory.UNAVAILABLE


class StoreDamaged(StoreError):
    """The file is no database, or what is in it is not what was written."""

    default_code = "toolbox.store-damaged"


class StoreTooNew(StoreError):
    """The database was written by a newer version of this package."""

    default_code = "toolbox.store-too-new"
    default_category = ToolErrorCategory.VALIDATION


class StoreOutcomeUnknown(StoreError):
    """The connection was lost while changes were being made: all of them are there, or none, and nobody knows which."""

    default_code = "toolbox.store-outcome-unknown"
    default_category = ToolErrorCategory.UNKNOWN_OUTCOME


class StoreRefused(StoreError):
    """The command makes no sense for this database or file; nothing was changed."""

    default_code = "toolbox.store-refused"
    default_category = ToolErrorCategory.VALIDATION


class UnknownRevision(StoreError):
    """There is no such form of the database to migrate to."""

    default_code = "toolbox.unknown-revision"
    default_category = ToolErrorCategory.VALIDATION


class ArtifactNotFound(ToolError):
    """No artifact of this owner has the handle: never made, expired, deleted or somebody else's, all alike."""

    default_code = "toolbox.unknown-handle"
    default_category = ToolErrorCategory.NOT_FOUND


class QuotaExceeded(ToolError):
    """There is no room for the artifact; `details` names the quota."""

    default_code = "toolbox.quota-exceeded"
    default_category = ToolErrorCategory.LIMIT
