"""What servers say beside the results of tools, without the secrets of the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from toolcrib_core import ToolError
from toolcrib_mcp.front.service import Channel, Request
from toolcrib_mcp.rpc import RpcError

if TYPE_CHECKING:
    from toolcrib_mcp.redaction import ResultRedactor

_CALL = "tools/call"
_LIST = "/list"


class Hiding:
    """Takes secrets out of what a relay passes on; without a `redactor` it changes nothing.

    What tools, resources, prompts and completions answer passes the checkpoint, which counts what it takes out. Of what
    servers list only the secrets of the configuration are taken: an example of a secret in a description is none.
    """

    def __init__(self, redactor: ResultRedactor | None) -> None:
        self._redactor = redactor

    def request(self, request: Request, *, server: str) -> Request:
        """The request with a way back to its client on which logs, progress and questions have no secrets."""
        if self._redactor is None:
            return request
        return replace(request, channel=_HidingChannel(request.channel, self._redactor, server))

    def result(self, method: str, result: dict[str, Any], *, server: str) -> dict[str, Any]:
        """The answer to a request for a list; every other one passes the checkpoint."""
        if self._redactor is None or not method.endswith(_LIST):
            return result
        return self._redactor.redact_definitions(result, server=server)

    def items(self, items: list[Any], *, server: str) -> list[Any]:
        """What a server lists."""
        if self._redactor is None:
            return items
        hidden: list[Any] = self._redactor.redact_definitions({"items": items}, server=server)["items"]
        return hidden

    def text(self, text: str | None) -> str | None:
        """How servers want to be used."""
        if self._redactor is None or text is None:
            return text
        hidden: str = self._redactor.redact_definitions({"text": text}, server="")["text"]
        return hidden

    def failure(self, method: str, failure: ToolError | RpcError, *, server: str) -> None:
        """Take secrets out of an error, in place."""
        if self._redactor is not None and method != _CALL:
            self._redactor.redact_failure(failure, server=server)


@dataclass(frozen=True)
class _HidingChannel:
    channel: Channel
    redactor: ResultRedactor
    server: str

    async def notify(self, method: str, params: Mapping[str, Any]) -> None:
        await self.channel.notify(method, self._hidden(params))

    async def ask(self, method: str, params: Mapping[str, Any], *, timeout: float | None) -> dict[str, Any]:  # noqa: ASYNC109  # the client is told when time is over
        return await self.channel.ask(method, self._hidden(params), timeout=timeout)

    def _hidden(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        return self.redactor.redact(dict(params), server=self.server).result
