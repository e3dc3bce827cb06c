"""A served gateway under mixed load for a long while: it holds no more at the end than after its warm-up.

    uv run python -m tests.chaos.soak [--minutes 30] [--clients 64] [--seed 7] [--json]

One `toolcrib serve` over HTTP, eight servers behind it (good, slow, noisy, crashing, hanging), clients of both eras who
come and go. Every answer carries the nonce of its call. One server is killed now and then. Before and after, everybody
rests, and what the process holds is read: memory, descriptors, threads, processes below it, and by `toolcrib status`
the tasks of its event loop and its sessions.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import random
import re
import signal
import sys
import tempfile
import time
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from checks import canary
from tests.chaos.soak_load import MODES, VICTIM, Load
from tests.chaos.soak_samples import Sample, grown, is_alive, sample_at_rest, sample_within
from tests.reference.processes import serve_command

_UPSTREAM: Final = Path(__file__).with_name("soak_upstream.py")
_URL: Final = re.compile(r"\bat (http://\S+)")
_POLICY: Final = 'version = 1\ndefault = "allow"\n'
_START_SECONDS: Final = 120
_STOP_SECONDS: Final = 60
_WARM_UP: Final = 0.25
_KILL_EVERY: Final = 5.0
# A busy machine may take a while to end what is under way; what leaks does not end at all.
_PATIENCE: Final = 60.0
_SHOWN_PROBLEMS: Final = 10


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """What came of it."""

    seconds: float
    clients: int
    outcomes: dict[str, int]
    kills: int
    started: int
    """Processes: the gateway, and every life of its servers."""
    before: Sample
    after: Sample
    problems: list[str]

    @property
    def line(self) -> str:
        """All of it in one line."""
        answered, swapped = self.outcomes.get("call answered", 0), self.outcomes.get("call swapped", 0)
        then, now = self.before, self.after
        held = ", ".join(
            (
                f"{then.memory:.0f} → {now.memory:.0f} MiB",
                f"{then.descriptors} → {now.descriptors} descriptors",
                f"{then.threads} → {now.threads} threads",
                f"{then.processes} → {now.processes} processes",
                f"{then.tasks} → {now.tasks} tasks",
                f"{then.sessions} → {now.sessions} sessions",
            )
        )
        asked = f"{sum(self.outcomes.values()):,} requests, {answered:,} calls answered, {swapped} swapped"
        size = f"{self.seconds / 60:.1f} minutes, {self.clients} clients, {len(MODES)} servers, {self.kills} killed"
        return f"soak: {size} · {asked} · {held} · {len(self.problems)} problems"


async def soak(folder: Path, *, seconds: float, clients: int, seed: int, secret: str) -> Judgement:
    """Serve, load, rest, look, load, rest, look, and end it."""
    journal = folder / "started"
    config = write_soak_config(folder, journal)
    command = serve_command(config, "gateway", "--http", "127.0.0.1:0")
    with (folder / "serve.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *command.line,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={**os.environ, **command.environment},
            start_new_session=True,
        )
    problems: list[str] = []
    try:
        load = Load(await _url_in(folder / "serve.log", process), clients=clients, seed=seed, canary=secret)
        before, after, kills = await _loaded(load, process.pid, config, journal, seconds=seconds, seed=seed)
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(_STOP_SECONDS):
            code = await process.wait()
        problems += [] if code == 0 else [f"the gateway ended with {code}"]
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    lives = [int(line) for line in journal.read_text().split()]
    problems += load.problems + grown(before, after)
    problems += [f"{after.processes} processes at the end"] if after.processes > 1 + len(MODES) else []
    problems += [f"a server is still alive: {pid}" for pid in lives if is_alive(pid, _UPSTREAM.name)]
    problems += [f"the canary is in {name}" for name in canary.search(folder, secret).hits]
    return Judgement(
        seconds=seconds,
        clients=clients,
        outcomes=dict(sorted(load.outcomes.items())),
        kills=kills,
        started=1 + len(lives),
        before=before,
        after=after,
        problems=problems,
    )


def write_soak_config(folder: Path, journal: Path) -> Path:
    """The eight servers, each of which is given the planted secret, and a policy that lets everything through."""
    entries = {
        name: {
            "command": sys.executable,
            "args": ["-I", "-S", str(_UPSTREAM), str(journal), name, *arguments],
            "env": {"SOAK_SECRET": f"${{{canary.VARIABLE}}}"},
        }
        for name, arguments in MODES.items()
    }
    often = {"initialDelay": 0.05, "maxDelay": 0.5, "maxFailures": 1_000}
    servers: dict[str, Any] = {name: {"restart": often} for name in MODES}
    servers["hanging"]["timeout"] = 1
    (folder / "toolcrib.policy.toml").write_text(_POLICY, "utf-8")
    config = folder / "mcp.json"
    config.write_text(json.dumps({"mcpServers": entries, "toolcrib": {"servers": servers}}), "utf-8")
    return config


async def _loaded(
    load: Load, pid: int, config: Path, journal: Path, *, seconds: float, seed: int
) -> tuple[Sample, Sample, int]:
    async with asyncio.TaskGroup() as group:
        clients = group.create_task(load.run())
        kills = await _kill_for(seconds * _WARM_UP, journal, seed)
        await load.rest()
        before = await sample_at_rest(pid, config)
        load.go_on()
        kills += await _kill_for(seconds * (1 - _WARM_UP), journal, seed + 1)
        await load.rest()
        after = await sample_within(before, pid, config, patience=_PATIENCE)
        load.stop()
        await clients
    return before, after, kills


async def _kill_for(seconds: float, journal: Path, seed: int) -> int:
    """Kill a life of one server every few seconds, as long as the load is on."""
    chance, kills = random.Random(seed), 0
    ends = time.monotonic() + seconds
    while (left := ends - time.monotonic()) > 0:
        await asyncio.sleep(min(left, _KILL_EVERY * (0.5 + chance.random())))
        for pid in _lives_of_the_victim(journal):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                kills += 1
    return kills


def _lives_of_the_victim(journal: Path) -> list[int]:
    lives = [int(line) for line in journal.read_text().split()] if journal.is_file() else []
    return [pid for pid in lives if is_alive(pid, _UPSTREAM.name) and is_alive(pid, VICTIM)]


async def _url_in(log: Path, process: asyncio.subprocess.Process) -> str:
    async with asyncio.timeout(_START_SECONDS):
        while not (found := _URL.search(_said(log))):
            if process.returncode is not None:
                raise RuntimeError(f"the gateway did not start: {_said(log)[-1000:]}")
            await asyncio.sleep(0.1)
    return found[1].rstrip(".")


def _said(log: Path) -> str:
    return log.read_text("utf-8", errors="replace")


def main() -> int:
    """Soak, judge and print; 1 when anything is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--folder", type=Path, help="where everything is written; it stays there")
    parser.add_argument("--json", action="store_true", help="print one object in place of a line")
    options = parser.parse_args()
    # Clients leave while they are being answered, of which the SDK's client logs a traceback each time.
    logging.getLogger("mcp.client.streamable_http").setLevel(logging.CRITICAL)
    # Also where the configuration is read to ask for the status.
    secret = os.environ.setdefault(canary.VARIABLE, canary.new_canary())
    with ExitStack() as holding:
        folder = options.folder or Path(holding.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        seconds = options.minutes * 60
        judged = asyncio.run(soak(folder, seconds=seconds, clients=options.clients, seed=options.seed, secret=secret))
    if options.json:
        sys.stdout.write(json.dumps({**asdict(judged), "line": judged.line}) + "\n")
    else:
        told = [*judged.problems[:_SHOWN_PROBLEMS], judged.line]
        sys.stdout.write("\n".join(told) + "\n")
    return 1 if judged.problems else 0


if __name__ == "__main__":
    sys.exit(main())
