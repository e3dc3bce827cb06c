"""What finding and calling one tool costs a model in tokens, against being told of every tool: P15."""

from __future__ import annotations

import json
import random
import re
import statistics
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import corpus
from gateway_paths import OUR_NAME, connected, gateways, text_of, tokens_of, tokens_read, tools_as_json
from mcp import Client
from proxy_paths import MetaTools, PathTo
from ratios import Row
from retrieval_sets import DATA

_CATALOGUE = DATA / "mcp-catalogs" / "catalog.jsonl"
REPLAYING = Path(__file__).resolve().parents[1] / "tests" / "catalogues" / "replaying_server.py"
_LIST_TARGET, _SPENT_TARGET, _ROUND_TARGET = "<= 600", "<= 1200", ">= 99"
_REAL_TOOLS = 1_400
# One peer starts all servers anew for every request, and gets fewer rounds.
_PATIENCE, _FEWEST = 60.0, 5


@dataclass(frozen=True, kw_only=True)
class Catalogue:
    """The tools that are served, as rows of a file; `name` says which they are."""

    name: str
    file: Path
    rows: list[dict[str, Any]]

    @property
    def raw_tokens(self) -> int:
        """What it costs to be told of every tool: name, description and input schema."""
        tools = (row["tool"] for row in self.rows)
        told = ({key: tool[key] for key in ("name", "description", "inputSchema") if key in tool} for tool in tools)
        return sum(map(tokens_of, told))

    @property
    def whole_tokens(self) -> int:
        """The same with everything that their servers list."""
        return sum(tokens_of(row["tool"]) for row in self.rows)

    def servers(self) -> dict[str, dict[str, Any]]:
        """The entry of each server in a configuration: a process that replays its tools, under a plain name."""
        return {
            plain_name(server): {
                "command": sys.executable,
                "args": ["-I", "-S", str(REPLAYING), str(self.file), server],
            }
            for server in dict.fromkeys(row["server"] for row in self.rows)
        }


@dataclass(frozen=True, kw_only=True)
class Round:
    """The tokens of one search and one call; whether the search showed the tool that was meant, and the call did it."""

    found: bool
    done: bool
    tokens: int


def the_catalogue(folder: Path) -> Catalogue:
    """The real tools beside the checkout; our own corpus where there are none, which is then said."""
    name, rows = "our own corpus, since ../shared is not there", corpus.tool_rows()
    if _CATALOGUE.is_file():
        name = "real servers"
        rows = [json.loads(line) for line in _CATALOGUE.read_text(encoding="utf-8").splitlines()]
    file = folder / "catalogue.jsonl"
    file.write_text("".join(f"{json.dumps(_served(row))}\n" for row in rows), encoding="utf-8")
    return Catalogue(name=name, file=file, rows=rows)


def _served(row: dict[str, Any]) -> dict[str, Any]:
    # Without what it promises of its results: an echo breaks that promise, and some clients then fail the call.
    return {**row, "tool": {key: value for key, value in row["tool"].items() if key != "outputSchema"}}


def plain_name(server: str) -> str:
    """A name that every gateway takes as a namespace."""
    return re.sub(r"[^a-z0-9]+", "-", server.lower()).strip("-")


async def token_rows(folder: Path, *, install: bool, rounds: int) -> list[Row]:
    """The list of each gateway, and the median round of those whose search found the tool."""
    catalogue = the_catalogue(folder)
    listed: dict[str, float] = {}
    spent: dict[str, float] = {}
    saved: dict[str, float] = {}
    hits: dict[str, float] = {}
    notes = []
    for path in gateways(folder, catalogue.servers(), install=install):
        async with connected(path) as client:
            list_tokens = tokens_of(tools_as_json(await client.list_tools()))
            taken = [each async for each in _rounds(client, path, catalogue, rounds)]
        listed[path.name] = list_tokens
        done = [each.tokens for each in taken if each.done]
        spent[path.name] = list_tokens + statistics.median(done or [each.tokens for each in taken])
        saved[path.name] = round(100 * (1 - spent[path.name] / catalogue.raw_tokens), 3)
        hits[path.name] = round(statistics.mean(each.found for each in taken), 2)
        notes.append(f"{path.name} {len(done)} of {len(taken)} rounds done")
    raw = f"{len(catalogue.rows):,} tools of {catalogue.name}: {catalogue.raw_tokens:,} tokens raw"
    large = len(catalogue.rows) >= _REAL_TOOLS
    ours_listed, ours_spent, ours_saved, ours_hits = (figures.pop(OUR_NAME) for figures in (listed, spent, saved, hits))
    return [
        Row(id="P15", what="tools/list", ours=ours_listed, unit="tokens", target=_LIST_TARGET, peers=listed),
        Row(
            id="P15",
            what="tools/list + search + call",
            ours=ours_spent,
            unit="tokens",
            target=_SPENT_TARGET if large else None,
            peers=spent,
        ),
        Row(
            id="P15",
            what="saved by tools/list + search + call",
            ours=ours_saved,
            unit="% of raw catalogue",
            target=_ROUND_TARGET if large else None,
            peers=saved,
            note=f"{raw}, {catalogue.whole_tokens:,} with everything; {', '.join(notes)}",
        ),
        Row(
            id="P15",
            what="searches that showed the tool that was meant",
            ours=ours_hits,
            unit="of searches",
            peers=hits,
        ),
    ]


async def _rounds(client: Client, path: PathTo, catalogue: Catalogue, count: int) -> AsyncIterator[Round]:
    assert path.meta is not None
    ends = time.monotonic() + _PATIENCE
    chosen = random.Random(3).sample(catalogue.rows, min(count, len(catalogue.rows)))
    for taken, row in enumerate(chosen, start=1):
        yield await _one_round(client, path.meta, row)
        if taken >= _FEWEST and time.monotonic() > ends:
            return


async def _one_round(client: Client, meta: MetaTools, row: dict[str, Any]) -> Round:
    """Search for a tool by the beginning of what it says of itself, and call the tool that comes out."""
    tool = row["tool"]
    query = {"query": _request(tool)}
    page = await client.call_tool(meta.search, query)
    ids = list(dict.fromkeys(meta.found.findall(text_of(page))))
    wanted = next((each for each in ids if _is_named(each, row)), None)
    tokens = tokens_of(query) + tokens_read(page)
    if wanted is None:
        return Round(found=False, done=False, tokens=tokens)
    name, arguments = meta.call(wanted, corpus.valid_arguments(tool["inputSchema"]))
    result = await client.call_tool(name, arguments)
    tokens += tokens_of(arguments) + tokens_read(result)
    return Round(found=True, done=not result.is_error, tokens=tokens)


def _request(tool: dict[str, Any]) -> str:
    words = re.findall(r"\w+", tool.get("description") or tool["name"])
    return " ".join(words[:12])


def _is_named(found: str, row: dict[str, Any]) -> bool:
    server, name = plain_name(row["server"]), row["tool"]["name"]
    return re.split("[#@]", found)[0] in {f"{server}:{name}", f"{server}_{name}"}
