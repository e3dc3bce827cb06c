"""`IdempotentCalls`: calls with one key reach their server once, and are answered as the first time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from toolcrib_core import ArgumentError, ToolError, ToolErrorCategory, digest
from toolcrib_core.wording import quoted
from toolcrib_mcp.approvals.sealing import Seals
from toolcrib_mcp.errors import UpstreamTimeout, UpstreamUnavailable
from toolcrib_mcp.idempotency.endings import MAX_KEPT, META_REPLAYED, Endings
from toolcrib_mcp.proxy.results import is_for_client
from toolcrib_mcp.relay.questions import asks
from toolcrib_mcp.rpc import RpcError
from toolcrib_runtime.errors import IdempotencyConflict, UnknownOutcome
from toolcrib_runtime.policy.idempotency import record_end

if TYPE_CHECKING:
    from toolcrib_mcp.approvals.key_file import StateKey
    from toolcrib_mcp.safeguards.call import GuardedCall
    from toolcrib_runtime.policy.ledgers import KnownStanding, Ledger

__all__ = ["META_KEY", "META_REPLAYED", "IdempotentCalls"]

META_KEY: Final = "io.toolcrib/idempotencyKey"
"""In the `_meta` of a request: the key of the call, which a client makes up and sends again when it tries again."""

MAX_KEY_LENGTH: Final = 200

PATIENCE: Final = 60.0
"""How many seconds a repeated call waits for the first one."""

_END_SECONDS: Final = 10.0

Proceed: TypeAlias = Callable[[], Awaitable[dict[str, Any]]]
First: TypeAlias = Callable[[], Awaitable[dict[str, Any] | None]]


class IdempotentCalls:
    """Sees to it that calls with one idempotency key run once.

    A key belongs to one principal and one tool, whatever its version, and stands for its arguments and no others. The
    result is kept, sealed, for as long as the ledger remembers; also that the tool or its server said no. A key whose
    call may or may not have had its effect is never run again, unless the tool may be run twice.
    """

    def __init__(self, ledger: Ledger, key: StateKey, *, patience: float = PATIENCE, max_kept: int = MAX_KEPT) -> None:
        self._ledger = ledger
        self._patience = patience
        self._endings = Endings(Seals(key, purpose="idempotency:results"), max_kept=max_kept)

    async def run(self, call: GuardedCall, proceed: Proceed, *, first: First | None = None) -> dict[str, Any]:
        """Make the call by `proceed`, unless its key was used before; without a key it is simply made.

        `first` is what has to be done before a call that is really made, such as asking whether it may be. If it gives
        a result or raises, that is the answer, and nothing was run.

        Raises:
            ArgumentError: The key is none.
            IdempotencyConflict: It was used with other arguments.
            UnknownOutcome: Its call was begun and nobody knows how it ended; or it runs, and can be asked for again.
            ResultTooLarge: Its call was made, and the result was too large to keep.
            StoreError: The ledger failed, and nothing was run.
            ToolError: As `first` and `proceed`.
            RpcError: As `first` and `proceed`.
        """
        given = call.request.meta.get(META_KEY)
        if given is None:
            settled = None if first is None else await first()
            return await proceed() if settled is None else settled
        key = _scoped(call, given)
        standing = await self._claim(call, key)
        if standing.state == "fresh":
            return await self._run(key, proceed, first)
        if standing.record is not None:
            return self._endings.told_again(key, standing.record, tool_id=call.tool.tool_id)
        raise _conflict(call) if standing.state == "conflict" else _unknown(call)

    async def _claim(self, call: GuardedCall, key: str) -> KnownStanding:
        repeatable = call.risk.idempotent or not call.risk.may_write
        try:
            async with asyncio.timeout(self._patience):
                while True:
                    standing = await self._ledger.begin(key, call.arguments_digest, repeatable=repeatable)
                    if standing.state != "running":
                        return standing
                    await self._ledger.settled(key)
        except TimeoutError:
            raise _running(call) from None

    async def _run(self, key: str, proceed: Proceed, first: First | None) -> dict[str, Any]:
        begun = False
        try:
            settled = None if first is None else await first()
            if settled is not None:
                await record_end(self._ledger.forget(key), key, seconds=_END_SECONDS)
                return settled
            begun = True
            result = await proceed()
        except (ToolError, RpcError) as error:
            end = self._after(key, error) if begun else self._ledger.forget(key)
            await record_end(end, key, seconds=_END_SECONDS)
            raise
        except (asyncio.CancelledError, Exception):
            end = self._ledger.abandon(key) if begun else self._ledger.forget(key)
            await record_end(end, key, seconds=_END_SECONDS)
            raise
        # A server that asks has not come to an end: the client's answer comes under the same key.
        end = (
            self._ledger.forget(key) if asks(result) else self._ledger.finish(key, self._endings.of_result(key, result))
        )
        await record_end(end, key, seconds=_END_SECONDS)
        return result

    def _after(self, key: str, error: ToolError | RpcError) -> Coroutine[Any, Any, None]:
        if isinstance(error, RpcError):
            # A client that has to act first makes the same call again.
            is_open = is_for_client(error)
        elif _may_have_run(error):
            return self._ledger.abandon(key)
        else:
            is_open = error.retryable
        return self._ledger.forget(key) if is_open else self._ledger.finish(key, self._endings.of_failure(key, error))


def _scoped(call: GuardedCall, given: object) -> str:
    if not isinstance(given, str) or not 1 <= len(given) <= MAX_KEY_LENGTH or not given.isprintable():
        raise ArgumentError(
            f"The idempotency key must be text of 1 to {MAX_KEY_LENGTH} printable characters.",
            hint="Nothing was run. Make up a key for each call, as a UUID, and send the same one when you try again.",
        )
    return digest(["gateway", call.principal, call.tool.upstream, call.tool.upstream_name, given])


def _may_have_run(error: ToolError) -> bool:
    if error.category is ToolErrorCategory.UNKNOWN_OUTCOME:
        return True
    # Where nothing is said about it, it was not sent: a server that refuses credentials, for one, has done nothing.
    unsaid = isinstance(error, UpstreamTimeout)
    return isinstance(error, UpstreamTimeout | UpstreamUnavailable) and error.details.get("sent", unsaid) is not False


def _conflict(call: GuardedCall) -> IdempotencyConflict:
    return IdempotencyConflict(
        f"The idempotency key was used before for {quoted(call.tool.tool_id)}, with other arguments.",
        hint="Nothing was run. Send the same arguments as the first time, or a new key for a new call.",
    )


def _running(call: GuardedCall) -> UnknownOutcome:
    return UnknownOutcome(
        f"A call of {quoted(call.tool.tool_id)} with this idempotency key is still under way.",
        hint="Nothing was run now. Make the same call again later, with the same key, to get its result.",
        retryable=True,
        details={"reason": "running"},
    )


def _unknown(call: GuardedCall) -> UnknownOutcome:
    return UnknownOutcome(
        f"A call of {quoted(call.tool.tool_id)} with this idempotency key was begun, "
        "and nobody knows whether it did its work.",
        hint="Nothing was run now. Look whether the effect is there; if it is not, call again with a new key.",
        details={"reason": "lost"},
    )
