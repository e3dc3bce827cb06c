"""How the gateway fares as the catalogue grows: tokens to find and call one tool, and CPU of one search.

    uv run python bench/catalogue_growth.py [--quick] [--json] [--peers]

Tools are real ones as far as they reach (`../shared/data` beside the checkout, else our own corpus), and then made up.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import corpus
from gateway_browse import Tools, tools_of
from gateway_paths import tokens_of, tokens_read
from gateway_tokens import REPLAYING, the_catalogue
from peer_environments import reason
from proxy_paths import PEERS, MetaTools, installed_peers
from ratios import Row, cpu_seconds, parser, report

from toolcrib_core.definition import ToolDefinition
from toolcrib_core.search import SearchIndex
from toolcrib_mcp.config import GatewayConfig, GatewaySettings
from toolcrib_mcp.front import connect_service
from toolcrib_mcp.gateway import Gateway, GatewayService
from toolcrib_mcp.hub import Hub
from toolcrib_mcp.upstreams import Upstream

_META = MetaTools()
_WORKER = Path(__file__).resolve().with_name("retrieval_peer_worker.py")
_START_SECONDS = 300
_PEER_SECONDS = 180
# One peer needs seconds for each search of many tools, and minutes to build.
_FEWER = {"contextweaver": 1_000}


async def growth_rows(tools: Tools, size: int, *, rounds: int, install: bool) -> list[Row]:
    """The rows of one size."""
    told = [_told(each) for own in tools.values() for each in own]
    servers = {name: _replaying(own) for name, own in tools.items()}
    async with Hub(GatewayConfig(servers={}, settings=GatewaySettings()), upstreams=servers) as hub:
        await hub.start(timeout=_START_SECONDS)
        service = GatewayService(Gateway(hub))
        client = Upstream("gateway", connect_service(service))
        try:
            tokens, seconds = await _measured(client, tools, rounds=rounds)
            alone = _search_alone(hub.catalog.snapshot().registry.list(), _queries(tools, rounds))
        finally:
            await client.aclose()
            await service.aclose()
    raw = sum(map(tokens_of, told))
    peers = {"toolcrib, search alone": alone} | _peers(tools, _queries(tools, rounds), size=size, install=install)
    what = f"list, search and call, {size:,} tools"
    return [
        Row(id="growth-tokens", what=what, ours=tokens, unit="tokens", peers={"every definition": raw}),
        Row(id="growth-saved", what=what, ours=100 * (1 - tokens / raw), unit="% of every definition"),
        Row(
            id="growth-latency",
            what=f"a search by words, {size:,} tools, median",
            ours=1e3 * statistics.median(seconds),
            unit="ms of CPU",
            peers=peers,
        ),
    ]


async def _measured(client: Upstream, tools: Tools, *, rounds: int) -> tuple[float, list[float]]:
    """The tokens of a median round whose search showed the tool that was meant, and the CPU of every search."""
    listed = tokens_of((await client.call("tools/list", {}))["tools"])
    await _call(client, _META.search, {"query": "warm up the index wrod"})
    drawn = random.Random(5).sample([each for own in tools.values() for each in own], rounds)
    spent, seconds = [], []
    for tool, query in zip(drawn, _queries(tools, rounds), strict=True):
        _, taken = await _timed(_call(client, _META.search, {"query": query}))
        seconds.append(taken)
        asked = {"query": _beginning(tool)}
        page = await _call(client, _META.search, asked)
        found = [each for each in _META.found.findall(_text(page)) if f":{tool['name']}" in each]
        if found:
            name, arguments = _META.call(found[0], corpus.valid_arguments(tool["inputSchema"]))
            result = await _call(client, name, arguments)
            spent.append(tokens_of(asked) + tokens_read(page) + tokens_of(arguments) + tokens_read(result))
    if not spent:
        raise SystemExit("no search showed the tool that was meant")
    return listed + statistics.median(spent), seconds


async def _call(client: Upstream, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = await client.call("tools/call", {"name": name, "arguments": arguments})
    return result


async def _timed(work: Awaitable[dict[str, Any]]) -> tuple[dict[str, Any], float]:
    begun = time.process_time()
    done = await work
    return done, time.process_time() - begun


def _search_alone(definitions: Sequence[ToolDefinition], queries: list[str]) -> float:
    """As the peers are measured: the median search in milliseconds of CPU, without a gateway around it."""
    index = SearchIndex.build(definitions)
    index.search("warm up the shipped tables wrod")
    return round(1e3 * statistics.median(cpu_seconds(partial(index.search, each)) for each in queries), 3)


def _peers(tools: Tools, queries: list[str], *, size: int, install: bool) -> dict[str, float]:
    """The median search of each peer in milliseconds of CPU, without what its gateway adds."""
    described = [_described(server, each) for server, own in tools.items() for each in own]
    job = json.dumps({"tools": described, "queries": queries, "depth": 5})
    found = {}
    for name, bin_folder in installed_peers(("fastmcp", "contextweaver"), install=install):
        if size > _FEWER.get(name, size):
            continue
        try:
            command = [str(bin_folder / "python"), str(_WORKER), name]
            done = subprocess.run(command, input=job, capture_output=True, text=True, check=True, timeout=_PEER_SECONDS)
        except subprocess.SubprocessError as failure:
            print(f"{name} is left out at {size:,} tools: {reason(failure)}", file=sys.stderr)
            continue
        seconds = json.loads(done.stdout.splitlines()[-1])["seconds"]
        found[PEERS[name].replace("==", " ")] = round(1e3 * statistics.median(seconds), 3)
    return found


def _queries(tools: Tools, count: int) -> list[str]:
    chance = random.Random(7)
    told = [each.get("description") or each["name"] for own in tools.values() for each in own]
    queries = []
    for _ in range(count):
        words = re.findall(r"[A-Za-z]{3,}", chance.choice(told)) or ["list"]
        queries.append(" ".join(chance.sample(words, min(5, len(words)))))
    return queries


def _replaying(tools: list[dict[str, Any]]) -> Any:
    import runpy

    return runpy.run_path(str(REPLAYING))["ReplayingServer"](tools).connect


def _told(tool: dict[str, Any]) -> dict[str, Any]:
    return {key: tool[key] for key in ("name", "description", "inputSchema") if key in tool}


def _described(server: str, tool: dict[str, Any]) -> dict[str, Any]:
    properties = tool["inputSchema"].get("properties", {})
    parameters = {
        name: str(each.get("description", "")) if isinstance(each, dict) else "" for name, each in properties.items()
    }
    described = tool.get("description") or ""
    return {"namespace": server, "name": tool["name"], "description": described, "parameters": parameters}


def _beginning(tool: dict[str, Any]) -> str:
    return " ".join(re.findall(r"\w+", tool.get("description") or tool["name"])[:12])


def _text(result: dict[str, Any]) -> str:
    return "".join(block.get("text", "") for block in result["content"])


async def main() -> None:
    """Measure every size and print."""
    arguments = parser(__doc__ or "")
    arguments.add_argument("--peers", action="store_true", help="install the peers that are missing into bench/peers/")
    options = arguments.parse_args()
    sizes = (30, 100, 300, 1_000) if options.quick else (30, 100, 300, 1_000, 3_000, 10_000)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        catalogue = the_catalogue(Path(folder))
        for size in sizes:
            tools = tools_of(catalogue, size)
            rows += await growth_rows(tools, size, rounds=10 if options.quick else 30, install=options.peers)
    report("catalogue_growth", rows, as_json=options.json)


if __name__ == "__main__":
    asyncio.run(main())
