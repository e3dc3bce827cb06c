"""Asking a client: requests of ours, and its answers to them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from toolcrib_core.wording import quoted
from toolcrib_mcp.errors import UpstreamError, UpstreamFailed, UpstreamUnavailable
from toolcrib_mcp.rpc import ConnectionStats, RpcError, Unreadable, WireClosed
from toolcrib_mcp.rpc.calls import Call, Calls
from toolcrib_mcp.rpc.messages import INTERNAL_ERROR, request_message
from toolcrib_runtime.cancellation import CallScope
from toolcrib_runtime.clock import SYSTEM_CLOCK, Clock
from toolcrib_runtime.errors import DeadlineExceeded
from toolcrib_runtime.guards.secrets import Scrubber

CONNECTION_CLOSED: Final = -32000
"""The code for a peer that has gone, as the official SDKs have it."""

REQUEST_TIMEOUT: Final = -32001
"""The code for an answer that did not come in time, as the official SDKs have it."""

CANCELLED: Final = "notifications/cancelled"


class Asking:
    """The requests of ours that wait for one client.

    `send` waits until a message is sent; `post` leaves that to somebody else.
    """

    def __init__(
        self,
        *,
        send: Callable[[Mapping[str, Any]], Awaitable[None]],
        post: Callable[[str, Mapping[str, Any]], None],
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._calls = Calls(stats=ConnectionStats(), scrubber=Scrubber())
        self._send = send
        self._post = post
        self._clock = clock

    async def ask(self, method: str, params: Mapping[str, Any], *, timeout: float | None) -> dict[str, Any]:  # noqa: ASYNC109  # by the clock, and the client is told
        """Ask the client, and give the `result` of its answer as it came.

        When time is over or the caller is cancelled, the client is told, and a late answer is dropped.

        Raises:
            RpcError: The client answered with an error, which is kept as it came; it did not answer in time, with
                anything that can be used, or at all.
            TypeError: The params are not JSON.
        """
        try:
            call = self._calls.open(method, None)
        except UpstreamUnavailable:
            raise _gone(method) from None
        deadline = None if timeout is None else self._clock.monotonic() + timeout
        scope = CallScope(clock=self._clock, deadline=deadline, cancellation=None)
        try:
            outcome = await scope.run(self._exchange(call, request_message(call.id, method, params)))
        except DeadlineExceeded:
            raise RpcError(
                REQUEST_TIMEOUT, f"The client did not answer {quoted(method)} within {timeout:g} s."
            ) from None
        except WireClosed:
            raise _gone(method) from None
        finally:
            if self._calls.give_up(call) and call.sent:
                self._post(CANCELLED, {"requestId": call.id})
        if isinstance(outcome, UpstreamError):
            raise _as_rpc_error(method, outcome)
        return outcome

    def take_answer(self, answer: Mapping[str, Any]) -> None:
        """Hand an answer to the request it belongs to; without one it is dropped."""
        self._calls.take_answer(answer)

    def take_unreadable(self, message: Unreadable) -> None:
        """Fail the request that something unreadable was to answer, as far as that can be told."""
        self._calls.take_unreadable(message)

    def close(self) -> None:
        """The client answers nothing any more: fail all that wait, and all that come later."""
        self._calls.close(WireClosed("The client has gone."))

    async def _exchange(self, call: Call, message: Mapping[str, Any]) -> dict[str, Any] | UpstreamError:
        call.sent = True  # also if it is cancelled on the way: nobody minds the cancellation of what never came
        await self._send(message)
        return await call.wait()


def _as_rpc_error(method: str, failure: UpstreamError) -> RpcError:
    match failure:
        case UpstreamFailed():
            return RpcError(failure.rpc_code, failure.rpc_message, failure.rpc_data)
        case UpstreamUnavailable():
            return _gone(method)
    return RpcError(INTERNAL_ERROR, f"The answer of the client to {quoted(method)} cannot be used.")


def _gone(method: str) -> RpcError:
    return RpcError(CONNECTION_CLOSED, f"The client has gone, and did not answer {quoted(method)}.")
