"""How soon the gateway answers, how long the proxy takes to list all tools, and what an idle server costs it."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from process_trees import cpu_seconds_of, resident_bytes
from proxy_paths import OURS
from ratios import Row

SLOWEST = 3.0
"""Seconds that the slowest server takes before it answers; the others take less, evenly spread."""

_CLIENT = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}

# No SDK: 40 of them would keep two cores busy for many seconds, and the start of Python would be what is measured.
_SERVER = """
import json, sys, time
time.sleep(float(sys.argv[2]))
tool = {"name": "tool_" + sys.argv[1], "description": "One tool.", "inputSchema": {"type": "object"}}
for line in sys.stdin:
    asked = json.loads(line)
    itself = {"name": "s", "version": "1"}
    answers = {
        "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": itself},
        "tools/list": {"tools": [tool]},
    }
    if "id" in asked:
        found = answers.get(asked["method"])
        reply = {"result": found} if found else {"error": {"code": -32601, "message": "Method not found"}}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **reply}), flush=True)
"""


def start_rows(folder: Path, *, sizes: tuple[int, ...], rounds: int) -> list[Row]:
    """One row for each number of servers, against the slowest of them alone; and the memory of each further server."""
    alone = statistics.median(_seconds_of_one() for _ in range(rounds))
    memory: dict[int, int] = {}
    rows = []
    for size in sizes:
        seconds = []
        for number in range(rounds):
            taken, memory[size] = _started(folder / f"start-{size}-{number}", size)
            seconds.append(taken)
        rows.append(
            Row(
                id="P14",
                what=f"all tools of {size} servers listed, the slowest of which takes {SLOWEST:g} s",
                ours=statistics.median(seconds) / alone,
                unit="x the slowest",
                target="<= 1.5",
            )
        )
    first, last = min(sizes), max(sizes)
    each = (memory[last] - memory[first]) / (last - first) / 1024
    rows.append(Row(id="P14", what="memory of the proxy for each idle server", ours=each, unit="KiB"))
    return rows


def answer_rows(folder: Path, *, rounds: int) -> list[Row]:
    """The CPU time of a fresh process until it has answered `initialize` and `tools/list`, whatever its servers do.

    The three configurations take turns, and each row is the median of what one round gives.
    """
    kinds: dict[str, dict[str, Any]] = {
        "no server": {"off": {"command": "off", "disabled": True}},
        "a hanging server": {"hanging": {"command": "sleep", "args": ["1000"]}},
        "40 servers": {
            f"s{number}": {"command": sys.executable, "args": _arguments(number, 0)} for number in range(40)
        },
    }
    first: dict[str, list[float]] = {kind: [] for kind in kinds}
    later = []
    for number in range(rounds):
        for kind, servers in kinds.items():
            place = folder / f"answer-{number}-{kind.replace(' ', '-')}"
            place.mkdir()
            file = place / "mcp.json"
            file.write_text(json.dumps({"mcpServers": servers}))
            command = [*OURS, "--config", str(file), "--state-dir", str(place)]
            first[kind].append(_cpu_to_answer(command))
            if kind == "no server":
                _cpu_to_answer(command, remembered_in=place)
                later.append(_cpu_to_answer(command))
    base = first["no server"]
    rows = [
        Row(
            id="P14",
            what=f"`initialize` and `tools/list` answered, {kind}",
            ours=statistics.median(mine / other for mine, other in zip(first[kind], base, strict=True)),
            unit="x no server",
            target="<= 1.2",
        )
        for kind in kinds
        if kind != "no server"
    ]
    every = [("first start", [seconds for each in first.values() for seconds in each]), ("later start", later)]
    rows.extend(
        Row(
            id="P14",
            what=f"CPU until `initialize` and `tools/list` are answered, {when}",
            ours=statistics.median(figures),
            unit="s",
            target="<= 0.6",
        )
        for when, figures in every
    )
    return rows


def _cpu_to_answer(command: list[str], *, remembered_in: Path | None = None) -> float:
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as gateway:
        ask = _asker(gateway)
        ask("initialize", _CLIENT)
        ask("tools/list", {})
        taken = cpu_seconds_of([gateway.pid])
        while remembered_in is not None and not list(remembered_in.glob("*/greeting.json")):
            time.sleep(0.05)
        if gateway.stdin is not None:
            gateway.stdin.close()
        gateway.wait(60)
    return taken


def _started(folder: Path, size: int) -> tuple[float, int]:
    folder.mkdir()
    delays = [SLOWEST * (number + 1) / size for number in range(size)]
    servers = {
        f"s{number}": {"command": sys.executable, "args": _arguments(number, delay)}
        for number, delay in enumerate(delays)
    }
    file = folder / "mcp.json"
    file.write_text(json.dumps({"mcpServers": servers}))
    command = [*OURS, "--mode", "proxy", "--config", str(file), "--state-dir", str(folder)]
    begun = time.perf_counter()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as proxy:
        ask = _asker(proxy)
        ask("initialize", _CLIENT)
        while len(ask("tools/list", {})["tools"]) < size + 2:  # its own two tools
            time.sleep(0.02)
        taken = time.perf_counter() - begun
        memory = resident_bytes([proxy.pid])
        if proxy.stdin is not None:
            proxy.stdin.close()
        proxy.wait(20)
    return taken, memory


def _seconds_of_one() -> float:
    begun = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, *_arguments(0, SLOWEST)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as server:
        ask = _asker(server)
        ask("initialize", {})
        ask("tools/list", {})
        if server.stdin is not None:
            server.stdin.close()
    return time.perf_counter() - begun


def _arguments(number: int, delay: float) -> list[str]:
    return ["-I", "-S", "-c", _SERVER, str(number), str(delay)]


def _asker(process: subprocess.Popen[bytes]) -> Callable[[str, dict[str, Any]], dict[str, Any]]:
    if process.stdin is None or process.stdout is None:
        raise RuntimeError("the process has no pipes")
    writing, reading = process.stdin, process.stdout
    ids = iter(range(1, 1_000_000))

    def ask(method: str, params: dict[str, Any]) -> dict[str, Any]:
        number = next(ids)
        writing.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n")
        writing.flush()
        while True:
            answer = json.loads(reading.readline())
            if answer.get("id") == number:
                result: dict[str, Any] = answer["result"]
                return result

    return ask
