"""The runtime against its floors: a validated call, many calls, a warm worker, the making of a tool.

uv run python bench/runtime.py [--quick] [--json] [--peers]
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from pydantic import validate_call
from ratios import Row, parser, report
from runtime_calls import ANSWER, SAMPLES, Sample, Work, making_ratio, pydantic_schema, times_dearer
from runtime_growth import parallel_calls, sequential_calls
from runtime_peers import PeerRun, run_peers
from runtime_workers import warm_calls

from toolcrib_runtime import Budget, Policy, RunnableTool, Toolbox, ToolCall, create_tool, create_toolbox

_ALONE, _FULL = "tool.run", "toolbox with rule, listener, budget"
_TARGETS = {"order": {_ALONE: "<= 4", _FULL: "<= 10"}}
_FUNCTIONS = 300


async def validated_calls(rounds: int, peers: Mapping[str, PeerRun]) -> list[Row]:
    """One call with its text parsed and its arguments and result checked, against `await f(**json.loads(text))`.

    The peers stand where their work is nearest to ours: all of them run a single tool, without rules or budgets.
    """
    rows = []
    for key, sample in SAMPLES.items():
        size = f"{sample.what}, {len(sample.text)} B"
        beside = {name: run.calls[key] for name, run in peers.items()}
        for way, work in _ways(sample).items():
            await _prove(work, way)
            ratio = await times_dearer(work, sample.floor, rounds=rounds)
            target = _TARGETS.get(key, {}).get(way)
            shown = beside if way == _ALONE else {}
            rows.append(
                Row(id="P5", what=f"{way}: {size}", ours=ratio, unit="x plain await", target=target, peers=shown)
            )
    return rows


def tool_making(rounds: int, count: int, peers: Mapping[str, PeerRun]) -> list[Row]:
    """A tool of a function, its schema compiled, against what pydantic alone needs for the same function."""
    what = f"a tool of a function ({count} functions)"
    checked = making_ratio(_made, floor=validate_call, count=count, rounds=rounds)
    described = making_ratio(_made, floor=pydantic_schema, count=count, rounds=rounds)
    beside = {name: run.tool for name, run in peers.items()}
    return [
        Row(id="-", what=what, ours=checked, unit="x validate_call"),
        Row(id="-", what=what, ours=described, unit="x TypeAdapter and schema", peers=beside),
    ]


def full_toolbox(tool: RunnableTool) -> Toolbox:
    """A toolbox that asks a rule, tells a listener and keeps a budget at every call."""
    return create_toolbox(
        [tool],
        policy=Policy(rules=(lambda _request: "allow",)),
        listeners=(lambda _event: None,),
        budget=Budget(calls=10**9, seconds=10**6, cost=10**9),
    )


def _ways(sample: Sample) -> dict[str, Work]:
    tool, text = _tool_of(sample), sample.text
    bare, full = create_toolbox([tool]), full_toolbox(tool)
    return {
        _ALONE: lambda: tool.run(text),
        "toolbox": lambda: bare.execute(ToolCall(tool=tool.name, arguments=text)),
        _FULL: lambda: full.execute(ToolCall(tool=tool.name, arguments=text)),
    }


def _tool_of(sample: Sample) -> RunnableTool:
    # A tool that says nothing about its effects would wait for an approval.
    return create_tool(sample.function, effects="read")


async def _prove(work: Work, way: str) -> None:
    """A call that is refused is cheap, and no measurement."""
    answer = await work()
    if getattr(answer, "value", answer) != ANSWER:
        raise SystemExit(f"{way}: {answer!r}")


def _made(function: Any) -> object:
    return create_tool(function, effects="read").takes


async def measured(*, quick: bool, install: bool) -> list[Row]:
    """Every row; the peers first, so that nothing else runs beside them."""
    rounds = 3 if quick else 9
    peers = run_peers(install=install, rounds=rounds)
    sequential = full_toolbox(_tool_of(SAMPLES["order"]))
    return [
        *await validated_calls(rounds, peers),
        *await parallel_calls(rounds),
        *await sequential_calls(sequential, 20_000 if quick else 100_000),
        *await warm_calls(rounds),
        *tool_making(min(rounds, 5), 60 if quick else _FUNCTIONS, peers),
    ]


def main() -> None:
    """Run every part and print it."""
    options = parser((__doc__ or "").splitlines()[0])
    options.add_argument("--peers", action="store_true", help="install the peers that are not there yet")
    chosen = options.parse_args()
    rows = asyncio.run(measured(quick=chosen.quick, install=chosen.peers))
    report("runtime", rows, as_json=chosen.json)


if __name__ == "__main__":
    main()
