"""The adapters: CPU for each tool and format beside other converters, strict tools, and tokens for each tool.

uv run python bench/adapters.py [--quick] [--json] [--peers]
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from adapters_peer_worker import copy_ratio
from corpus import definitions
from peer_environments import environment, reason
from ratios import Row, parser, report

from toolcrib_anthropic import to_anthropic_tools
from toolcrib_core import ToolDefinition, count_tokens
from toolcrib_gemini import to_gemini_tools
from toolcrib_openai import to_openai_tools

_HERE = Path(__file__).resolve().parent
_RUN_SECONDS = 300
_TOOLS = 1_000

PEERS = {
    "langchain-core": "langchain-core==1.7.2",
    "pydantic-ai": "pydantic-ai-slim[openai,google]==2.66.0",
    "toolregistry": "toolregistry==0.19.0",
}
FORMATS: dict[str, Callable[[Sequence[ToolDefinition]], Any]] = {
    "OpenAI Responses": lambda tools: to_openai_tools(tools).tools,
    "OpenAI Responses strict": lambda tools: to_openai_tools(tools, strict=True).tools,
    "OpenAI Chat": lambda tools: to_openai_tools(tools, api="chat").tools,
    "Anthropic": lambda tools: to_anthropic_tools(tools).tools,
    "Anthropic strict": lambda tools: to_anthropic_tools(tools, strict=True).tools,
    # The API takes no more than 512 in one request.
    "Gemini": lambda tools: [to_gemini_tools(tools[at : at + 500]).tools for at in range(0, len(tools), 500)],
}


def conversion_rows(tools: Sequence[ToolDefinition], rounds: int, *, install: bool) -> list[Row]:
    """What a tool costs in each format, against a copy of its schema through `json`."""
    schemas = [json.loads(json.dumps(each.input_schema)) for each in tools]
    beside = _peer_ratios(schemas, rounds, install=install)
    return [
        Row(
            id="AD",
            what=f"{len(tools):,} definitions as {name}",
            ours=round(copy_ratio(lambda convert=convert: convert(tools), schemas, rounds=rounds), 2),
            unit="x json copy of the schemas",
            peers=beside if name == "OpenAI Responses strict" else {},
        )
        for name, convert in FORMATS.items()
    ]


def strict_rows(tools: Sequence[ToolDefinition], what: str) -> list[Row]:
    """How many tools can be strict without refusing what they take."""
    openai = to_openai_tools(tools, strict=True)
    # One by one: the API limits how many tools of one request are strict.
    anthropic = [each for each in tools if not to_anthropic_tools([each], strict=True).not_strict]
    shares = {"OpenAI": len(openai.strict) / len(tools), "Anthropic": len(anthropic) / len(tools)}
    return [
        Row(id="AD", what=f"strict by {vendor}: {what}", ours=round(100 * share, 1), unit="% of the tools")
        for vendor, share in shares.items()
    ]


def token_rows(tools: Sequence[ToolDefinition], what: str) -> list[Row]:
    """How many tokens a tool takes in each format, as compact JSON."""
    return [
        Row(
            id="AD",
            what=f"tokens in {name}: {what}",
            ours=round(count_tokens(json.dumps(convert(tools), separators=(",", ":"))) / len(tools), 1),
            unit="tokens a tool",
        )
        for name, convert in FORMATS.items()
    ]


def _peer_ratios(schemas: list[dict[str, Any]], rounds: int, *, install: bool) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, requirement in PEERS.items():
        try:
            python = environment(f"lossiness-{name}", requirement, install=install) / "python"
            command = [str(python), str(_HERE / "adapters_peer_worker.py"), name, str(rounds)]
            done = subprocess.run(
                command, input=json.dumps(schemas), capture_output=True, text=True, timeout=_RUN_SECONDS, check=True
            )
        except (OSError, subprocess.SubprocessError) as failure:
            print(f"{name} is left out: {reason(failure)}", file=sys.stderr)
        else:
            found |= json.loads(done.stdout)
    return found


def _real() -> tuple[ToolDefinition, ...]:
    """The tools of real servers where they are at hand, else our own."""
    sys.path.insert(0, str(_HERE.parent))
    from tests.adapters.corpus import corpus

    return corpus()


def main() -> None:
    """Run every part and print it."""
    options = parser((__doc__ or "").splitlines()[0])
    options.add_argument("--peers", action="store_true", help="install the peers that are not there yet")
    chosen = options.parse_args()
    tools = definitions(200 if chosen.quick else _TOOLS)
    real = [each for each in _real() if all(len(name) <= 64 for name in each.input_schema.get("properties", {}))]
    what = f"{len(real):,} tools of servers"
    rows = [
        *conversion_rows(tools, 3 if chosen.quick else 7, install=chosen.peers),
        *strict_rows(real, what),
        *token_rows(_sendable(real), what),
    ]
    report("adapters", rows, as_json=chosen.json)


def _sendable(tools: Sequence[ToolDefinition]) -> list[ToolDefinition]:
    """Those that every vendor takes."""
    from toolcrib_core import CatalogError

    taken = []
    for each in tools:
        try:
            to_anthropic_tools([each])
            to_gemini_tools([each])
        except CatalogError:
            continue
        taken.append(each)
    return taken


if __name__ == "__main__":
    main()
