"""How one server is kept: its deadlines, when it is started again, and how often its tools are read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from toolcrib_mcp.upstreams.eras import Era
from toolcrib_mcp.upstreams.listing import ListingCaps
from toolcrib_runtime.policy.bounds import check_number, check_whole


@dataclass(frozen=True, kw_only=True)
class RestartRules:
    """How a server that ended or did not start is started again, and when that is left off.

    Raises:
        ValueError: A number makes no sense; the message names it.
    """

    when: Literal["always", "on-failure", "never"] = "always"
    """After what kind of end it is started without being needed. A call always starts it."""
    first_delay: float = 0.5
    """Seconds that the wait after a first failure may take."""
    factor: float = 2.0
    """By how much longer every further wait may take."""
    max_delay: float = 30.0
    """Seconds that no wait exceeds."""
    max_failures: int = 5
    """So many failures within `window` open the circuit."""
    window: float = 60.0
    """Seconds for which a failure counts; a server that ran so long has succeeded."""
    rest: float = 60.0
    """Seconds that an open circuit rests before one more start is tried."""

    def __post_init__(self) -> None:
        for name in ("first_delay", "max_delay", "window", "rest"):
            check_number(name, getattr(self, name), least=0)
        check_number("factor", self.factor, least=1)
        check_whole("max_failures", self.max_failures, least=1)


@dataclass(frozen=True, kw_only=True)
class UpstreamSettings:
    """How one server is kept.

    Raises:
        ValueError: A number makes no sense; the message names it.
    """

    era: Era | None = None
    """The era that it is taken to speak, where that is known; else it is found out."""
    start_timeout: float = 30.0
    """Seconds for one start: until the wire is open and a version agreed on."""
    call_timeout: float = 60.0
    """Seconds for a call that brings no timeout of its own; a start that it waits for is a part of it."""
    list_timeout: float = 30.0
    """Seconds for all pages of one list."""
    idle_after: float | None = None
    """Seconds without a call after which the server is ended, until it is needed again; `None` is never."""
    settle: float = 0.25
    """Seconds without news after which a list that has changed is read again."""
    settle_within: float = 2.0
    """Seconds after which it is read although the news go on."""
    drain: float = 5.0
    """Seconds that calls under way have to end when the server is to be closed."""
    watch: bool = True
    """Whether its tools are read, and read again when they have changed; else it is only there to be asked."""
    caps: ListingCaps = field(default_factory=ListingCaps)
    restarts: RestartRules = field(default_factory=RestartRules)

    def __post_init__(self) -> None:
        for name in ("start_timeout", "call_timeout", "list_timeout", "settle", "settle_within", "drain"):
            check_number(name, getattr(self, name), least=0)
        if self.idle_after is not None:
            check_number("idle_after", self.idle_after, least=0)
