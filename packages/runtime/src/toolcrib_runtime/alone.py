"""A tool outside any toolbox: its arguments and its value are checked, and nothing else stands around it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Final

from toolcrib_core import JsonValue
from toolcrib_core.json_values import FrozenDict
from toolcrib_runtime.arguments import Given, take_arguments
from toolcrib_runtime.call import perform
from toolcrib_runtime.calls import ToolCall
from toolcrib_runtime.clock import SYSTEM_CLOCK
from toolcrib_runtime.context import RuntimeToolContext
from toolcrib_runtime.events import EventKind
from toolcrib_runtime.executors.on_loop import OnLoop
from toolcrib_runtime.executors.protocol import HandlerRaised
from toolcrib_runtime.failures import failure_of, logger, raise_failure
from toolcrib_runtime.guards.secrets.scrubbing import Scrubber
from toolcrib_runtime.invocation import Proceed
from toolcrib_runtime.outputs import ToolOutput, checked_value
from toolcrib_runtime.pipeline import Entry, attempt
from toolcrib_runtime.policy.rules import Policy
from toolcrib_runtime.settings import ToolboxSettings

if TYPE_CHECKING:
    from toolcrib_runtime.runnable import RunnableTool

_GRACE: Final = 1.0


async def run_alone(tool: RunnableTool, given: Given) -> JsonValue:
    """Run a tool once.

    Raises:
        ToolError: The arguments, the tool or its value are at fault.
    """
    if not tool.is_simple or "opentelemetry.sdk" in sys.modules:  # then it has a span, as any call
        result = await perform(_Bare(tool, _alone()), ToolCall(tool.definition.id, given))
        return result.unwrap()
    taken = take_arguments(tool, given)
    try:
        coroutine: Any = tool.binding.call(taken.converted or taken.parsed, None)
    except TypeError as raised:  # it does not take what its schema allows
        raise failure_of(raised, tool.definition, _scrubber()).error from raised
    try:
        value = await OnLoop(coroutine, _Nobody(tool), grace=_GRACE)
    except HandlerRaised as failure:
        raise_failure(failure_of(failure.raised, tool.definition, _scrubber()).error, failure.raised)
    return checked_value(tool, value.value if isinstance(value, ToolOutput) else value)


class _Bare(Entry):
    """A tool with no stages around it, also if it has rules, retries or a cache of its own."""

    @cached_property
    def way(self) -> Proceed:
        """Nothing but the tool's own code."""
        return attempt


class _Nobody:
    """A call that nobody listens to, and that has no deadline."""

    clock = SYSTEM_CLOCK
    deadline = None

    arguments: dict[str, Any] = FrozenDict()
    keywords: Mapping[str, Any] = arguments

    def __init__(self, tool: RunnableTool) -> None:
        self.tool = tool

    def context(self) -> RuntimeToolContext:  # pragma: no cover  # nobody asks
        raise NotImplementedError("a simple tool asks for no context")

    def not_started(self) -> None: ...

    def emit(self, kind: EventKind, **data: object) -> None:
        logger.warning("%s: %s %s", self.tool.id, kind, data)


@cache
def _alone() -> ToolboxSettings:
    return ToolboxSettings(policy=Policy(by_risk=None), retries=None, timeout=None)


@cache
def _scrubber() -> Scrubber:
    return Scrubber(hide_paths=True)
