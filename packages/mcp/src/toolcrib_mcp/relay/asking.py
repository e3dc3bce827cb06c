"""Asking a client of the handshake era: during a call, or where a modern server asks in place of a result."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from toolcrib_core.wording import quoted
from toolcrib_mcp.errors import UpstreamMalformed
from toolcrib_mcp.front.service import Channel
from toolcrib_mcp.relay.patience import ANSWER_WITHIN, Patience
from toolcrib_mcp.relay.questions import asks, questions_in
from toolcrib_runtime.clock import Clock

MAX_ROUNDS: Final = 10
"""How often a server may ask in one call; as many as the official clients allow."""

_FIRST_PAUSE = 0.05
_MAX_PAUSE = 0.25

Again = Callable[[Mapping[str, Any]], Awaitable[dict[str, Any]]]
"""Makes the same request once more, with these members added to its params."""


class Asking:
    """The questions of one server to one client, in one call."""

    def __init__(
        self, channel: Channel, may_use: frozenset[str], *, server: str, patience: Patience, clock: Clock
    ) -> None:
        self._channel = channel
        self._may_use = may_use
        self._server = server
        self._patience = patience
        self._clock = clock

    async def answer(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """What the client answers to a question that is the server's to ask.

        Raises:
            RpcError: What the client answered with instead.
        """
        with self._patience.standing_still():
            return await self._channel.ask(method, params, timeout=ANSWER_WITHIN)

    async def settle(self, result: dict[str, Any], again: Again) -> dict[str, Any]:
        """The result that no longer asks: every question is put to the client, and the request made again.

        Raises:
            NotGranted: A question is not the server's to ask.
            UpstreamMalformed: It asks in a form that is none, or has asked too often.
            RpcError: What the client answered a question with; the server could not be told.
        """
        pause, rounds = _FIRST_PAUSE, 0
        while asks(result):
            if rounds == MAX_ROUNDS:
                raise _asks_for_ever(self._server)
            rounds += 1
            more: dict[str, Any] = {}
            if asked := questions_in(result, self._may_use, server=self._server):
                more["inputResponses"] = await self._answers(asked)
            else:
                await self._clock.sleep(pause)
                pause = min(2 * pause, _MAX_PAUSE)
            if "requestState" in result:
                more["requestState"] = result["requestState"]
            result = await again(more)
        return result

    async def _answers(self, asked: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        async def put(question: Mapping[str, Any]) -> dict[str, Any]:
            params = question.get("params")
            return await self.answer(question["method"], params if isinstance(params, Mapping) else {})

        tasks = {key: asyncio.create_task(put(question)) for key, question in asked.items()}
        try:
            return {key: await task for key, task in tasks.items()}
        finally:
            for task in tasks.values():
                task.cancel()
            await asyncio.gather(*tasks.values(), return_exceptions=True)


def _asks_for_ever(server: str) -> UpstreamMalformed:
    return UpstreamMalformed(
        f"The server {quoted(server)} asked for input {MAX_ROUNDS} times in one call, and still has no result.",
        hint="This is a fault of the server.",
        details={"upstream": server, "limit": MAX_ROUNDS},
    )
