"""Idempotency keys: a call that is repeated under its key runs once, and is answered as the first time."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Coroutine
from typing import TYPE_CHECKING, Final

from toolcrib_core import ArgumentError, JsonValue, ToolError, ToolErrorCategory, digest
from toolcrib_core.wording import quoted
from toolcrib_runtime.errors import IdempotencyConflict, StepFailed, UnknownOutcome
from toolcrib_runtime.policy.ledgers import KnownStanding, Ledger, MemoryLedger
from toolcrib_runtime.policy.replays import arguments_digest, asker_of, recorded, recorded_failure, replay

if TYPE_CHECKING:
    from toolcrib_runtime.invocation import Invocation, Proceed

__all__ = ["IdempotencyStage", "Ledger", "MemoryLedger"]

MAX_KEY_LENGTH: Final = 200
"""How long an idempotency key may be."""

END_SECONDS: Final = 5.0
"""How long recording the end of a call may keep it waiting."""

_logger = logging.getLogger("toolcrib.runtime")


class IdempotencyStage:
    """Sees to it that calls with one idempotency key run once.

    A key belongs to one user and tenant, and to one tool whatever its version: a retry must find it after an upgrade
    too. It stands for its arguments and no others. What is remembered is the value, or a failure that trying again
    would not mend. A key whose call may or may not have had its effect is never run again, unless the tool may be run
    twice.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def __call__(self, invocation: Invocation, proceed: Proceed, /) -> Awaitable[JsonValue]:
        """Run the call, unless its key was used before."""
        key = invocation.call.idempotency_key
        return proceed(invocation) if key is None else self._once(key, invocation, proceed)

    async def _once(self, given: str, invocation: Invocation, proceed: Proceed) -> JsonValue:
        _check(given)
        key = _scoped(given, invocation)
        standing = await _claim(self._ledger, key, invocation)
        if standing.state == "fresh":
            return await _run(self._ledger, key, invocation, proceed)
        if standing.record is not None:
            return replay(invocation, standing.record, source="ledger")
        raise _conflict(invocation) if standing.state == "conflict" else _unknown(invocation)


def _check(key: object) -> None:
    if not isinstance(key, str) or not 1 <= len(key) <= MAX_KEY_LENGTH or not key.isprintable():
        raise ArgumentError(
            f"The idempotency key must be text of 1 to {MAX_KEY_LENGTH} printable characters.",
            hint="Nothing was run. Make up a key for each call, as a UUID, and send the same one when you try again.",
        )


def _scoped(key: str, invocation: Invocation) -> str:
    definition = invocation.definition
    return digest([*asker_of(invocation), definition.namespace, definition.name, key])


async def _claim(ledger: Ledger, key: str, invocation: Invocation) -> KnownStanding:
    # The arguments alone: an edit of the tool's description between two tries must not look like another call.
    fingerprint = arguments_digest(invocation)
    while True:
        standing = await ledger.begin(key, fingerprint, repeatable=invocation.tool.repeatable)
        if standing.state != "running":
            return standing
        await ledger.settled(key)


async def _run(ledger: Ledger, key: str, invocation: Invocation, proceed: Proceed) -> JsonValue:
    try:
        value = await proceed(invocation)
        record = recorded(value, invocation.blocks)
    except ToolError as error:
        await record_end(_after_failure(ledger, key, invocation, error), key, seconds=END_SECONDS)
        raise
    except (asyncio.CancelledError, Exception):
        await record_end(_after_stop(ledger, key, invocation), key, seconds=END_SECONDS)
        raise
    except GeneratorExit:
        # The coroutine is closed and may not wait any more. A ledger in memory does not need to.
        _try_at_once(_after_stop(ledger, key, invocation))
        raise
    await record_end(ledger.finish(key, record), key, seconds=END_SECONDS)
    return value


def _after_failure(
    ledger: Ledger, key: str, invocation: Invocation, error: ToolError
) -> Coroutine[object, object, None]:
    if invocation.attempts == 0:
        return ledger.forget(key)
    # Where a step failed, the steps before it did not.
    may_be_half_done = isinstance(error, StepFailed) and error.retryable
    if invocation.in_flight or error.category is ToolErrorCategory.UNKNOWN_OUTCOME or may_be_half_done:
        return ledger.abandon(key)
    if error.retryable:
        return ledger.forget(key)
    return ledger.finish(key, recorded_failure(error))


def _after_stop(ledger: Ledger, key: str, invocation: Invocation) -> Coroutine[object, object, None]:
    # Once it was started, even a known end is lost if something around the tool was stopped on the way back.
    return ledger.forget(key) if invocation.attempts == 0 else ledger.abandon(key)


async def record_end(recording: Coroutine[object, object, None], key: str, *, seconds: float) -> None:
    """Record the end of a call within so many seconds, also when the call itself is stopped meanwhile.

    A ledger that fails at this changes nothing about the call: its key stays begun, and so is never run again.
    """
    task = asyncio.create_task(recording)
    try:
        await asyncio.wait({task}, timeout=seconds)
    except asyncio.CancelledError:
        await asyncio.wait({task}, timeout=seconds)
        raise
    finally:
        failure = task.exception() if task.done() and not task.cancelled() else None
        if failure is not None or not task.done():
            _logger.error("the end of a call was not recorded under key %s", key, exc_info=failure)
            task.cancel()


def _try_at_once(recording: Coroutine[object, object, None]) -> None:
    with contextlib.suppress(StopIteration), contextlib.closing(recording):
        recording.send(None)


def _conflict(invocation: Invocation) -> IdempotencyConflict:
    return IdempotencyConflict(
        f"The idempotency key was used before for {quoted(invocation.definition.id)}, with other arguments.",
        hint="Nothing was run. Send the same arguments as the first time, or a new key for a new call.",
    )


def _unknown(invocation: Invocation) -> UnknownOutcome:
    return UnknownOutcome(
        f"A call of {quoted(invocation.definition.id)} with this idempotency key was begun, "
        "and nobody knows whether it did its work.",
        hint="Nothing was run now. Look whether the effect is there; if it is not, call again with a new key.",
    )
