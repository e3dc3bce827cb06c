"""What a call of a pack would do: the command or the request, seen before anything is run."""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Literal

from toolcrib_core import JsonValue
from toolcrib_runtime.guards.net import NetGrant
from toolcrib_runtime.guards.process.launch import landlock_abi
from toolcrib_runtime.guards.process.limits import LONG_LIVED, ProcessLimits
from toolcrib_runtime.guards.process.sandbox import Layers, SandboxWishes, available_layers
from toolcrib_runtime.guards.process.seccomp import seccomp_works
from toolcrib_runtime.guards.process.spec import DEFAULT_PATH, ProcessSpec
from toolcrib_toolpacks.capabilities import PathGrant, grants_of, sandbox_for
from toolcrib_toolpacks.commands import Command, Interpreters
from toolcrib_toolpacks.defaults import with_defaults
from toolcrib_toolpacks.environment import looks_secret, pack_environment
from toolcrib_toolpacks.kinds.cli import cli_command
from toolcrib_toolpacks.kinds.node import node_command
from toolcrib_toolpacks.kinds.php import php_command
from toolcrib_toolpacks.kinds.python import python_command
from toolcrib_toolpacks.model import (
    CliExecution,
    ExecutionKind,
    HttpExecution,
    NodeExecution,
    PhpExecution,
    PythonExecution,
    Toolpack,
)
from toolcrib_toolpacks.rendering import Rendering
from toolcrib_toolpacks.shaping import WITH_BODY, Shaped, shape_input, with_query

_CPU_PER_SECOND = 4
_MAX_PROCESSES = 64
# Stands for the value of a variable in a plan, of characters that no URL has to escape.
_MARK = "~~{}~~"
_MARKED = re.compile(r"~~([A-Z_][A-Z0-9_]*)~~")


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """How packs are run, and what is granted to them beyond what they declare."""

    trust: bool = False
    """Whether a pack runs although this machine cannot hold it to its capabilities."""
    granted_env: frozenset[str] = frozenset()
    """Variables that may be passed to the packs that name them; no other variable is."""
    granted_paths: tuple[PathGrant, ...] = ()
    """Files and folders that packs may use beyond what they declare, as data or with the interpreters in them."""
    environment: Mapping[str, str] | None = field(default=None, repr=False)
    """Where passed variables come from: that of this process, unless another is given."""
    network: NetGrant = field(default_factory=NetGrant)
    """What the http kind may reach: public hosts, unless more is granted."""
    interpreters: Interpreters = field(default_factory=Interpreters)
    workers: int = 8
    """How many warm workers there are at most, of all packs together."""
    max_calls_per_worker: int = 1_000
    """After so many calls a worker is replaced."""
    processes: int = 8
    """How many processes run at a time for calls that need one of their own."""
    cache_ttl: float = 600.0
    """For how many seconds the result of a deterministic pack is remembered."""
    grace: float = 0.5
    """The seconds between asking a process to end and killing it."""


@dataclass(frozen=True, kw_only=True)
class RunPlan:
    """What one call would do. Values of variables and of headers are left out; they may be secrets."""

    tool: str
    kind: ExecutionKind
    way: Literal["worker", "process", "request"]
    argv: tuple[str, ...] = ()
    method: str | None = None
    url: str | None = None
    headers: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    ungranted: tuple[str, ...] = ()
    """Those of the variables that a call gets only when they are granted; its plan does without."""
    body: str | None = None
    """What stands on standard input or in the body of the request, where the kind is `cli` or `http`."""
    folder: str
    timeout_ms: int
    max_input_bytes: int
    max_output_bytes: int
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    network: str
    children: str
    cached: bool

    def to_dict(self) -> dict[str, JsonValue]:
        """The plan as JSON."""
        shown: dict[str, JsonValue] = {"tool": self.tool, "kind": self.kind, "way": self.way}
        if self.url is None:
            shown |= {"argv": list(self.argv), "reads": list(self.reads), "writes": list(self.writes)}
        else:
            shown |= {"method": self.method, "url": self.url, "headers": list(self.headers)}
        return {
            **shown,
            "body": self.body,
            "env": list(self.env),
            "ungranted": list(self.ungranted),
            "folder": self.folder,
            "timeoutMs": self.timeout_ms,
            "maxInputBytes": self.max_input_bytes,
            "maxOutputBytes": self.max_output_bytes,
            "network": self.network,
            "children": self.children,
            "cached": self.cached,
        }


