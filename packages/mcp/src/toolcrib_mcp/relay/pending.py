"""Calls that wait for a modern client: an older server asked something, and the client brings the answer in a retry."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, Final

from toolcrib_mcp.errors import UpstreamBusy
from toolcrib_mcp.front.envelope import INVALID_PARAMS
from toolcrib_mcp.front.service import Request
from toolcrib_mcp.relay.levels import hearer
from toolcrib_mcp.relay.patience import ANSWER_WITHIN, Patience
from toolcrib_mcp.relay.questions import INPUT_REQUIRED, MAX_QUESTIONS
from toolcrib_mcp.rpc import RpcError
from toolcrib_mcp.rpc.messages import INTERNAL_ERROR
from toolcrib_runtime.clock import Clock, Timer

MAX_PENDING: Final = 256
"""How many calls wait for clients at once; one more is refused."""

TOKEN_PREFIX: Final = "toolcrib-pending-"  # noqa: S105  # no secret: what follows it is
"""How the `requestState` of a call begins that waits here; any other is the server's own."""

Work = Callable[["PendingCall"], Coroutine[Any, Any, dict[str, Any]]]
"""What a call does; it is given the call, for whatever the server asks and tells."""

_RETRIED = frozenset({"inputResponses", "requestState", "_meta"})


@dataclass(frozen=True, kw_only=True)
class Belonging:
    """What a retry must have in common with the call that it continues."""

    principal: str | None
    server: str
    method: str
    params: Mapping[str, Any]

    @classmethod
    def of(cls, server: str, method: str, params: Mapping[str, Any], request: Request) -> Belonging:
        """That of a request, which may be a retry."""
        same = {name: value for name, value in params.items() if name not in _RETRIED}
        return cls(principal=request.caller.principal, server=server, method=method, params=same)


class PendingCall:
    """One call, `work`, in a task of its own; `request` is the one that waits for it now."""

    def __init__(self, belonging: Belonging, request: Request, *, patience: Patience, work: Work) -> None:
        self.belonging = belonging
        self.request: Request | None = request
        self.conversation = request.caller.conversation
        self._timer: Timer | None = None
        self._patience = patience
        self._open: dict[str, tuple[dict[str, Any], asyncio.Future[dict[str, Any]]]] = {}
        self._asked = 0
        self._news = asyncio.Event()
        self._task = asyncio.create_task(work(self))
        self._task.add_done_callback(self._ended)

    async def ask(self, method: str, params: dict[str, Any]) -> Mapping[str, Any]:
        """The server asks: keep the question until a retry answers it.

        Raises:
            RpcError: Too many questions are open.
        """
        if len(self._open) >= MAX_QUESTIONS:
            raise RpcError(INTERNAL_ERROR, "Too many questions at once")
        self._asked += 1
        key = f"input-{self._asked}"
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._open[key] = ({"method": method, "params": params}, answer)
        self._news.set()
        try:
            with self._patience.standing_still():
                return await answer
        finally:
            self._open.pop(key, None)

    async def on_progress(self, params: dict[str, Any]) -> None:
        """Hand progress to whoever waits; to nobody while nobody does."""
        told = None if self.request is None else self.request.on_progress
        if told is not None:
            await told(params)

    async def on_notification(self, method: str, params: dict[str, Any]) -> None:
        """Hand on what the server tells; to nobody while nobody waits."""
        if self.request is not None:
            await hearer(self.request)(method, params)

    def deliver(self, responses: object) -> None:
        """Give the server the answers of a retry; a question without one stays open.

        Raises:
            RpcError: They are no answers.
        """
        given = {} if responses is None else responses
        if not isinstance(given, dict) or not all(isinstance(each, dict) for each in given.values()):
            raise RpcError(INVALID_PARAMS, "`inputResponses` must be an object with an object for every question.")
        for key in self._open.keys() & given.keys():
            _, answer = self._open.pop(key)
            answer.set_result(given[key])

    async def outcome(self) -> dict[str, Any] | None:
        """The result; or `None` when the server has asked, and `questions` has what."""
        while not self._task.done():
            if self._open:
                return None
            self._news.clear()
            await self._news.wait()
        return self._task.result()

    @property
    def questions(self) -> dict[str, Any]:
        """What is asked and not answered, by key."""
        return {key: question for key, (question, _) in self._open.items()}

    async def stop(self) -> None:
        """Nobody waits any more, and the server is told so."""
        self.wait_for(None)
        self._task.cancel()
        await asyncio.wait([self._task])

    def wait_for(self, timer: Timer | None) -> None:
        """Let this timer end the waiting for a retry; `None` if one has come."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = timer

    def _ended(self, task: asyncio.Task[dict[str, Any]]) -> None:
        # Looked at, so that one which nobody comes back for is no complaint of asyncio.
        _ = None if task.cancelled() else task.exception()
        self._news.set()


class PendingCalls:
    """All calls that wait for a retry, by their tokens."""

    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        self._by_token: dict[str, PendingCall] = {}
        self._stopping: set[asyncio.Task[None]] = set()

    async def wait(self, call: PendingCall) -> dict[str, Any]:
        """The result of a call, or a result that asks.

        Raises:
            UpstreamBusy: It asks, and too many others wait already.
            BaseException: Whatever the call raised.
        """
        try:
            result = await call.outcome()
        except BaseException:
            await call.stop()
            raise
        if result is not None:
            return result
        if len(self._by_token) >= MAX_PENDING:
            await call.stop()
            raise _too_many()
        call.request = None
        token = f"{TOKEN_PREFIX}{secrets.token_urlsafe(32)}"
        self._by_token[token] = call
        expires = self._clock.monotonic() + ANSWER_WITHIN
        call.wait_for(self._clock.call_at(expires, lambda: self._expire(token)))
        return {"resultType": INPUT_REQUIRED, "inputRequests": call.questions, "requestState": token}

    async def resume(self, token: str, belonging: Belonging, request: Request) -> dict[str, Any]:
        """Go on with a call after the client answered.

        Raises:
            RpcError: No such call waits for this client and this request, or it brings no answers.
            BaseException: As `wait`.
        """
        call = self._by_token.get(token)
        if call is None or call.belonging != belonging:
            raise RpcError(INVALID_PARAMS, "Nothing waits under this `requestState` for this request; begin anew.")
        call.deliver(request.params.get("inputResponses"))
        del self._by_token[token]
        call.wait_for(None)
        call.request = request
        return await self.wait(call)

    async def end(self, conversation: str) -> None:
        """A client has gone: stop what waits for it."""
        await self._stop(lambda call: call.conversation == conversation)

    async def aclose(self) -> None:
        """Stop all."""
        await self._stop(lambda _: True)
        while self._stopping:
            await asyncio.wait(self._stopping)

    async def _stop(self, is_meant: Callable[[PendingCall], bool]) -> None:
        tokens = [token for token, call in self._by_token.items() if is_meant(call)]
        for call in [self._by_token.pop(token) for token in tokens]:
            await call.stop()

    def _expire(self, token: str) -> None:
        call = self._by_token.pop(token)
        task = asyncio.create_task(call.stop())
        self._stopping.add(task)
        task.add_done_callback(self._stopping.discard)


def _too_many() -> UpstreamBusy:
    return UpstreamBusy(
        f"The server asked the client something, and {MAX_PENDING} calls wait for answers already.",
        hint="Try again later.",
    )
