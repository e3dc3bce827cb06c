"""How an error travels to a client of the gateway: as data, under a code that every client knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from toolcrib_core import (
    ArgumentError,
    CatalogError,
    EmbedderUnusable,
    InvalidToolId,
    NotJson,
    PathInvalid,
    PathNotFound,
    ResolutionError,
    ToolError,
    ToolErrorCategory,
    VocabularyError,
)
from toolcrib_core.excerpts import excerpt_text
from toolcrib_core.json_values import thaw
from toolcrib_mcp.errors import GatewayError
from toolcrib_runtime.errors import IdempotencyConflict, OutputTooLarge

ARGS_INVALID: Final = "ARGS_INVALID"
HYDRATE_FAILED: Final = "HYDRATE_FAILED"
INTERNAL_ERROR: Final = "INTERNAL_ERROR"
TOOL_NOT_FOUND: Final = "TOOL_NOT_FOUND"
UPSTREAM_ERROR: Final = "UPSTREAM_ERROR"

OUTWARD_CODES: Final = frozenset(
    "ARGS_INVALID PATH_INVALID PATH_NOT_FOUND HYDRATE_FAILED VIEW_FAILED TOOL_NOT_FOUND TOOL_CHANGED POLICY_DENIED "
    "APPROVAL_REQUIRED AUTH_REQUIRED AUTH_FAILED RATE_LIMITED BUDGET_EXCEEDED UPSTREAM_ERROR UPSTREAM_TIMEOUT "
    "UPSTREAM_UNAVAILABLE RESULT_TOO_LARGE OUTCOME_UNKNOWN CONFIG_INVALID INTERNAL_ERROR NOT_FOUND CONFLICT".split()
)
"""Every code that a client may meet."""

# The errors of `tool_browse` and of arguments have one shape.
_WITH_PATH: Final = frozenset({ARGS_INVALID, "PATH_INVALID", "PATH_NOT_FOUND"})

MAX_TOLD_VIOLATIONS: Final = 50
"""Of so many violations all is told, and of those beyond only where they are."""

# What a server wrote beside the protocol is for the operator, and no business of its clients; it may also be in an
# error that another one tells of. What a server answered with is the client's, whatever it looks like.
_WITHHELD: Final = frozenset({"stderr", "noise", "excerpt"})
_ANSWERED: Final = "rpcData"
# What a tool whose contract promises members of an error puts there: they stand beside ours.
_PROMISED: Final = "contract"
# What such a tool did not find, or could not change, is its answer and no failure of a server.
_BY_CATEGORY_OF_PROMISED: Final[Mapping[ToolErrorCategory, str]] = {
    ToolErrorCategory.NOT_FOUND: "NOT_FOUND",
    ToolErrorCategory.CONFLICT: "CONFLICT",
}
# The first class that an error is of decides; what stands in neither table is for its category to say.
_BY_CLASS: tuple[tuple[type[ToolError], str], ...] = (
    (InvalidToolId, TOOL_NOT_FOUND),
    (ResolutionError, TOOL_NOT_FOUND),
    (NotJson, ARGS_INVALID),
    (CatalogError, HYDRATE_FAILED),
    (ArgumentError, ARGS_INVALID),
    (PathInvalid, "PATH_INVALID"),
    (PathNotFound, "PATH_NOT_FOUND"),
    (IdempotencyConflict, ARGS_INVALID),
    (OutputTooLarge, "RESULT_TOO_LARGE"),
    (EmbedderUnusable, INTERNAL_ERROR),
    (VocabularyError, INTERNAL_ERROR),
)
_BY_CATEGORY: Mapping[ToolErrorCategory, str] = {
    ToolErrorCategory.VALIDATION: ARGS_INVALID,
    ToolErrorCategory.PERMISSION: "POLICY_DENIED",
    ToolErrorCategory.APPROVAL_REQUIRED: "APPROVAL_REQUIRED",
    ToolErrorCategory.UNAVAILABLE: "UPSTREAM_UNAVAILABLE",
    ToolErrorCategory.TIMEOUT: "UPSTREAM_TIMEOUT",
    ToolErrorCategory.BUDGET: "BUDGET_EXCEEDED",
    ToolErrorCategory.UNKNOWN_OUTCOME: "OUTCOME_UNKNOWN",
}


def outward(error: ToolError) -> dict[str, Any]:
    """The error as a client reads it: `error`, `message`, `retryable`; if known `hint`, `excerpt`, `details`.

    `ARGS_INVALID`, `PATH_INVALID` and `PATH_NOT_FOUND` always have a `path`: the browse path that was asked for, or the
    JSON pointer of the first wrong argument; empty where there is none.

    The `excerpt` is what the server or program answered in its own words, bounded and marked. What a server wrote
    beside the protocol, such as the end of its standard error, stays here. What the contract of a tool promises beside
    that, and the tool has put into `details["contract"]`, stands beside these.
    """
    details = _for_clients({name: thaw(value) for name, value in error.details.items()})
    _shorten_violations(details)
    promised = details.pop(_PROMISED, None)
    told: dict[str, Any] = {"error": outward_code(error), "message": error.message}
    if error.hint is not None:
        told["hint"] = error.hint
    if (said := excerpt_text(error)) is not None:
        told["excerpt"] = said
    if isinstance(details.get("path"), str):
        told["path"] = details.pop("path")
    elif told["error"] in _WITH_PATH:
        told["path"] = _first_pointer(details)
    told["retryable"] = error.retryable
    if details:
        told["details"] = details
    return {**promised, **told} if isinstance(promised, dict) else told


def outward_code(error: ToolError) -> str:
    """The code that travels: one of `OUTWARD_CODES`, whichever package the error is from.

    An error whose own `code` is one of them, as in `GatewayError(message, code="HYDRATE_FAILED")`, travels under that.
    """
    if error.code in OUTWARD_CODES:
        return error.code
    if isinstance(error, GatewayError):
        return error.outward
    if error.category is ToolErrorCategory.OUTPUT_VALIDATION:
        return UPSTREAM_ERROR
    for kind, code in _BY_CLASS:
        if isinstance(error, kind):
            return code
    if error.code == ToolError.default_code:
        return INTERNAL_ERROR
    promised = _BY_CATEGORY_OF_PROMISED if _PROMISED in error.details else {}
    return promised.get(error.category) or _BY_CATEGORY.get(error.category, UPSTREAM_ERROR)


def _for_clients(details: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value if name == _ANSWERED else _without_withheld(value)
        for name, value in details.items()
        if name not in _WITHHELD
    }


def _without_withheld(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_withheld(each) for each in value]
    return _for_clients(value) if isinstance(value, dict) else value


def _first_pointer(details: Mapping[str, Any]) -> str:
    """The place of the first wrong argument; empty where none is wrong for itself."""
    violations = details.get("violations")
    faults = violations if isinstance(violations, list) else [details]
    pointers = (each.get("pointer") for each in faults if isinstance(each, dict))
    return next((each for each in pointers if isinstance(each, str)), "")


def _shorten_violations(details: dict[str, Any]) -> None:
    violations = details.get("violations")
    if isinstance(violations, list) and len(violations) > MAX_TOLD_VIOLATIONS:
        beyond = violations[MAX_TOLD_VIOLATIONS:]
        details["violations"] = violations[:MAX_TOLD_VIOLATIONS]
        details["further"] = [each.get("pointer") if isinstance(each, dict) else each for each in beyond]
