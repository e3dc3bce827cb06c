"""Toolpacks against their floors: a warm call, many at once, memory, nothing left after faults, and loading.

uv run python bench/toolpacks.py [--quick] [--json]
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import random
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from process_trees import resident_bytes, tree_of
from ratios import Row, parser, report
from runtime_workers import compared, on_one_core

from toolcrib_runtime import Toolbox, ToolCall
from toolcrib_toolpacks import RunSettings, ToolpackLoader, open_toolbox

_SEED = 20_261_118
_WORKERS = 8
_MIXED, _MIXED_QUICK = 2_000, 200
_FAULTY = 0.2
_TEXT = '{"customer": "c-20418", "note": "Please ring twice."}'
_STRINGS = {
    "type": "object",
    "properties": {"customer": {"type": "string"}, "note": {"type": "string"}},
    "required": ["customer", "note"],
}
_ANSWER = {"ok": True}
_FILES = {
    "answer.py": "def run(customer, note):\n    return {'ok': True}\n",
    "answer.mjs": "export default () => ({ ok: true });\n",
    "answer_script.py": "import json, sys\njson.load(sys.stdin)\nprint('{\"ok\": true}')\n",
    "faulty.py": (
        "import os, time\n"
        "def run(how):\n"
        "    if how == 'crash': os._exit(3)\n"
        "    if how == 'raise': raise ValueError(how)\n"
        "    if how == 'hang': time.sleep(600)\n"
        "    if how == 'loud': return 'x' * 10_000_000\n"
        "    return {'ok': True}\n"
    ),
}
_HOW = {"type": "object", "properties": {"how": {"type": "string"}}, "required": ["how"]}
_SHELL = """
case $(cat) in
*crash*) kill -9 $$ ;; *raise*) exit 3 ;; *hang*) sleep 600 ;; *loud*) yes ;; *) echo '{"ok": true}' ;;
esac
"""
_FAULTS = ("crash", "raise", "hang", "loud")


def write_packs(folder: Path) -> None:
    """The packs of this bench."""
    for name, text in _FILES.items():
        (folder / name).write_text(text)
    _write(folder, "warm", {"kind": "python", "module": "answer:run"}, _STRINGS)
    _write(folder, "node", {"kind": "node", "module": "answer.mjs"}, _STRINGS, subprocess=True)
    _write(folder, "spawn", {"kind": "python", "script": "answer_script.py"}, _STRINGS)
    _write(folder, "faulty", {"kind": "python", "module": "faulty:run"}, _HOW, timeout=1500)
    _write(folder, "shell", {"kind": "cli", "cmd": ["/bin/sh", "-c", _SHELL]}, _HOW, timeout=1500, subprocess=True)


def _write(
    folder: Path, name: str, execution: Any, schema: Any, *, timeout: int = 30_000, subprocess: bool = False
) -> None:
    document = {
        "id": f"bench.{name}",
        "version": "1.0.0",
        "deterministic": False,
        "timeoutMs": timeout,
        "limits": {"maxInputBytes": 10_000, "maxOutputBytes": 10_000},
        "risk": {"effects": "read", "idempotent": True},
        "inputSchema": schema,
        "outputSchema": {"type": "object"},
        "caps": {"subprocess": subprocess},
        "execution": execution,
    }
    (folder / f"{name}.tool.yaml").write_text(json.dumps(document))


def _asking(toolbox: Toolbox, name: str) -> Callable[[], Awaitable[None]]:
    async def call() -> None:
        if (await toolbox.execute(ToolCall(f"bench:{name}", _TEXT))).unwrap() != _ANSWER:
            raise SystemExit("the pack did not answer")

    return call


async def warm_calls(toolbox: Toolbox, rounds: int) -> list[Row]:
    """P13: a call of a warm worker against a Python process that does nothing, and against a pack that is spawned."""
    unit = "x cheaper"
    with on_one_core():
        python = await compared(_asking(toolbox, "warm"), rounds)
        node = await compared(_asking(toolbox, "node"), rounds)
    spawned = await _against_spawn(toolbox, rounds)
    return [
        Row(
            id="P13",
            what="a warm Python pack's call: CPU",
            ours=python.cpu,
            unit=unit,
            target=">= 50",
            note=python.note,
        ),
        Row(id="P13", what="a warm Python pack's call: wall time", ours=python.wall, unit=unit),
        Row(id="P13", what="a warm Node pack's call: CPU", ours=node.cpu, unit=unit, target=">= 50", note=node.note),
        Row(id="-", what="a warm call against a pack that is spawned: wall time", ours=spawned, unit=unit),
    ]


async def _against_spawn(toolbox: Toolbox, rounds: int) -> float:
    warm, spawn = _asking(toolbox, "warm"), _asking(toolbox, "spawn")
    ratios = []
    for _ in range(rounds):
        one, other = await _seconds(warm, 50), await _seconds(spawn, 3)
        ratios.append(other / one)
    return statistics.median(ratios)


async def _seconds(call: Callable[[], Awaitable[None]], times: int) -> float:
    begun = time.perf_counter()
    for _ in range(times):
        await call()
    return (time.perf_counter() - begun) / times


async def many_at_once(toolbox: Toolbox, calls: int) -> list[Row]:
    """Calls a second with eight workers, and what each of the workers holds."""
    every = [ToolCall("bench:warm", _TEXT)] * calls
    await toolbox.execute(every[: 20 * _WORKERS], max_parallel=_WORKERS)
    begun = time.perf_counter()
    results = await toolbox.execute(every, max_parallel=2 * _WORKERS)
    seconds = time.perf_counter() - begun
    if not all(each.value == _ANSWER for each in results):
        raise SystemExit("a call was lost")
    children = _python_workers()
    own = [_private_bytes(pid) for pid in children]
    resident = resident_bytes(children) / max(1, len(children))
    note = (
        f"{len(children)} workers on {os.cpu_count()} cores; {resident / 2**20:.1f} MiB resident, shared pages included"
    )
    return [
        Row(id="-", what=f"warm calls with {_WORKERS} workers", ours=calls / seconds, unit="calls/s", note=note),
        Row(id="-", what="memory of a warm Python worker", ours=statistics.median(own) / 2**20, unit="MiB of its own"),
    ]


def _python_workers() -> list[int]:
    return [pid for pid in tree_of(os.getpid()) if b"python_child" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def _descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def _private_bytes(pid: int) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Private_"))


async def after_faults(folder: Path, calls: int) -> list[Row]:
    """Mixed calls of which a fifth crash, raise, hang or say too much; then nothing is left of any of them."""
    chosen = random.Random(_SEED)
    before = set(tree_of(os.getpid()))
    descriptors = _descriptors()
    every = []
    for _ in range(calls):
        # A call that hangs holds its place for its whole time, so there are few of them.
        fault = chosen.choices(_FAULTS, weights=(10, 10, 1, 10))[0] if chosen.random() < _FAULTY else "no"
        every.append(ToolCall(f"bench:{chosen.choice(('faulty', 'faulty', 'shell'))}", {"how": fault}))
    async with open_toolbox(ToolpackLoader().load_dir(folder), settings=RunSettings(workers=_WORKERS)) as toolbox:
        results = await toolbox.execute(every, max_parallel=2 * _WORKERS)
    wrong = sum((call.arguments["how"] == "no") != result.ok for call, result in zip(every, results, strict=True))
    left = len(set(tree_of(os.getpid())) - before)
    opened = _descriptors() - descriptors
    faults = sum(not each.ok for each in results)
    what = f"after {calls:,} mixed calls, {faults:,} of them faulty"
    return [
        Row(id="-", what=f"processes left {what}", ours=left, unit="processes", target="== 0"),
        Row(id="-", what=f"descriptors left {what}", ours=max(0, opened), unit="descriptors", target="== 0"),
        Row(id="-", what=f"calls wrongly answered of {calls:,}", ours=wrong, unit="calls", target="== 0"),
    ]


async def measured(*, quick: bool) -> list[Row]:
    """Every row."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        write_packs(folder)
        packs = ToolpackLoader().load_dir(folder)
        settings = RunSettings(workers=_WORKERS, max_calls_per_worker=1_000_000)
        async with open_toolbox(packs, settings=settings) as toolbox:
            rows = await warm_calls(toolbox, 3 if quick else 7)
            rows += await many_at_once(toolbox, 2_000 if quick else 10_000)
        return rows + await after_faults(folder, _MIXED_QUICK if quick else _MIXED)


def main() -> None:
    """Run every part and print it."""
    chosen = parser((__doc__ or "").splitlines()[0]).parse_args()
    rows = asyncio.run(measured(quick=chosen.quick))
    if importlib.util.find_spec("toolpacks_loading") is not None:
        loading = importlib.import_module("toolpacks_loading")
        rows += loading.rows(quick=chosen.quick)
    report("toolpacks", rows, as_json=chosen.json)


if __name__ == "__main__":
    main()
