"""The errors of a server that is not there, in words."""

from __future__ import annotations

import math
from typing import Final

from toolcrib_core import ToolError
from toolcrib_core.wording import quoted
from toolcrib_mcp.errors import UpstreamError, UpstreamTimeout, UpstreamUnavailable
from toolcrib_mcp.rpc import WireClosed
from toolcrib_runtime.guards.secrets import Scrubber, scrub_exception

CALL_LIMIT: Final = "`timeout` of its entry, or `callTimeout`"
"""The settings that say how long a call may take."""


def closed(name: str) -> UpstreamUnavailable:
    """It was closed for good."""
    return UpstreamUnavailable(
        f"The server {quoted(name)} is being shut down and takes no more calls.",
        hint="Use another server.",
        retryable=False,
        details={"upstream": name, "sent": False},
    )


def not_ready(name: str, *, seconds: float | None = None, start_timeout: float) -> UpstreamUnavailable:
    """It is starting, and was not up within the `seconds` that a caller waits."""
    waited = "yet" if seconds is None else f"within {seconds:.3g} s"
    return UpstreamUnavailable(
        f"The server {quoted(name)} was not ready {waited}.",
        hint=f"Nothing was sent. Its start may take {start_timeout:g} s (`startTimeout` of its entry): try again.",
        details={"upstream": name, "sent": False},
    )


def not_listed(name: str, failure: UpstreamError) -> UpstreamError:
    """It was started for a call, and has not listed its tools since; an end of the session keeps its type."""
    kind = UpstreamUnavailable if isinstance(failure, UpstreamUnavailable) else UpstreamError
    return kind(
        f"The tools of the server {quoted(name)} could not be read after its start. {failure.message}",
        hint="Nothing was sent. Try again later.",
        details={**failure.details, "upstream": name, "sent": False},
    )


def resting(name: str, *, wait: float, failure: ToolError) -> UpstreamUnavailable:
    """It failed, and the next start is not due yet."""
    return UpstreamUnavailable(
        f"The server {quoted(name)} has failed and is not started again for {math.ceil(wait)} s. {failure.message}",
        hint="Nothing was sent. Try again later, or use another server.",
        details={
            "upstream": name,
            "sent": False,
            "retryAfter": round(wait, 3),
            "lastFailure": failure.to_dict(),
        },
    )


def could_not_start(name: str, failure: Exception, *, scrubber: Scrubber, start_timeout: float) -> UpstreamUnavailable:
    """A start failed; an error that says more than `UpstreamUnavailable` keeps its type."""
    if isinstance(failure, UpstreamTimeout):
        method = str(failure.details.get("method", "initialize"))
        return UpstreamUnavailable(
            f"The server {quoted(name)} did not answer {quoted(method)} within {start_timeout:g} s "
            "(`startTimeout` of its entry).",
            hint="Nothing was sent. Raise the limit if it needs longer to start, or see what it writes to its log.",
            details={**failure.details, "upstream": name, "sent": False},
        )
    if isinstance(failure, WireClosed):
        failure = ended(name, failure)
    if not isinstance(failure, ToolError):
        return UpstreamUnavailable(
            f"The server {quoted(name)} could not be started: {scrub_exception(failure, scrubber)}",
            hint="Nothing was sent.",
            details={"upstream": name, "sent": False},
        )
    kind = type(failure) if isinstance(failure, UpstreamUnavailable) else UpstreamUnavailable
    return kind(
        f"The server {quoted(name)} could not be started. {failure.message}",
        hint=failure.hint,
        retryable=failure.retryable,
        details={**failure.details, "upstream": name, "sent": False},
    )


def ended(name: str, end: WireClosed) -> UpstreamUnavailable:
    """It was up, and ended by itself."""
    details: dict[str, object] = {"upstream": name}
    if end.status is not None:
        details["status"] = end.status
    if end.stderr:
        details["stderr"] = end.stderr
    return UpstreamUnavailable(
        f"The server {quoted(name)} has ended. {end.reason}",
        hint="See what it wrote to standard error." if end.stderr else None,
        details=details,
    )
