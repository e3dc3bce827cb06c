"""What a toolbox is set to, and the state that its tools share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypedDict

from toolcrib_core.schema.limits import JsonLimits
from toolcrib_runtime.clock import SYSTEM_CLOCK, Clock
from toolcrib_runtime.events import EventListener
from toolcrib_runtime.executors import Executor, LocalExecutor
from toolcrib_runtime.guards.secrets.scrubbing import Scrubber
from toolcrib_runtime.outputs import OUTPUT_LIMITS
from toolcrib_runtime.policy.approvals import Approvals
from toolcrib_runtime.policy.bounds import check_number, check_whole
from toolcrib_runtime.policy.budgets import Budget
from toolcrib_runtime.policy.idempotency import Ledger, MemoryLedger
from toolcrib_runtime.policy.loops import LoopLimits
from toolcrib_runtime.policy.retries import RetryPolicy
from toolcrib_runtime.policy.rules import Policy

if TYPE_CHECKING:
    from toolcrib_runtime.invocation import Invocation, Middleware
    from toolcrib_runtime.pipeline import Entry, Stages
    from toolcrib_runtime.runnable import RunnableTool

DEFAULT_TIMEOUT: Final = 60.0
"""Seconds that a call may take, unless its tool, its toolbox or its caller says otherwise."""


MAX_STEPS: Final = 1_000
"""How many tools are kept ready to be steps: a tool may make new ones in every call."""


class ToolboxOptions(TypedDict, total=False):
    """The fields of `ToolboxSettings`, as keywords."""

    policy: Policy
    approvals: Approvals
    timeout: float | None
    retries: RetryPolicy | None
    concurrency: int | None
    key_concurrency: int | None
    concurrency_key: Callable[[Invocation], str] | None
    budget: Budget | None
    loops: LoopLimits | None
    ledger: Ledger
    cache_entries: int
    middleware: tuple[Middleware, ...]
    listeners: tuple[EventListener, ...]
    context: Mapping[str, object]
    executor: Executor
    repair: bool
    output_limits: JsonLimits
    scrubber: Scrubber
    telemetry_content: bool
    clock: Clock


@dataclass(frozen=True, kw_only=True, eq=False)
class ToolboxSettings:
    """Everything around the calls of a toolbox. One object is one set of budgets, queues and caches."""

    policy: Policy = field(default_factory=Policy)
    """What may run: by its risk, unless rules say more."""
    approvals: Approvals = field(default_factory=Approvals)
    """Who signs approvals; without a secret of your own they are good for this process only."""
    timeout: float | None = DEFAULT_TIMEOUT
    """Seconds that a call may take, its waiting included, unless the tool or the caller says otherwise."""
    retries: RetryPolicy | None = field(default_factory=RetryPolicy)
    """For tools that are idempotent or have no effects; the others are never retried."""
    concurrency: int | None = None
    """How many calls run at a time, of all tools together."""
    key_concurrency: int | None = None
    """How many calls with the same key run at a time."""
    concurrency_key: Callable[[Invocation], str] | None = None
    """What a call queues by, as its user or its upstream; the keys take turns."""
    budget: Budget | None = None
    loops: LoopLimits | None = None
    ledger: Ledger = field(default_factory=MemoryLedger)
    """Where results are kept for calls with an idempotency key."""
    cache_entries: int = 1_000
    """How many values of tools with a `CachePolicy` are remembered."""
    middleware: tuple[Middleware, ...] = ()
    """Around every call, outermost first."""
    listeners: tuple[EventListener, ...] = ()
    context: Mapping[str, object] = field(default_factory=dict)
    """The toolbox's own values, which a tool finds in `RuntimeToolContext.values`."""
    executor: Executor = field(default_factory=LocalExecutor)
    repair: bool = False
    """Whether an obvious slip in the arguments, as "5" for 5, is mended, told and then validated again."""
    output_limits: JsonLimits = OUTPUT_LIMITS
    scrubber: Scrubber = field(default_factory=lambda: Scrubber(hide_paths=True))
    """What is taken out of the messages of exceptions."""
    telemetry_content: bool = False
    """Whether spans hold arguments and values."""
    clock: Clock = SYSTEM_CLOCK

    def __post_init__(self) -> None:
        for name in ("middleware", "listeners"):  # a list that somebody changes later would change the toolbox
            object.__setattr__(self, name, tuple(getattr(self, name)))
        for name in ("concurrency", "key_concurrency"):
            if getattr(self, name) is not None:
                check_whole(name, getattr(self, name), least=1)
        check_whole("cache_entries", self.cache_entries, least=1)
        if self.timeout is not None:
            check_number("timeout", self.timeout, least=0)

    @cached_property
    def stages(self) -> Stages:
        """The stages, with all that is spent, queued and remembered."""
        from toolcrib_runtime.pipeline import Stages

        return Stages(self)

    @cached_property
    def steps(self) -> dict[RunnableTool, Entry]:
        """The tools that were run as steps of others, ready for the next time; at most `MAX_STEPS`."""
        return {}