class PreparedPack:
    """A pack with its variables and templates, ready to say what its calls are."""

    def __init__(self, pack: Toolpack, settings: RunSettings, *, env: dict[str, str] | None = None) -> None:
        """Fetch the variables, unless they are given, and compile the templates.

        Raises:
            CapabilityRefused: The pack asks for variables that were not granted.
        """
        host = os.environ if settings.environment is None else settings.environment
        self.pack = pack
        self.settings = settings
        self.grants = grants_of(pack, settings.granted_paths)
        fetched = pack_environment(pack, host, granted=settings.granted_env) if env is None else env
        self.env = _with_programs(fetched, self.grants)
        self.rendering = Rendering(pack, self.env)
        self.warm: Command | None = None
        """How a worker is started, where the calls go to one, once that is known."""
        self._listed = tuple(str(pack.beneath(each)) for each in pack.caps.filesystem.read)

    def command(self, arguments: Mapping[str, object]) -> Command:
        """The command of a call.

        Raises:
            TemplateError: A value is missing or may not stand where it would.
            ProcessNotStarted: A file of the pack is missing.
            OutsideRoot: A path of the pack leads out of its root.
        """
        if self.warm is not None:
            return self.warm
        made = self._command(arguments)
        if made.warm:
            # It depends on nothing that differs from call to call.
            self.warm = made
        return made

    def _command(self, arguments: Mapping[str, object]) -> Command:
        pack, execution = self.pack, self.pack.execution
        match execution:
            case PythonExecution():
                return python_command(pack, execution, self.rendering, arguments)
            case NodeExecution():
                return node_command(pack, execution, self.rendering, arguments, self.settings.interpreters)
            case PhpExecution():
                return php_command(pack, execution, self.rendering, arguments, self.settings.interpreters)
            case CliExecution():
                return cli_command(pack, execution, self.rendering, arguments)
        raise TypeError("a request is no command")  # pragma: no cover  # the http kind never asks

    def sandbox(self, command: Command) -> SandboxWishes:
        """The walls around a command; see `sandbox_for`."""
        return sandbox_for(self.pack, command, layers=available_layers(), trust=self.settings.trust, grants=self.grants)

    def spec(self, command: Command) -> ProcessSpec:
        """How the command is started.

        Raises:
            CapabilityRefused: This machine cannot hold the pack to its capabilities.
            ProcessNotStarted: A variable or an item can never be passed to a program.
        """
        return ProcessSpec(
            argv=command.argv,
            script=command.script,
            cwd=str(self.pack.folder.resolve()),
            env=self.env,
            limits=self._limits(command),
            sandbox=self.sandbox(command),
            label=self.pack.tool,
        )

    def signature(self, command_files: tuple[Path, ...]) -> str:
        """What tells the pack's code and the single files that it reads from another state of them."""
        return " ".join([self.pack.content_hash, *map(_state, command_files), *map(_state, self._listed)])

    def _limits(self, command: Command) -> ProcessLimits:
        if not command.warm:
            seconds = math.ceil(self.pack.timeout_ms / 1000)
            return ProcessLimits(cpu_seconds=_CPU_PER_SECOND * seconds + 1, processes=_MAX_PROCESSES)
        return ProcessLimits(cpu_seconds=None, processes=_MAX_PROCESSES) if self.pack.caps.subprocess else LONG_LIVED


def plan_of(pack: Toolpack, arguments: Mapping[str, JsonValue], *, settings: RunSettings | None = None) -> RunPlan:
    """What a call would do, without running anything; the arguments are taken as valid.

    The value of no variable is needed or shown: in its place stands its name, as `$API_TOKEN`.

    Raises:
        ToolError: The call would be refused before its start: a template, a capability, a missing file.
    """
    chosen = settings or RunSettings()
    arguments = with_defaults(pack.input_schema, arguments)
    passed = {name: _MARK.format(name) for name in pack.env.passthrough}
    assigned = {name: _MARK.format(name) if looks_secret(name) else text for name, text in pack.env.assigned.items()}
    prepared = PreparedPack(pack, chosen, env=passed | assigned)
    make = partial(
        RunPlan,
        tool=pack.definition.id,
        kind=pack.execution.kind,
        env=tuple(sorted(prepared.env)),
        ungranted=tuple(sorted(each for each in passed if each not in chosen.granted_env)),
        folder=str(pack.folder),
        timeout_ms=pack.timeout_ms,
        max_input_bytes=pack.limits.max_input_bytes,
        max_output_bytes=pack.limits.max_output_bytes,
        cached=is_cached(pack),
    )
    shaped = Shaped()
    if isinstance(pack.execution, CliExecution | HttpExecution):
        shaped = shape_input(pack, pack.execution, prepared.rendering, arguments)
    if not (isinstance(pack.execution, HttpExecution) and pack.execution.method not in WITH_BODY):
        make = partial(make, body=_unmarked(shaped.content.decode()) or None)
    if isinstance(pack.execution, HttpExecution):
        return make(
            way="request",
            method=pack.execution.method,
            url=_unmarked(with_query(prepared.rendering.text(("execution", "url"), arguments), shaped.query)),
            headers=tuple(sorted(pack.execution.headers)),
            network="checked addresses",
            children="none",
        )
    command = prepared.command(arguments)
    wishes = sandbox_for(pack, command, layers=_known_layers(), trust=chosen.trust, grants=prepared.grants)
    ports = ", ".join(map(str, wishes.tcp_ports or ()))
    return make(
        way="worker" if command.warm else "process",
        argv=tuple(map(_unmarked, command.argv)),
        reads=wishes.readable,
        writes=wishes.writable,
        network="no sockets" if wishes.deny_sockets else f"ports {ports}",
        children="denied" if wishes.deny_children else "allowed",
    )


def _unmarked(text: str) -> str:
    return _MARKED.sub(r"$\1", text)


@cache
def _known_layers() -> Layers:
    """The layers of this machine, as far as the kernel tells: to try out namespaces, a process would be started."""
    return Layers(
        linux=sys.platform.startswith("linux"),
        setpriv=None,
        prlimit=None,
        unshare=None,
        landlock_abi=landlock_abi(),
        seccomp=seccomp_works(),
    )


def is_cached(pack: Toolpack) -> bool:
    """Whether results are remembered: the pack is deterministic, and does not say that its calls change something."""
    risk = pack.definition.risk
    return pack.deterministic and risk.effects != "write" and not risk.destructive


def _with_programs(env: dict[str, str], grants: tuple[PathGrant, ...]) -> dict[str, str]:
    """The variables, with the programs of granted folders before those of the system."""
    folders = [folder for each in grants for folder in each.programs]
    return {**env, "PATH": os.pathsep.join([*folders, env.get("PATH", DEFAULT_PATH)])} if folders else env


def _state(path: Path | str) -> str:
    try:
        found = os.stat(path)  # noqa: PTH116  # on the way of every call, and `Path` takes as long again
    except OSError:
        return "missing"
    return f"{found.st_ino}-{found.st_size}-{found.st_mtime_ns}"
