"""What one browse costs in CPU at 100, 1,000 and 10,000 tools, against reading through all of them."""

from __future__ import annotations

import json
import random
import re
import runpy
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Iterator, Sequence
from heapq import nlargest
from pathlib import Path
from typing import Any, TypeAlias

from gateway_tokens import REPLAYING, Catalogue
from peer_environments import reason
from proxy_paths import PEERS, installed_peers
from ratios import Row
from search_scale import Workshop

from toolcrib_core.json_values import thaw
from toolcrib_core.tree import TreeNode
from toolcrib_mcp.config import GatewayConfig, GatewaySettings
from toolcrib_mcp.gateway import Gateway
from toolcrib_mcp.hub import Hub

_WORKER = Path(__file__).resolve().with_name("retrieval_peer_worker.py")
_SLOW_MS = "<= 10"
_SHOWN = 8
_QUERIES = 40
_START_SECONDS = 120
# What is not ready then is left out: one of them takes many minutes to build its tree of 10,000 tools.
_PEER_SECONDS = 180
_REPLAYING_SERVER = runpy.run_path(str(REPLAYING))["ReplayingServer"]

Tools: TypeAlias = dict[str, list[dict[str, Any]]]
"""Raw tools by server."""


async def browse_rows(catalogue: Catalogue, *, sizes: Sequence[int], rounds: int, install: bool) -> list[Row]:
    """For each size: a browse by words and one by path, against the scan; and the slowest in milliseconds."""
    rows: list[Row] = []
    for size in sizes:
        tools = tools_of(catalogue, size)
        rows += await _rows_at(tools, size, rounds=rounds, install=install)
    return rows


def tools_of(catalogue: Catalogue, size: int) -> Tools:
    """So many tools: those of the catalogue, evenly drawn where they are too many, and made up where too few."""
    rows = catalogue.rows
    drawn = rows if len(rows) <= size else random.Random(size).sample(rows, size)
    tools: Tools = {}
    for row in drawn:
        tools.setdefault(row["server"], []).append(row["tool"])
    missing = size - len(drawn)
    workshop = Workshop(size)
    while missing > 0:
        made = workshop.server()[:missing]
        missing -= len(made)
        tools[f"{made[0].namespace}-{missing}"] = [
            {"name": each.name, "description": each.description, "inputSchema": thaw(each.input_schema)}
            for each in made
        ]
    return tools


class FlatScan:
    """The floor: every tool's text is looked through for the words of the request, and the best are kept."""

    def __init__(self, tools: Tools) -> None:
        self._texts = [
            f"{each['name']} {each.get('description', '')}".lower() for own in tools.values() for each in own
        ]

    def search(self, query: str) -> list[int]:
        """The places of the tools that hold most of the words."""
        words = query.lower().split()
        scores = ((sum(word in text for word in words), -at) for at, text in enumerate(self._texts))
        return [-at for score, at in nlargest(_SHOWN, scores) if score]


async def _rows_at(tools: Tools, size: int, *, rounds: int, install: bool) -> list[Row]:
    servers = {name: _REPLAYING_SERVER(own).connect for name, own in tools.items()}
    async with Hub(GatewayConfig(servers={}, settings=GatewaySettings()), upstreams=servers) as hub:
        await hub.start(timeout=_START_SECONDS)
        async with Gateway(hub) as gateway:
            return await _measured(gateway, tools, size, rounds=rounds, install=install)


async def _measured(gateway: Gateway, tools: Tools, size: int, *, rounds: int, install: bool) -> list[Row]:
    scan, requests = FlatScan(tools), _requests(tools)
    await gateway.browse(query="warm up the index wrod")
    paths = [each.path for each in gateway.hub.catalog.snapshot().tree.children("/") if isinstance(each, TreeNode)]
    by_words, by_path, scanned = [], [], []
    for _ in range(rounds):
        queries = [next(requests) for _ in range(_QUERIES)]
        by_words.append([await _seconds(gateway.browse(query=each)) for each in queries])
        by_path.append([await _seconds(gateway.browse(path=each)) for each in paths])
        scanned.append([_scan_seconds(scan, query) for query in queries])
    floor = [statistics.mean(each) for each in scanned]
    slowest = sorted(each for some in by_words for each in some)
    asked = [next(requests) for _ in range(_QUERIES)]
    peers = _peers(
        tools, asked, floor=statistics.median(_scan_seconds(scan, query) for query in asked), install=install
    )
    note = "peers: their search alone, without what their gateways add" if peers else None
    return [
        Row(
            id="browse",
            what=f"by words, {size:,} tools",
            ours=statistics.median(statistics.mean(mine) / least for mine, least in zip(by_words, floor, strict=True)),
            unit="x flat scan",
            peers=peers,
            note=note,
        ),
        Row(
            id="browse",
            what=f"by path, {size:,} tools",
            ours=statistics.median(statistics.mean(mine) / least for mine, least in zip(by_path, floor, strict=True)),
            unit="x flat scan",
        ),
        Row(
            id="browse",
            what=f"by words, {size:,} tools, p95",
            ours=1e3 * slowest[int(len(slowest) * 0.95)],
            unit="ms of CPU",
            target=_SLOW_MS,
        ),
    ]


def _requests(tools: Tools) -> Iterator[str]:
    """Words out of what some tool says of itself, one of them mistyped; never the same request twice."""
    chance = random.Random(11)
    told = [each.get("description") or each["name"] for own in tools.values() for each in own]
    while True:
        words = re.findall(r"[A-Za-z]{3,}", chance.choice(told)) or ["list"]
        chosen = chance.sample(words, min(5, len(words)))
        yield " ".join([*chosen, f"{chosen[0][:-1]}qx"])


async def _seconds(browsing: Awaitable[object]) -> float:
    started = time.process_time()
    await browsing
    return time.process_time() - started


def _scan_seconds(scan: FlatScan, query: str) -> float:
    started = time.process_time()
    scan.search(query)
    return time.process_time() - started


def _peers(tools: Tools, queries: list[str], *, floor: float, install: bool) -> dict[str, float]:
    """The median search of each peer against the scan."""
    job = json.dumps(
        {"tools": [_told(s, each) for s, own in tools.items() for each in own], "queries": queries, "depth": 5}
    )
    ratios = {}
    for name, bin_folder in installed_peers(("fastmcp", "contextweaver"), install=install):
        try:
            done = subprocess.run(
                [str(bin_folder / "python"), str(_WORKER), name],
                input=job,
                capture_output=True,
                text=True,
                check=True,
                timeout=_PEER_SECONDS,
            )
        except subprocess.SubprocessError as failure:
            print(f"{name} is left out: {reason(failure)}", file=sys.stderr)
            continue
        seconds = json.loads(done.stdout.splitlines()[-1])["seconds"]
        ratios[PEERS[name].replace("==", " ")] = round(statistics.median(seconds) / floor, 2)
    return ratios


def _told(server: str, tool: dict[str, Any]) -> dict[str, Any]:
    properties = tool["inputSchema"].get("properties", {})
    parameters = {
        name: each.get("description", "") if isinstance(each, dict) else "" for name, each in properties.items()
    }
    described = tool.get("description") or ""
    return {"namespace": server, "name": tool["name"], "description": described, "parameters": parameters}
