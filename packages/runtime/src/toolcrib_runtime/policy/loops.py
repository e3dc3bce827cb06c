"""Noticing that the same calls come again and again."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import orjson

from toolcrib_core import JsonValue, digest
from toolcrib_core.wording import count
from toolcrib_runtime.errors import LoopDetected
from toolcrib_runtime.policy.bounds import check_whole

if TYPE_CHECKING:
    from toolcrib_runtime.invocation import Invocation, Proceed

MAX_WINDOW: Final = 10_000
"""How many calls can be looked back on: each is kept, for every run."""

_PERIODS = (2, 3)
_HINT = "Change the arguments, use another tool, or answer with what is known."

_Fingerprint: TypeAlias = tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class LoopLimits:
    """When the same calls come so often that an agent must be going round in circles.

    Calls are the same when the tool is and the arguments are equal as JSON, nested values included.

    Raises:
        ValueError: A number makes no sense; the message names it.
    """

    repeats: int = 10
    """Of the same calls among the last `window`, this one and those after it are refused."""
    alternations: int = 10
    """Of two calls that take turns (A B A B …), this one and those after it are refused.

    Three that take turns have half as many more, which is as many rounds.
    """
    window: int = 100
    """How many calls are looked back on."""

    def __post_init__(self) -> None:
        check_whole("repeats", self.repeats, least=2)
        # Fewer do not show a pattern: any two calls are an A and a B.
        check_whole("alternations", self.alternations, least=4)
        check_whole("window", self.window, least=max(self.repeats, 2))
        if self.window > MAX_WINDOW:
            raise ValueError(f"`window` must be {MAX_WINDOW} or less")


class Trail:
    """The last calls of one run or toolbox: each step costs the same, however many they are."""

    __slots__ = ("_last", "_lock", "_streaks", "_times")

    def __init__(self) -> None:
        # A tool in a worker thread may call others from there.
        self._lock = threading.Lock()
        self._last: deque[_Fingerprint] = deque()
        self._times: dict[_Fingerprint, int] = {}
        self._streaks = dict.fromkeys((1, *_PERIODS), 0)

    def add(self, fingerprint: _Fingerprint, limits: LoopLimits) -> LoopDetected | None:
        """Remember a call; what it is to be refused with, if it closes a loop.

        A refused call is remembered too, so that coming back to it is refused again.
        """
        with self._lock:
            self._follow(fingerprint)
            self._keep(fingerprint, limits.window)
            return self._judge(fingerprint, limits)

    def _follow(self, fingerprint: _Fingerprint) -> None:
        """Count on for how many calls each has been the same as the one a period before it."""
        last, streaks = self._last, self._streaks
        for period in streaks:
            same = len(last) >= period and last[-period] == fingerprint
            streaks[period] = streaks[period] + 1 if same else 0

    def _keep(self, fingerprint: _Fingerprint, window: int) -> None:
        last, times = self._last, self._times
        last.append(fingerprint)
        times[fingerprint] = times.get(fingerprint, 0) + 1
        while len(last) > window:
            oldest = last.popleft()
            times[oldest] -= 1
            if not times[oldest]:
                del times[oldest]

    def _judge(self, fingerprint: _Fingerprint, limits: LoopLimits) -> LoopDetected | None:
        times = self._times[fingerprint]
        if times >= limits.repeats:
            return _repeated(times)
        for period in _PERIODS:
            calls = self._streaks[period] + period
            # One call alone has every period; it is a repetition, and no alternation.
            is_one_alone = self._streaks[1] >= period
            if not is_one_alone and 2 * calls >= limits.alternations * period:
                return _alternated(period, calls)
        return None


class LoopStage:
    """Refuses a call that closes a loop; it looks back on the calls of the run, or else of the toolbox."""

    __slots__ = ("_limits", "_trail")

    def __init__(self, limits: LoopLimits | None) -> None:
        """Take the limits for calls whose run has none of its own; None is no limit."""
        self._limits = limits
        self._trail = Trail()

    def __call__(self, invocation: Invocation, proceed: Proceed, /) -> Awaitable[JsonValue]:
        """Proceed, unless the call closes a loop.

        Raises:
            LoopDetected: It does; nothing was run.
        """
        run = invocation.options.run
        limits = self._limits if run is None or run.loops is None else run.loops
        if limits is not None:
            refusal = (self._trail if run is None else run.trail).add(_fingerprint(invocation), limits)
            if refusal is not None:
                raise refusal
        return proceed(invocation)


def _fingerprint(invocation: Invocation) -> _Fingerprint:
    return invocation.tool.definition.id, digest(orjson.loads(invocation.snapshot))


def _repeated(times: int) -> LoopDetected:
    return LoopDetected(
        f"The same call came {count(times, 'time')}, and was not run again.",
        hint=_HINT,
        details={"pattern": "repeat", "times": times},
    )


def _alternated(period: int, calls: int) -> LoopDetected:
    return LoopDetected(
        f"The same {period} calls have taken turns for {count(calls, 'call')}, and this one was not run again.",
        hint=_HINT,
        details={"pattern": "alternation", "period": period, "calls": calls},
    )
