"""Processes of `toolcrib serve` that share a database, and a client that goes to another of them with every request."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import count
from typing import Any

import httpx2

HANDSHAKE = "2025-11-25"
MODERN = "2026-07-28"
ACCEPT = {"accept": "application/json, text/event-stream"}
_META = "io.modelcontextprotocol"


class Client:
    """Speaks one era of the protocol, to one address after the other."""

    def __init__(self, http: httpx2.AsyncClient, urls: list[str], *, era: str, asks: bool = False) -> None:
        self.urls = list(urls)
        self.era = era
        self.session: str | None = None
        self._http = http
        self._turn = count()
        self._ids = count(1)
        self._capabilities = {"elicitation": {}} if asks else {}

    async def open(self) -> Any:
        """Shake hands, where the era does."""
        if self.era == MODERN:
            return (await self.request("server/discover"))["result"]
        about = {"protocolVersion": self.era, "capabilities": self._capabilities, "clientInfo": {"name": "rr"}}
        response = await self.send("initialize", about)
        self.session = response.headers["mcp-session-id"]
        return message_of(response)["result"]

    async def send(self, method: str, params: Mapping[str, Any] | None = None, *, to: int | None = None) -> Any:
        """Send a request to the next address, or to one that is named, and give the response."""
        url = self.urls[(next(self._turn) if to is None else to) % len(self.urls)]
        sent, headers = dict(params or {}), dict(ACCEPT)
        if self.era == MODERN:
            known = {"protocolVersion": MODERN, "clientCapabilities": self._capabilities, "clientInfo": {"name": "rr"}}
            meta = {f"{_META}/{name}": each for name, each in known.items()}
            sent["_meta"] = {**meta, **sent.get("_meta", {})}
            headers |= {"mcp-protocol-version": MODERN, "mcp-method": method}
            if method == "tools/call":
                headers["mcp-name"] = sent["name"]
        elif self.session is not None:
            headers["mcp-session-id"] = self.session
        message = {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": sent}
        return await self._http.post(url, json=message, headers=headers)

    async def request(self, method: str, params: Mapping[str, Any] | None = None, *, to: int | None = None) -> Any:
        """The message that answers a request, without its id."""
        answer = message_of(await self.send(method, params, to=to))
        return {name: each for name, each in answer.items() if name != "id"}

    async def call(
        self, name: str, *, to: int | None = None, more: Mapping[str, Any] | None = None, **arguments: Any
    ) -> Any:
        """The result of a call."""
        answer = await self.request("tools/call", {"name": name, "arguments": arguments, **(more or {})}, to=to)
        return answer["result"]

    async def execute(
        self, tool_id: str, *, to: int | None = None, more: Mapping[str, Any] | None = None, **args: Any
    ) -> Any:
        """The result of a tool."""
        return await self.call("tool_execute", to=to, more=more, tool_id=tool_id, args=args)

    async def end(self, *, to: int) -> int:
        """End the session at one address; gives the status."""
        headers = {**ACCEPT, "mcp-session-id": str(self.session)}
        return (await self._http.delete(self.urls[to], headers=headers)).status_code


@asynccontextmanager
async def clients(urls: list[str], *eras: str, asks: bool = False) -> AsyncIterator[list[Client]]:
    """A client of each era that goes around these addresses; each has said hello."""
    async with httpx2.AsyncClient(timeout=50, verify=False) as http:
        made = [Client(http, urls, era=era, asks=asks) for era in eras]
        for each in made:
            await each.open()
        yield made


@asynccontextmanager
async def serving(workshop: Any, number: int, *options: str) -> AsyncIterator[list[Any]]:
    """So many processes that serve one configuration, each with a state of its own, as on hosts of their own."""
    async with AsyncExitStack() as stack:
        states = [str(workshop.directory / f"state-{each}") for each in range(number)]
        yield await asyncio.gather(
            *(
                stack.enter_async_context(
                    workshop.serving("--http", "127.0.0.1:0", *options, "--state-dir", state, seconds=240)
                )
                for state in states
            )
        )


def message_of(response: httpx2.Response) -> Any:
    """The message of an answer, whether it came as JSON or as an event of a stream."""
    streamed = response.headers["content-type"] == "text/event-stream"
    return json.loads(response.text.rpartition("data: ")[2] if streamed else response.text)


def text_of(result: Any) -> str:
    """What a result says."""
    return str(result["content"][0]["text"])
