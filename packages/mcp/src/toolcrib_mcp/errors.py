"""What can go wrong between an agent, the gateway and an upstream server, as data.

ToolError (of core)
  GatewayError        ConfigError, ViewFailed, ToolChanged, RateLimited, ApprovalNotFound, AuditUnusable
    UpstreamError     UpstreamFailed, UpstreamTimeout, UpstreamUnavailable, UpstreamMalformed, ResultTooLarge,
                      ListingIncomplete, NotGranted
      UpstreamUnavailable  AuthRequired, AuthFailed, UpstreamBusy

Every error of the gateway has an `outward` code, which is what a client of the gateway reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from toolcrib_core import JsonValue, ToolError, ToolErrorCategory
from toolcrib_runtime.errors import CallError

if TYPE_CHECKING:
    from toolcrib_mcp.upstreams.listing import Listing


class GatewayError(ToolError):
    """A failure with a code that clients of the gateway know."""

    default_code = "toolbox.gateway-error"
    outward: ClassVar[str] = "UPSTREAM_ERROR"
    """The code that travels to clients."""


class ConfigError(GatewayError):
    """A configuration cannot be used; `details["place"]` says where, where that is known."""

    default_code = "toolbox.invalid-config"
    default_category = ToolErrorCategory.VALIDATION
    outward = "CONFIG_INVALID"


class ViewFailed(GatewayError):
    """A part of an artifact was asked for in a way that cannot be answered; the hint has a way that can."""

    default_code = "toolbox.view-failed"
    default_category = ToolErrorCategory.VALIDATION
    outward = "VIEW_FAILED"


class ToolChanged(GatewayError):
    """A tool is no longer what it was when it was pinned; `details["diff"]` says in what."""

    default_code = "toolbox.tool-changed"
    default_category = ToolErrorCategory.PERMISSION
    outward = "TOOL_CHANGED"


class RateLimited(GatewayError):
    """The caller has made as many calls as are allowed for now; `details["retryAfter"]` has the seconds."""

    default_code = "toolbox.rate-limited"
    default_category = ToolErrorCategory.TRANSIENT
    outward = "RATE_LIMITED"


class AuditUnusable(GatewayError):
    """The audit cannot be written or read: its key, a file of it, or what was exported is not usable."""

    default_code = "toolbox.audit-unusable"
    default_category = ToolErrorCategory.UNAVAILABLE
    outward = "INTERNAL_ERROR"


class ApprovalNotFound(GatewayError):
    """No call waits for a decision under this id."""

    default_code = "toolbox.approval-not-found"
    default_category = ToolErrorCategory.NOT_FOUND
    outward = "POLICY_DENIED"


class UpstreamError(GatewayError, CallError):
    """An upstream server did not do what was asked.

    As a `CallError` it is judged by the runtime when a tool raises it: a lost answer may leave the outcome open.
    """

    default_code = "toolbox.upstream-error"


class UpstreamFailed(UpstreamError):
    """The server answered with a JSON-RPC error; it is kept as it came."""

    default_code = "toolbox.upstream-failed"

    def __init__(
        self, message: str, *, rpc_code: int, rpc_message: str, rpc_data: JsonValue = None, hint: str | None = None
    ) -> None:
        details: Mapping[str, object] = {"rpcCode": rpc_code}
        super().__init__(message, hint=hint, details=details)
        self.rpc_code = rpc_code
        self.rpc_message = rpc_message
        self.rpc_data = rpc_data


class UpstreamTimeout(UpstreamError):
    """The server did not answer in time; it was told that nobody waits any more."""

    default_code = "toolbox.upstream-timeout"
    default_category = ToolErrorCategory.TIMEOUT
    outward = "UPSTREAM_TIMEOUT"


class UpstreamUnavailable(UpstreamError):
    """The server is not there: not started, ended, not reachable, or resting after too many failures."""

    default_code = "toolbox.upstream-unavailable"
    default_category = ToolErrorCategory.UNAVAILABLE
    outward = "UPSTREAM_UNAVAILABLE"


class UpstreamMalformed(UpstreamError):
    """The server answered with something that is not an answer; `details["excerpt"]` has its beginning."""

    default_code = "toolbox.upstream-malformed"
    default_category = ToolErrorCategory.OUTPUT_VALIDATION


class ResultTooLarge(UpstreamError):
    """The server's answer is larger than is taken."""

    default_code = "toolbox.result-too-large"
    default_category = ToolErrorCategory.LIMIT
    outward = "RESULT_TOO_LARGE"


class AuthRequired(UpstreamUnavailable):
    """The server wants credentials, and none are configured."""

    default_code = "toolbox.auth-required"
    default_category = ToolErrorCategory.PERMISSION
    outward = "AUTH_REQUIRED"


class AuthFailed(UpstreamUnavailable):
    """The server does not take the credentials that are configured, or they do not allow this."""

    default_code = "toolbox.auth-failed"
    default_category = ToolErrorCategory.PERMISSION
    outward = "AUTH_FAILED"


class UpstreamBusy(UpstreamUnavailable):
    """The server takes no more requests for now; `details["retryAfter"]` has the seconds, where it named them."""

    default_code = "toolbox.upstream-busy"
    default_category = ToolErrorCategory.TRANSIENT
    outward = "RATE_LIMITED"


class NotGranted(UpstreamError):
    """A server asked a client for something that was not granted to it, or that the client does not offer."""

    default_code = "toolbox.not-granted"
    default_category = ToolErrorCategory.PERMISSION
    outward = "POLICY_DENIED"


class ListingIncomplete(UpstreamError):
    """A list was not read to its end; `partial` has what was read, `failure` the error that stopped the reading.

    Without a `failure` the list has no end within the caps, and reading it again would stop in the same place.
    """

    default_code = "toolbox.listing-incomplete"
    default_category = ToolErrorCategory.OUTPUT_VALIDATION

    def __init__(
        self,
        message: str,
        *,
        partial: Listing,
        failure: UpstreamError | None = None,
        hint: str | None = None,
        details: Mapping[str, object] | None = None,
    ) -> None:
        category = None if failure is None else failure.category
        super().__init__(message, category=category, hint=hint, details=details)
        self.partial = partial
        self.failure = failure
