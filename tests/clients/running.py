"""One client over one transport, from its start to what its model was shown."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.adapters.http_server import serving
from tests.clients import drivers_npm, drivers_python
from tests.clients.dialogue import ANTHROPIC, CHAT, GEMINI, RESPONSES, TOOLS, Api, Call, Dialogue
from tests.clients.place import Launch, Place
from tests.clients.scenario import Outcome, Scenario
from tests.clients.stage import Stage

_RUN_SECONDS: Final = 240
_SAID_CHARACTERS: Final = 1500

Converse = Callable[[Launch, Path, Scenario], str]
"""Makes the calls of a client that has no model, and returns what the client printed beside results."""


@dataclass(frozen=True)
class Client:
    """A client, and who decides what it calls."""

    launch: Callable[[Place], Launch]
    plays: Api | Converse
    """What its model speaks. Without a model the calls are ours, and what the client prints is what counts."""


def run_client(name: str, stage: Stage, *, order: int) -> tuple[Outcome, str]:
    """What its model was shown in the scenario, in which it deletes this order, and the end of what it printed."""
    client = CLIENTS[name]
    scenario = Scenario(stage.grant, order=order)
    folder, entry = stage.folder / name, stage.entry_for(name)
    if isinstance(client.plays, Api):
        with serving(client.plays.play(scenario.decide)) as model:
            place = Place(folder, entry, model)
            said = _run(client.launch(place), place.work)
    else:
        place = Place(folder, entry)
        said = client.plays(client.launch(place), place.work, scenario)
    return scenario.outcome(), said[-_SAID_CHARACTERS:]


def _run(launch: Launch, work: Path) -> str:
    with _started(launch, work) as process:
        out, errors = process.communicate()
    return f"{errors}\n{out}"


def _converse_by_lines(launch: Launch, work: Path, scenario: Scenario) -> str:
    """With a program that keeps its connection: a line of JSON for each call."""
    with _started(launch, work) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        results: list[str] = []
        with suppress(json.JSONDecodeError, BrokenPipeError):  # it ended, and says why on stderr
            tools = {name: name for name in json.loads(process.stdout.readline())}
            while (call := scenario.decide(Dialogue(tools, tuple(results)))) is not None:
                process.stdin.write(json.dumps(call) + "\n")
                process.stdin.flush()
                results.append(json.loads(process.stdout.readline()))
        _, errors = process.communicate()
    return errors


def _converse_by_commands(listing: tuple[str, ...], arguments: Callable[[Call], list[str]]) -> Converse:
    """With a command line that connects anew for each call."""

    def converse(launch: Launch, work: Path, scenario: Scenario) -> str:
        listed = _run(launch.with_arguments(*listing), work)
        tools = {name: name for name in TOOLS if name in listed}
        results: list[str] = []
        while (call := scenario.decide(Dialogue(tools, tuple(results)))) is not None:
            results.append(_run(launch.with_arguments(*arguments(call)), work))
        return listed

    return converse


def _arguments_of_mcporter(call: Call) -> list[str]:
    return ["call", f"toolcrib.{call.tool}", "--args", json.dumps(call.arguments)]


def _arguments_of_the_inspector(call: Call) -> list[str]:
    pairs = [
        f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in call.arguments.items()
    ]
    named = [word for pair in pairs for word in ("--tool-arg", pair)]
    return ["--method", "tools/call", "--tool-name", call.tool, *named]


@contextmanager
def _started(launch: Launch, work: Path) -> Iterator[subprocess.Popen[str]]:
    """A process and all that it starts; it is ended with the context, or when it takes too long."""
    process = subprocess.Popen(
        launch.line,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=launch.environment,
        cwd=work,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    deadline = threading.Timer(_RUN_SECONDS, _kill, [process])
    deadline.start()
    try:
        yield process
    finally:
        deadline.cancel()
        _kill(process)
        process.communicate()


def _kill(process: subprocess.Popen[str]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


CLIENTS: Final[Mapping[str, Client]] = {
    "claude-code": Client(drivers_npm.claude_code, ANTHROPIC),
    "codex": Client(drivers_npm.codex, RESPONSES),
    "gemini-cli": Client(drivers_npm.gemini_cli, GEMINI),
    "opencode": Client(drivers_npm.opencode, CHAT),
    "pydantic-ai": Client(drivers_python.pydantic_ai, CHAT),
    "openai-agents": Client(drivers_python.openai_agents, RESPONSES),
    "langchain": Client(drivers_python.langchain, CHAT),
    "mcporter": Client(drivers_npm.mcporter, _converse_by_commands(("list", "toolcrib"), _arguments_of_mcporter)),
    "inspector": Client(
        drivers_npm.inspector,
        _converse_by_commands(("--method", "tools/list"), _arguments_of_the_inspector),
    ),
    "fastmcp": Client(drivers_python.fastmcp, _converse_by_lines),
    "mcp-sdk": Client(drivers_python.mcp_sdk, _converse_by_lines),
}
"""Each by the name of the part that it is."""
