"""What results cost a model: small ones as they came, large ones in short with every part within reach: P16."""

from __future__ import annotations

import base64
import hashlib
import re
import statistics
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gateway_paths import OUR_NAME, connected, gateways, text_of, tokens_read
from gateway_server import MARK, TEXTS, image, mark, report
from mcp import Client, types
from proxy_paths import PathTo
from ratios import Row

SMALL_TOKENS = 200
"""Below this many tokens a result may cost nothing more, above it a twentieth."""

_SERVER = Path(__file__).resolve().with_name("gateway_server.py")
_SIZES = range(1, 141, 2)
_LARGE = {"records": 2_000, "object": 2_000, "table": 3_000, "log": 2_000, "prose": 400, "code": 600, "markup": 400}
_IMAGE = 1_500
_HANDLE = re.compile(r"art_[a-z2-7]{16,}")
_CURSOR = re.compile(r'\n\[more: cursor "([^"]+)"\]$')
_WHOLE_TOKENS = 4_000
_MOST_PAGES = 500


@dataclass
class Weights:
    """What the results of one gateway cost."""

    small: dict[int, int] = field(default_factory=dict)
    """Tokens that a result of so many tokens has more than it had."""
    large: dict[str, int] = field(default_factory=dict)
    """Tokens of the answer to a large result of a kind."""
    reached: dict[str, float] = field(default_factory=dict)
    """The share of its parts that could be seen, once each."""


async def result_rows(folder: Path, *, install: bool, quick: bool) -> list[Row]:
    """The rows about small results, those above the mark, and large ones."""
    entry = {"command": sys.executable, "args": [str(_SERVER)]}
    weighed: dict[str, Weights] = {}
    for path in gateways(folder, {"reports": entry}, install=install):
        async with connected(path) as client:
            weighed[path.name] = await _weigh(client, path, quick=quick)
    ours = weighed.pop(OUR_NAME)
    reached = "; ".join(f"{kind} {share:.0%}" for kind, share in ours.reached.items())
    return [
        Row(
            id="P16",
            what=f"added to a result of less than {SMALL_TOKENS} tokens, at most",
            ours=_most_added(ours),
            unit="tokens",
            target="== 0",
            peers={name: _most_added(each) for name, each in weighed.items()},
        ),
        Row(
            id="P16",
            what=f"added to a result of {SMALL_TOKENS} to {_WHOLE_TOKENS} tokens, at most",
            ours=_most_share(ours),
            unit="%",
            target="<= 5",
            peers={name: _most_share(each) for name, each in weighed.items()},
            note=_shortening(weighed),
        ),
        Row(
            id="P16",
            what="answer to a large result, the largest of all kinds",
            ours=max(ours.large.values()),
            unit="tokens",
            target="<= 400",
            peers={name: max(each.large.values()) for name, each in weighed.items()},
            note=f"ours: {_listed(ours.large)}",
        ),
        Row(
            id="P16",
            what="parts of a large result that can be seen, the worst kind",
            ours=min(ours.reached.values()),
            unit="of parts",
            target="== 1",
            note=reached,
        ),
    ]


async def _weigh(client: Client, path: PathTo, *, quick: bool) -> Weights:
    tool = await _searched(client, path)
    weights = Weights()
    for structured in (False, True):
        for size in _SIZES[:: 6 if quick else 1]:
            arguments: dict[str, Any] = {"kind": "records", "size": size, "structured": structured}
            before = tokens_read(report(**arguments))
            if before <= _WHOLE_TOKENS:
                result = await _called(client, path, tool, arguments)
                weights.small[before] = tokens_read(result) - before
    for kind, size in {**_LARGE, "image": _IMAGE}.items():
        result = await _called(client, path, tool, {"kind": kind, "size": size})
        weights.large[kind] = tokens_read(result)
        if path.name == OUR_NAME:
            weights.reached[kind] = await _reached(client, result, kind, size)
    return weights


async def _searched(client: Client, path: PathTo) -> str:
    assert path.meta is not None
    page = await client.call_tool(path.meta.search, {"query": "report"})
    return next(str(each) for each in path.meta.found.findall(text_of(page)) if "report" in each)


async def _called(client: Client, path: PathTo, tool: str, arguments: Mapping[str, Any]) -> types.CallToolResult:
    assert path.meta is not None
    name, wrapped = path.meta.call(tool, arguments)
    return await client.call_tool(name, wrapped)


async def _reached(client: Client, result: types.CallToolResult, kind: str, size: int) -> float:
    """The share of the parts of a result that are seen exactly once by following its cursors."""
    if kind == "image":
        wanted = hashlib.sha256(image(size)).digest()
        blocks = [*result.content, *[each async for each in _viewed(client, result, "raw")]]
        return float(any(_digest(block) == wanted for block in blocks))
    assert kind in TEXTS
    pages = [block.text async for block in _viewed(client, result, "all") if isinstance(block, types.TextContent)]
    seen = Counter(MARK.findall("".join(pages)))
    return sum(seen[mark(number)] == 1 for number in range(size)) / size


async def _viewed(client: Client, result: types.CallToolResult, selector: str) -> Any:
    """The blocks of every page of every artifact, each text without the lines around it."""
    for handle in dict.fromkeys(_HANDLE.findall(text_of(result))):
        cursor: dict[str, str] = {}
        for _ in range(_MOST_PAGES):
            page = await client.call_tool("tool_view", {"handle": handle, "selector": {"type": selector}, **cursor})
            if page.is_error:
                raise RuntimeError(f"an artifact cannot be seen: {text_of(page)}")
            following = _CURSOR.search(text_of(page))
            for block in page.content:
                yield _inner(block)
            if following is None:
                break
            cursor = {"cursor": following[1]}


def _inner(block: Any) -> Any:
    if not isinstance(block, types.TextContent):
        return block
    body = _CURSOR.sub("", block.text).split("\n", 1)
    return types.TextContent(type="text", text=body[-1])


def _digest(block: Any) -> bytes | None:
    return hashlib.sha256(base64.b64decode(block.data)).digest() if isinstance(block, types.ImageContent) else None


def _most_added(weights: Weights) -> int:
    return max(added for before, added in weights.small.items() if before < SMALL_TOKENS)


def _shares(weights: Weights) -> list[float]:
    return [100 * added / before for before, added in weights.small.items() if before >= SMALL_TOKENS]


def _most_share(weights: Weights) -> float:
    return round(max(_shares(weights)), 2)


def _shortening(weighed: Mapping[str, Weights]) -> str | None:
    found = [name for name, each in weighed.items() if statistics.median(_shares(each)) < 0]
    return f"most of these results come back shortened from: {', '.join(found)}" if found else None


def _listed(tokens: Mapping[str, int]) -> str:
    return ", ".join(f"{kind} {count}" for kind, count in tokens.items())
