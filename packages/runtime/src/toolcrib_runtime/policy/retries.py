"""Trying again, for tools that may be run twice."""

from __future__ import annotations

import math
from dataclasses import dataclass
from random import Random, SystemRandom
from typing import TYPE_CHECKING, Final

from toolcrib_core import JsonValue, ToolError, ToolErrorCategory
from toolcrib_runtime.policy.bounds import check_number, check_whole

if TYPE_CHECKING:
    from toolcrib_runtime.invocation import Invocation, Proceed

MAX_ENDLESS_WAIT: Final = 300.0
"""Seconds that an error's `retryAfter` may ask for where no deadline bounds the call."""

_MAY_PASS = frozenset({ToolErrorCategory.TRANSIENT, ToolErrorCategory.TIMEOUT, ToolErrorCategory.UNAVAILABLE})


@dataclass(frozen=True, kw_only=True)
class RetryPolicy:
    """How often to try, and how long to wait in between: exponentially longer, with jitter, never past the deadline.

    Raises:
        ValueError: A number makes no sense; the message names it.
    """

    attempts: int = 3
    """How often in all; 1 is no retry."""
    first_delay: float = 0.2
    """Seconds that the first wait may take; each wait is a random part of what it may take."""
    factor: float = 2.0
    """By how much longer every further wait may take."""
    max_delay: float = 10.0
    """Seconds that no wait exceeds, unless the error itself asks for more by `details["retryAfter"]`."""

    def __post_init__(self) -> None:
        check_whole("attempts", self.attempts, least=1)
        check_number("first_delay", self.first_delay, least=0)
        check_number("factor", self.factor, least=1)
        check_number("max_delay", self.max_delay, least=0)


class RetryStage:
    """Goes the rest of the way again when it failed in a manner that may pass.

    Only for a tool that is idempotent or has no effects; and only after an error that is `retryable` and is transient,
    a timeout, or something unavailable.
    """

    __slots__ = ("_random",)

    def __init__(self, random: Random | None = None) -> None:
        """Take what the jitter is drawn from."""
        self._random = SystemRandom() if random is None else random

    async def __call__(self, invocation: Invocation, proceed: Proceed, /) -> JsonValue:
        """Proceed, as often as it takes and the policy allows.

        Raises:
            ToolError: That of the last try; where another could have come, `details["attempts"]` counts the tries.
        """
        policy = invocation.tool.retries or invocation.settings.retries
        if policy is None or not invocation.tool.repeatable:
            return await proceed(invocation)
        attempt, longest = 1, min(policy.first_delay, policy.max_delay)
        while True:
            try:
                return await proceed(invocation)
            except ToolError as error:
                tries_left = policy.attempts - attempt
                if not tries_left or not await self._waited(invocation, error, attempt, longest):
                    _count_tries(error, attempt)
                    raise
            attempt, longest = attempt + 1, min(longest * policy.factor, policy.max_delay)

    async def _waited(self, invocation: Invocation, error: ToolError, attempt: int, longest: float) -> bool:
        """Wait for the next try; False at once if there must be none."""
        if not _may_pass(error):
            return False
        delay = max(self._random.uniform(0, longest), _asked_for(error))
        if not _fits(invocation, delay):
            return False
        invocation.emit("retry", attempt=attempt, delay=round(delay, 6), code=error.code)
        await invocation.clock.sleep(delay)
        # The sleep may have been longer than asked for, on a busy loop or a machine that was suspended.
        return _fits(invocation, 0.0)


def _may_pass(error: ToolError) -> bool:
    return error.retryable and error.category in _MAY_PASS


def _asked_for(error: ToolError) -> float:
    """The seconds that the error wants us to wait; it comes from elsewhere, and may be anything."""
    asked = error.details.get("retryAfter")
    if isinstance(asked, bool) or not isinstance(asked, int | float) or math.isnan(asked):
        return 0.0
    return max(0.0, asked)


def _fits(invocation: Invocation, delay: float) -> bool:
    deadline = invocation.deadline
    return delay <= MAX_ENDLESS_WAIT if deadline is None else invocation.clock.monotonic() + delay < deadline


def _count_tries(error: ToolError, attempt: int) -> None:
    if attempt > 1 or _may_pass(error):
        # Another dict: the one that is there may belong to whoever raised the error.
        error.details = {**error.details, "attempts": attempt}
