"""What can go wrong while a tool runs, as data.

ToolError (of core)
  CallError           DeadlineExceeded, CallCancelled, UnknownOutcome, ToolFailed, UnusableOutput, OutputTooLarge,
                      WorkerLost, WorkersExhausted, StepFailed, BudgetExhausted, LoopDetected, IdempotencyConflict,
                      LedgerFull, LoadFailed
  PolicyError         NotPermitted, ApprovalRequired, ApprovalRefused
  GuardError
    NetworkError      InvalidUrl, InvalidRequest, BlockedAddress, FetchFailed
    PathError         OutsideRoot, FileUnusable
    ProcessError      ProcessNotStarted, ProcessExited, ProcessKilled, ProcessLimitReached
    MalformedOutput
  JsonPathError
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib_core import ToolError, ToolErrorCategory

if TYPE_CHECKING:
    from toolcrib_runtime.policy.approvals import PendingApproval


class CallError(ToolError):
    """A call did not give a value."""

    default_code = "toolbox.call-error"


class DeadlineExceeded(CallError):
    """Time ran out, and the work was stopped."""

    default_code = "toolbox.deadline-exceeded"
    default_category = ToolErrorCategory.TIMEOUT


class CallCancelled(CallError):
    """Whoever asked for the call took it back."""

    default_code = "toolbox.cancelled"
    default_category = ToolErrorCategory.CANCELLED


class UnknownOutcome(CallError):
    """The call may or may not have had its effect, and is not run again."""

    default_code = "toolbox.unknown-outcome"
    default_category = ToolErrorCategory.UNKNOWN_OUTCOME


class ToolFailed(CallError):
    """The tool's own code raised; where the tool can be named, the code is `tool.<namespace>.<name>.failed`."""

    default_code = "toolbox.tool-failed"


class UnusableOutput(CallError):
    """The tool returned something that JSON cannot carry."""

    default_code = "toolbox.unusable-output"
    default_category = ToolErrorCategory.OUTPUT_VALIDATION


class OutputTooLarge(CallError):
    """The tool, or what it fetched or started, gave more than is taken."""

    default_code = "toolbox.output-too-large"
    default_category = ToolErrorCategory.LIMIT


class WorkerLost(CallError):
    """The process that ran the tool died."""

    default_code = "toolbox.worker-lost"
    default_category = ToolErrorCategory.UNAVAILABLE


class WorkersExhausted(CallError):
    """Every worker is held by a call that does not end."""

    default_code = "toolbox.workers-exhausted"
    default_category = ToolErrorCategory.UNAVAILABLE


class StepFailed(CallError):
    """A step of a composed tool failed: code, category and details are those of the step, and the cause is chained."""

    default_code = "toolbox.step-failed"


class BudgetExhausted(CallError):
    """The calls, the time, the cost or the tokens that were allowed are spent."""

    default_code = "toolbox.budget-exhausted"
    default_category = ToolErrorCategory.BUDGET


class LoopDetected(CallError):
    """The same calls come again and again."""

    default_code = "toolbox.loop-detected"
    default_category = ToolErrorCategory.BUDGET


class IdempotencyConflict(CallError):
    """The idempotency key was used before, with other arguments."""

    default_code = "toolbox.idempotency-conflict"
    default_category = ToolErrorCategory.CONFLICT


class LedgerFull(CallError):
    """No further idempotency key can be remembered; nothing was run."""

    default_code = "toolbox.ledger-full"
    default_category = ToolErrorCategory.UNAVAILABLE


class LoadFailed(CallError):
    """The loader of a lazy tool failed, or the import of a tool in a worker process; the next call tries again."""

    default_code = "toolbox.load-failed"
    default_category = ToolErrorCategory.UNAVAILABLE


class PolicyError(ToolError):
    """The call is against the rules."""

    default_code = "toolbox.policy-error"
    default_category = ToolErrorCategory.PERMISSION


class NotPermitted(PolicyError):
    """A rule denies the call."""

    default_code = "toolbox.not-permitted"


class ApprovalRequired(PolicyError):
    """A rule wants somebody's approval first."""

    default_code = "toolbox.approval-required"
    default_category = ToolErrorCategory.APPROVAL_REQUIRED
    pending: PendingApproval | None = None
    """What somebody can decide; None where the call cannot be approved by itself, as a step of a composed tool."""


class ApprovalRefused(PolicyError):
    """The approval that came with the call is not one for this call; `details["reason"]` says why."""

    default_code = "toolbox.approval-refused"


class GuardError(ToolError):
    """A guard stopped the tool, or what it asked for went wrong."""

    default_code = "toolbox.guard-error"


class NetworkError(GuardError):
    """An outbound request was not made or not answered."""

    default_code = "toolbox.network-error"


class InvalidUrl(NetworkError):
    """The URL is not one that is ever requested."""

    default_code = "toolbox.invalid-url"
    default_category = ToolErrorCategory.VALIDATION


class InvalidRequest(NetworkError):
    """The method or a header of the request is not one that is ever sent."""

    default_code = "toolbox.invalid-request"
    default_category = ToolErrorCategory.VALIDATION


class BlockedAddress(NetworkError):
    """The host leads to an address that tools may not reach."""

    default_code = "toolbox.blocked-address"
    default_category = ToolErrorCategory.PERMISSION


class FetchFailed(NetworkError):
    """The request failed on the way: no connection, bad TLS, a broken answer."""

    default_code = "toolbox.fetch-failed"
    default_category = ToolErrorCategory.TRANSIENT


class PathError(GuardError):
    """A file cannot be reached."""

    default_code = "toolbox.path-error"


class OutsideRoot(PathError):
    """The path leads out of the directory that was granted."""

    default_code = "toolbox.outside-root"
    default_category = ToolErrorCategory.PERMISSION


class FileUnusable(PathError):
    """The file is missing, of the wrong kind, too large, or may not be opened."""

    default_code = "toolbox.file-unusable"
    default_category = ToolErrorCategory.NOT_FOUND


class ProcessError(GuardError):
    """A child process did not do its work; `details["stderr"]` has the end of what it said."""

    default_code = "toolbox.process-error"


class ProcessNotStarted(ProcessError):
    """The program is missing, is not executable, or its interpreter is."""

    default_code = "toolbox.process-not-started"


class ProcessExited(ProcessError):
    """The process ended with an exit status other than 0."""

    default_code = "toolbox.process-exited"


class ProcessKilled(ProcessError):
    """A signal ended the process."""

    default_code = "toolbox.process-killed"


class ProcessLimitReached(ProcessError):
    """The process ran into a limit on memory, CPU time, file size or open files; the message names it."""

    default_code = "toolbox.process-limit-reached"
    default_category = ToolErrorCategory.LIMIT


class MalformedOutput(GuardError):
    """What came back is not what was agreed: not UTF-8, not JSON, cut off; `details["excerpt"]` has its beginning."""

    default_code = "toolbox.malformed-output"
    default_category = ToolErrorCategory.OUTPUT_VALIDATION


class JsonPathError(ToolError):
    """A JSONPath cannot be read, or would look at too much; `details["position"]` is the character, counted from 1."""

    default_code = "toolbox.json-path-error"
    default_category = ToolErrorCategory.VALIDATION
