"""What happens during calls, told as it happens: every event once, and to its own call."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple, TypeAlias

EventKind: TypeAlias = Literal[
    "started",
    "validated",
    "repaired",
    "policy",
    "queued",
    "attempt",
    "progress",
    "log",
    "chunk",
    "custom",
    "retry",
    "replayed",
    "blocked_loop",
    "abandoned",
    "late",
    "finished",
]

_logger = logging.getLogger("toolcrib.runtime")


class ToolEvent(NamedTuple):
    """One thing that happened to one call."""

    kind: EventKind
    call_id: str
    tool_id: str
    at: float
    """A reading of `time.monotonic()`."""
    data: Mapping[str, object]
    """What there is to say, as JSON; never the arguments or the value of a call."""
    parent_call_id: str | None = None
    """The call of the composed tool that this one is a step of."""


EventListener: TypeAlias = Callable[[ToolEvent], object]


def tell(listeners: tuple[EventListener, ...], event: ToolEvent) -> None:
    """Give the event to every listener; one that fails is logged, and spoils nothing."""
    for listener in listeners:
        try:
            listener(event)
        except Exception:
            _logger.exception("a listener failed on `%s` of call %s", event.kind, event.call_id)
