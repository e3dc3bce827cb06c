"""Whether a call that failed on the way may be made again, which depends on what the tool does."""

from __future__ import annotations

from toolcrib_core import ToolError, ToolRisk
from toolcrib_core.wording import quoted
from toolcrib_mcp.errors import UpstreamError, UpstreamTimeout, UpstreamUnavailable
from toolcrib_mcp.outward import outward
from toolcrib_runtime.errors import UnknownOutcome


def judged(error: UpstreamError, *, tool_id: str, risk: ToolRisk) -> ToolError:
    """What the caller of the tool is told, so that nobody repeats by mistake what may have happened.

    A tool that only reads, or does no more the second time, can be called again whatever happened to the answer. Of
    any other one, the outcome of a call that may have reached the server is unknown, and the timeout or the lost
    connection is its cause.
    """
    if risk.idempotent or not risk.may_write or not _may_have_run(error):
        return error
    error.retryable = False
    return UnknownOutcome(
        f"It is not known whether {quoted(tool_id)} did its work: {error.message}",
        hint="Look whether the effect is there before you call it again.",
        details={"cause": outward(error)},
    )


def _may_have_run(error: UpstreamError) -> bool:
    # Only where it is said: a server that refuses credentials, for one, has done nothing.
    said = isinstance(error, UpstreamTimeout | UpstreamUnavailable) and "sent" in error.details
    return said and error.details["sent"] is not False
