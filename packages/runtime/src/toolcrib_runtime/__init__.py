"""Runs tools, and guards what they may reach: network, paths, processes, secrets.

A name is loaded when it is first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib_core.faces import lazy_face

if TYPE_CHECKING:
    from toolcrib_runtime.calls import ToolCall, ToolResult
    from toolcrib_runtime.cancellation import Cancellation
    from toolcrib_runtime.clock import Clock, SystemClock
    from toolcrib_runtime.compose import bind, fallback, map_input, map_output, parallel, pipe, retry, tap, when
    from toolcrib_runtime.context import RuntimeToolContext
    from toolcrib_runtime.errors import (
        ApprovalRefused,
        ApprovalRequired,
        BlockedAddress,
        BudgetExhausted,
        CallCancelled,
        CallError,
        DeadlineExceeded,
        FetchFailed,
        FileUnusable,
        GuardError,
        IdempotencyConflict,
        InvalidRequest,
        InvalidUrl,
        JsonPathError,
        LedgerFull,
        LoadFailed,
        LoopDetected,
        MalformedOutput,
        NetworkError,
        NotPermitted,
        OutputTooLarge,
        OutsideRoot,
        PathError,
        PolicyError,
        ProcessError,
        ProcessExited,
        ProcessKilled,
        ProcessLimitReached,
        ProcessNotStarted,
        StepFailed,
        ToolFailed,
        UnknownOutcome,
        UnusableOutput,
        WorkerLost,
        WorkersExhausted,
    )
    from toolcrib_runtime.events import EventKind, EventListener, ToolEvent
    from toolcrib_runtime.executors import Executor, HandlerRaised, LocalExecutor, ProcessExecutor, Work
    from toolcrib_runtime.invocation import Invocation, Middleware, Proceed
    from toolcrib_runtime.lazy_tools import lazy
    from toolcrib_runtime.outputs import ToolOutput
    from toolcrib_runtime.policy.approval_ledger import MemorySpentApprovals, SpentApprovals
    from toolcrib_runtime.policy.approvals import Approvals, PendingApproval
    from toolcrib_runtime.policy.budgets import Budget, Spent
    from toolcrib_runtime.policy.caching import CachePolicy
    from toolcrib_runtime.policy.idempotency import Ledger, MemoryLedger
    from toolcrib_runtime.policy.loops import LoopLimits
    from toolcrib_runtime.policy.retries import RetryPolicy
    from toolcrib_runtime.policy.rules import AfterHook, Policy, PolicyRequest, Rule, allow_only, ask, deny
    from toolcrib_runtime.policy.runs import Run
    from toolcrib_runtime.policy.verdicts import Decision, Verdict, ask_by_risk
    from toolcrib_runtime.runnable import RunnableTool, create_tool, is_runnable_tool, tool
    from toolcrib_runtime.search_tool import create_search_tool
    from toolcrib_runtime.settings import ToolboxSettings
    from toolcrib_runtime.toolbox import Runner, Toolbox, call_sync, combine_toolboxes, create_runner, create_toolbox

_NAMES = {
    "calls": "ToolCall ToolResult",
    "cancellation": "Cancellation",
    "clock": "Clock SystemClock",
    "compose": "bind fallback map_input map_output parallel pipe retry tap when",
    "context": "RuntimeToolContext",
    "errors": (
        "ApprovalRefused ApprovalRequired BlockedAddress BudgetExhausted CallCancelled CallError "
        "DeadlineExceeded FetchFailed FileUnusable GuardError IdempotencyConflict InvalidRequest InvalidUrl "
        "JsonPathError LedgerFull LoadFailed LoopDetected MalformedOutput NetworkError NotPermitted OutputTooLarge "
        "OutsideRoot PathError PolicyError ProcessError ProcessExited ProcessKilled ProcessLimitReached "
        "ProcessNotStarted StepFailed ToolFailed UnknownOutcome UnusableOutput WorkerLost WorkersExhausted"
    ),
    "events": "EventKind EventListener ToolEvent",
    "executors": "Executor HandlerRaised LocalExecutor ProcessExecutor Work",
    "invocation": "Invocation Middleware Proceed",
    "lazy_tools": "lazy",
    "outputs": "ToolOutput",
    "policy.approval_ledger": "MemorySpentApprovals SpentApprovals",
    "policy.approvals": "Approvals PendingApproval",
    "policy.budgets": "Budget Spent",
    "policy.caching": "CachePolicy",
    "policy.idempotency": "Ledger MemoryLedger",
    "policy.loops": "LoopLimits",
    "policy.retries": "RetryPolicy",
    "policy.rules": "AfterHook Policy PolicyRequest Rule allow_only ask deny",
    "policy.runs": "Run",
    "policy.verdicts": "Decision Verdict ask_by_risk",
    "runnable": "RunnableTool create_tool is_runnable_tool tool",
    "search_tool": "create_search_tool",
    "settings": "ToolboxSettings",
    "toolbox": "Runner Toolbox call_sync combine_toolboxes create_runner create_toolbox",
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}


__all__ = [
    "AfterHook",
    "ApprovalRefused",
    "ApprovalRequired",
    "Approvals",
    "BlockedAddress",
    "Budget",
    "BudgetExhausted",
    "CachePolicy",
    "CallCancelled",
    "CallError",
    "Cancellation",
    "Clock",
    "DeadlineExceeded",
    "Decision",
    "EventKind",
    "EventListener",
    "Executor",
    "FetchFailed",
    "FileUnusable",
    "GuardError",
    "HandlerRaised",
    "IdempotencyConflict",
    "InvalidRequest",
    "InvalidUrl",
    "Invocation",
    "JsonPathError",
    "Ledger",
    "LedgerFull",
    "LoadFailed",
    "LocalExecutor",
    "LoopDetected",
    "LoopLimits",
    "MalformedOutput",
    "MemoryLedger",
    "MemorySpentApprovals",
    "Middleware",
    "NetworkError",
    "NotPermitted",
    "OutputTooLarge",
    "OutsideRoot",
    "PathError",
    "PendingApproval",
    "Policy",
    "PolicyError",
    "PolicyRequest",
    "Proceed",
    "ProcessError",
    "ProcessExecutor",
    "ProcessExited",
    "ProcessKilled",
    "ProcessLimitReached",
    "ProcessNotStarted",
    "RetryPolicy",
    "Rule",
    "Run",
    "RunnableTool",
    "Runner",
    "RuntimeToolContext",
    "Spent",
    "SpentApprovals",
    "StepFailed",
    "SystemClock",
    "ToolCall",
    "ToolEvent",
    "ToolFailed",
    "ToolOutput",
    "ToolResult",
    "Toolbox",
    "ToolboxSettings",
    "UnknownOutcome",
    "UnusableOutput",
    "Verdict",
    "Work",
    "WorkerLost",
    "WorkersExhausted",
    "allow_only",
    "ask",
    "ask_by_risk",
    "bind",
    "call_sync",
    "combine_toolboxes",
    "create_runner",
    "create_search_tool",
    "create_tool",
    "create_toolbox",
    "deny",
    "fallback",
    "is_runnable_tool",
    "lazy",
    "map_input",
    "map_output",
    "parallel",
    "pipe",
    "retry",
    "tap",
    "tool",
    "when",
]


if not TYPE_CHECKING:  # a checker that saw it would let every misspelt name pass
    __getattr__, __dir__ = lazy_face(__name__, _HOMES)
