"""What can go wrong with context packs, as data.

ToolError (of core)
  PackError           InvalidPack, PackNotFound, PackUnreadable, PackTooNew, PackStoreFailed
    PackConflict      AmbiguousPack, RevisionConflict, IdTaken
    PackStateRefused  FinalizeRefused

Beside the code that every error of toolcrib has, each carries the `kind` and the `reason` of the contract of context
packs; on the wire these are `kind` and `code`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from toolcrib_core import ToolError, ToolErrorCategory

CONTRACT: Final = "contract"
"""The key of `details` that holds what stands beside the message on the wire: `kind`, `code`, `request_id`."""


class PackError(ToolError):
    """A context pack cannot be had, or not in the way that was asked for."""

    default_code = "toolbox.pack-error"
    kind: ClassVar[str] = "internal"
    reason: ClassVar[str] = "internal"

    def told(self, *, request_id: str) -> ToolError:
        """The error with what the contract promises: `kind`, `code` and the id of the request."""
        contract = {"kind": self.kind, "code": self.reason, "request_id": request_id}
        return with_details(self, {CONTRACT: contract})


class InvalidPack(PackError):
    """What was asked for, or the document, breaks the contract; `details` says which field and what is allowed."""

    default_code = "toolbox.pack-invalid-data"
    default_category = ToolErrorCategory.VALIDATION
    kind = "validation"
    reason = "invalid_data"


class PackNotFound(PackError):
    """No pack has the id or the name: never made, deleted, or past its grace period."""

    default_code = "toolbox.pack-not-found"
    default_category = ToolErrorCategory.NOT_FOUND
    kind = "not_found"
    reason = "not_found"


class PackConflict(PackError):
    """The name is taken."""

    default_code = "toolbox.pack-conflict"
    default_category = ToolErrorCategory.CONFLICT
    kind = "conflict"
    reason = "conflict"


class AmbiguousPack(PackConflict):
    """The name fits several packs equally well; `details["candidate_ids"]` lists them."""

    default_code = "toolbox.pack-ambiguous"
    reason = "ambiguous"


class RevisionConflict(PackConflict):
    """Somebody else has changed the pack; `details` says what, since when, and how to go on."""

    default_code = "toolbox.pack-revision-conflict"
    reason = "revision_conflict"


class IdTaken(PackConflict):
    """A pack has the id already."""

    default_code = "toolbox.pack-id-conflict"
    reason = "pack_id_conflict"


class PackStateRefused(PackError):
    """The pack has another status than the request needs."""

    default_code = "toolbox.pack-invalid-state"
    default_category = ToolErrorCategory.CONFLICT
    kind = "invalid_state"
    reason = "invalid_state"


class FinalizeRefused(PackStateRefused):
    """The pack is not ready to be finalized; `details` lists all that is missing or broken."""

    default_code = "toolbox.pack-finalize-validation"
    default_category = ToolErrorCategory.VALIDATION
    reason = "finalize_validation"


class PackUnreadable(PackError):
    """What is stored is not what was written; it was set aside, not deleted."""

    default_code = "toolbox.pack-unreadable"
    kind = "deserialize_error"
    reason = "deserialize_error"


class PackTooNew(PackError):
    """A newer version of toolcrib has written the pack; it was left as it is."""

    default_code = "toolbox.pack-too-new"
    kind = "migration_required"
    reason = "migration_required"


class PackStoreFailed(PackError):
    """The database failed, and nothing was changed."""

    default_code = "toolbox.pack-store-failed"
    default_category = ToolErrorCategory.UNAVAILABLE
    kind = "io_error"
    reason = "io_error"


def with_details(error: PackError, more: Mapping[str, object]) -> PackError:
    """The same error with more details."""
    return type(error)(
        error.message,
        code=error.code,
        category=error.category,
        hint=error.hint,
        retryable=error.retryable,
        details={**error.details, **more},
    )
