"""The clients of the soak: each asks for the echo of its own nonces, of servers good and bad, and tells what came."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final
from urllib.parse import urlsplit

from mcp import MCPError

from tests.reference.clients import ERAS, Era, RawClient, connected

GOOD: Final = ("good-a", "good-b")
"""Servers to which nothing is done: every call of theirs must be answered."""

VICTIM: Final = "good-c"
"""A good server that is killed now and then."""

MODES: Final[dict[str, list[str]]] = {
    "good-a": [],
    "good-b": [],
    VICTIM: [],
    "slow": ["--mode=slow_bytes", "--delay=0.0002"],
    "noisy": ["--mode=stdout_noise"],
    "loud": ["--mode=stderr_flood", "--size=20000"],
    "crashing": ["--mode=crash_in_call"],
    "hanging": ["--mode=hang_in_call"],
}
"""The eight servers, and how each is started."""

_TOOLS: Final = ("echo", "steady")
_START_SECONDS: Final = 60
_LONGEST_THOUGHT: Final = 0.2
_CALLS_OF_A_VISIT: Final = 200
_IMPATIENCE: Final = 0.3
# So often of a hundred: a call that must be answered, a search, a list, and calls that end badly in various ways.
_WORK: Final = {"call": 66, "search": 10, "list": 6, "crash": 2, "hang": 2, "leave": 3, "wrong": 6, "half": 5}


class Load:
    """Clients that work until they are told to stop, and rest while they are told to."""

    def __init__(self, url: str, *, clients: int, seed: int, canary: str) -> None:
        self.outcomes: Counter[str] = Counter()
        self.problems: list[str] = []
        self._url = url
        self._clients = clients
        self._canary = canary
        self._seed = seed
        self._going = asyncio.Event()
        self._going.set()
        self._stopped = asyncio.Event()
        self._working = 0

    async def run(self) -> None:
        """All clients, half of them of each era, until `stop`; they begin when every server is there."""
        async with connected(self._url, "legacy") as client:
            for server in MODES:
                await _until_served(client, server)
        async with asyncio.TaskGroup() as group:
            for number in range(self._clients):
                group.create_task(self._client(number, ERAS[number % len(ERAS)]))

    async def rest(self) -> None:
        """Let nobody begin anything more, and wait until all that was begun has ended."""
        self._going.clear()
        while self._working:  # noqa: ASYNC110  # it ends by itself, and soon
            await asyncio.sleep(0.05)

    def go_on(self) -> None:
        """Let them work again."""
        self._going.set()

    def stop(self) -> None:
        """Let everybody leave."""
        self._stopped.set()
        self._going.set()

    async def _client(self, number: int, era: Era) -> None:
        chance = random.Random(self._seed * 1_000 + number)
        calls = 0
        while not self._stopped.is_set():
            async with connected(self._url, era) as client:
                visitor = Visitor(client, chance, name=f"{self._seed}-{number}", canary=self._canary, url=self._url)
                for _ in range(chance.randrange(1, _CALLS_OF_A_VISIT)):
                    await self._going.wait()
                    if self._stopped.is_set():
                        break
                    calls += 1
                    await self._one(visitor, calls)
                    await asyncio.sleep(chance.random() * _LONGEST_THOUGHT)

    async def _one(self, visitor: Visitor, number: int) -> None:
        self._working += 1
        try:
            work, outcome, problem = await visitor.work(number)
        finally:
            self._working -= 1
        self.outcomes[f"{work} {outcome}"] += 1
        if problem:
            self.problems.append(problem)


class Visitor:
    """One connection of one client."""

    def __init__(self, client: RawClient, chance: random.Random, *, name: str, canary: str, url: str) -> None:
        self._client = client
        self._chance = chance
        self._name = name
        self._canary = canary
        self._url = url

    async def work(self, number: int) -> tuple[str, str, str | None]:
        """Something of everything: what was done, how it ended, and what is wrong with that."""
        work = self._chance.choices(list(_WORK), list(_WORK.values()))[0]
        nonce = f"nonce-{self._name}-{number}-{self._chance.getrandbits(32):08x}"
        doing: dict[str, Callable[[str], Any]] = {
            "call": self._call,
            "search": self._search,
            "list": self._list,
            "crash": lambda nonce: self._ends_badly("crashing", nonce),
            "hang": lambda nonce: self._ends_badly("hanging", nonce),
            "leave": self._leave,
            "wrong": self._wrong,
            "half": self._half,
        }
        try:
            outcome, problem = await doing[work](nonce)
        except MCPError as error:
            return work, "error", f"{work}: {error.code} {error.message}"
        return work, outcome, problem

    async def _call(self, nonce: str) -> tuple[str, str | None]:
        server = self._chance.choice([each for each in MODES if each != "hanging"])
        result = await self._execute(server, "steady", nonce)
        if result.get("structuredContent") == {"nonce": nonce}:
            return "answered", None
        if not result.get("isError"):
            return "swapped", f"{nonce} of {server} was answered with {json.dumps(result)[:300]}"
        # Others are killed or kill themselves, so that a call may be lost: with an error, and never silently.
        wrong = f"{server} did not answer: {json.dumps(result)[:300]}" if server in GOOD else None
        return "lost", wrong

    async def _search(self, nonce: str) -> tuple[str, str | None]:
        result = await self._client.call("tool_browse", query=f"give the nonce back {nonce[-4:]}")
        found = any(f":{tool}" in json.dumps(result) for tool in _TOOLS)
        return ("found", None) if found else ("not found", f"a search found nothing: {json.dumps(result)[:300]}")

    async def _list(self, _: str) -> tuple[str, str | None]:
        listed = [each["name"] for each in (await self._client.ask("tools/list"))["tools"]]
        wanted = {"tool_browse", "tool_execute", "tool_view"}
        return ("listed", None) if set(listed) == wanted else ("not listed", f"the list is {listed}")

    async def _ends_badly(self, server: str, nonce: str) -> tuple[str, str | None]:
        result = await self._execute(server, "echo", nonce)
        return ("failed", None) if result.get("isError") else ("answered", f"{server} answered: {result}"[:300])

    async def _leave(self, nonce: str) -> tuple[str, str | None]:
        with suppress(TimeoutError):
            async with asyncio.timeout(_IMPATIENCE):
                await self._execute("hanging", "echo", nonce)
        return "left", None

    async def _wrong(self, nonce: str) -> tuple[str, str | None]:
        args = {"nonce": [self._canary], "other": {"token": self._canary, "nonce": nonce}}
        result = await self._client.call("tool_execute", tool_id=f"{GOOD[0]}:steady", args=args)
        said = json.dumps(result)
        if self._canary in said:
            return "echoed", f"an error told what it was given: {said[:300]}"
        return ("refused", None) if result.get("isError") else ("taken", f"wrong arguments were taken: {said[:300]}")

    async def _half(self, _: str) -> tuple[str, str | None]:
        """A request of which only the beginning comes."""
        place = urlsplit(self._url)
        writer = (await asyncio.open_connection(place.hostname, place.port))[1]
        head = f"POST {place.path} HTTP/1.1\r\nHost: {place.netloc}\r\nContent-Type: application/json\r\n"
        writer.write(f'{head}Content-Length: 1000\r\n\r\n{{"jsonrpc"'.encode())
        with suppress(OSError):
            await writer.drain()
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
        return "gone", None

    async def _execute(self, server: str, tool: str, nonce: str) -> dict[str, Any]:
        return await self._client.call("tool_execute", tool_id=f"{server}:{tool}", args={"nonce": nonce})


async def _until_served(client: RawClient, server: str) -> None:
    """Ask for its tools without their arguments until these are what is missing, and not the tools."""
    async with asyncio.timeout(_START_SECONDS):
        for tool in _TOOLS:
            while True:
                result = await client.call("tool_execute", tool_id=f"{server}:{tool}", args={})
                if result["structuredContent"].get("error") == "ARGS_INVALID":
                    break
                await asyncio.sleep(0.2)
