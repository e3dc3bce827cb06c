"""The layers around a child process: which are wished for, which this machine has, and which are active."""

from __future__ import annotations

import base64
import functools
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from toolcrib_core import ToolErrorCategory
from toolcrib_core.wording import either
from toolcrib_runtime.errors import ProcessNotStarted
from toolcrib_runtime.guards.process import launch
from toolcrib_runtime.guards.process.limits import Rlimit
from toolcrib_runtime.guards.process.seccomp import DeniedCalls, call_filter, seccomp_works

_TOOL_PATH = "/usr/bin:/bin:/usr/sbin:/sbin"
_LAUNCHER = str(Path(launch.__file__).resolve())
# What a dynamically linked program needs before its first line runs.
_SYSTEM_FILES = (
    *("/usr", "/lib", "/lib32", "/lib64", "/libx32", "/bin", "/sbin", "/etc/ld.so.cache", "/etc/alternatives"),
    *("/etc/localtime", "/etc/ssl/certs", "/dev/urandom", "/dev/random", "/dev/zero"),
)
_ALL_OF_ITSELF = ("/proc/self",)
# What an interpreter asks about itself. All else there is about the machine: its mounts, networks and namespaces.
_OF_ITSELF = (
    *(f"/proc/self/{name}" for name in ("auxv", "cmdline", "comm", "exe", "fd", "limits", "maps", "smaps_rollup")),
    *("/proc/self/stat", "/proc/self/statm", "/proc/self/status", "/proc/thread-self/children"),
)
_SYSTEM_SINKS = ("/dev/null",)
# The first version of Landlock that knows ports.
_PORTS_ABI = 4


@dataclass(frozen=True, kw_only=True)
class SandboxWishes:
    """The layers that a child is to have beyond its limits.

    `readable` and `writable` list absolute paths and restrict all other file access (Landlock); system libraries, the
    program itself, its working directory and its private directory are always granted. Of what is `listable` only the
    names can be read, and without `write_cwd` the working directory is granted no more than any other. `tcp_ports` are
    the only ports that can be connected to, and none can be listened on (Landlock, beside files only).
    `deny_sockets` and `deny_children` refuse the system calls that make a socket or a process, `deny_metadata` those
    that change the mode, owner, attributes and times of a file by its path, which Landlock does not hold (seccomp).
    With `required` a child that cannot have every wished layer is not started; otherwise it is started with those there
    are, and the report says so.
    """

    no_new_privileges: bool = True
    pid_namespace: bool = False
    isolate_network: bool = False
    restrict_files: bool = False
    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    listable: tuple[str, ...] = ()
    write_cwd: bool = True
    tcp_ports: tuple[int, ...] | None = None
    deny_sockets: bool = False
    deny_children: bool = False
    deny_metadata: bool = False
    deny_machine: bool = False
    required: bool = False


@dataclass(frozen=True, kw_only=True)
class SandboxReport:
    """The layers that are active around a child, as they are and not as they were wished."""

    rlimits: Literal["on", "best-effort", "off"]
    process_tree: Literal["group", "group-and-sweep", "pid-namespace"]
    dies_with_parent: bool
    no_new_privileges: bool
    landlock: str
    network: Literal["isolated", "no sockets", "some ports", "not isolated"]
    children: Literal["denied", "not denied"] = "not denied"

    def to_dict(self) -> dict[str, object]:
        """The report as JSON."""
        return {
            "rlimits": self.rlimits,
            "processTree": self.process_tree,
            "diesWithParent": self.dies_with_parent,
            "noNewPrivileges": self.no_new_privileges,
            "landlock": self.landlock,
            "network": self.network,
            "children": self.children,
        }


@dataclass(frozen=True, kw_only=True)
class Layers:
    """What this machine offers to build a sandbox from."""

    linux: bool
    setpriv: str | None
    prlimit: str | None
    unshare: str | None
    landlock_abi: int
    seccomp: bool = False

    @property
    def by_exec_chain(self) -> bool:
        """Whether limits can be set without starting a Python in between."""
        return self.setpriv is not None and self.prlimit is not None


@dataclass(frozen=True, kw_only=True)
class LaunchPlan:
    """What stands before the program's own argv, and what that makes active."""

    prefix: tuple[str, ...]
    report: SandboxReport


@functools.cache
def available_layers() -> Layers:
    """The layers of this machine, tried out once."""
    found = {tool: shutil.which(tool, path=_TOOL_PATH) for tool in ("setpriv", "prlimit", "unshare")}
    linux = sys.platform.startswith("linux")
    unshare = found["unshare"] if linux and _namespaces_work(found["unshare"]) else None
    return Layers(
        linux=linux,
        setpriv=found["setpriv"],
        prlimit=found["prlimit"],
        unshare=unshare,
        landlock_abi=launch.landlock_abi(),
        seccomp=seccomp_works(),
    )


def plan_launch(
    wishes: SandboxWishes,
    *,
    rlimits: tuple[Rlimit, ...],
    granted: tuple[str, ...],
    own: tuple[str, ...],
    layers: Layers,
    script: bool = False,
) -> LaunchPlan:
    """How to start a program so that every limit holds from its first instruction.

    Limits that the parent sets by `prlimit(2)` after the start came too late in 70 of 100 starts of a short program,
    and a `preexec_fn` is not safe beside threads; so the child passes through programs that restrict themselves. They
    replace each other by exec: no process is added, except the one that `unshare` needs as parent of its namespace.

    Args:
        wishes: The layers that are wished for.
        rlimits: The limits to set.
        granted: Files that the program may read whatever the wishes say.
        own: Directories that the program may write whatever the wishes say.
        layers: What this machine offers.
        script: Whether the program is a Python script, which is run by the Python that restricts itself.

    Raises:
        ProcessNotStarted: A required layer is not available.
    """
    _check_required(wishes, layers)
    namespaces = _unshare_argv(wishes, layers)
    chain = layers.by_exec_chain
    files = wishes.restrict_files and layers.landlock_abi > 0
    calls = layers.seccomp and _denies(wishes)
    prefix: list[str] = []
    if chain:
        prefix += _setpriv_argv(wishes, layers)
    prefix += namespaces
    if chain and rlimits:
        prefix += _prlimit_argv(rlimits, layers)
    if files or calls or script or not chain:
        plan = {
            "rlimits": () if chain else rlimits,
            "diesWithParent": layers.linux,
            "noNewPrivileges": wishes.no_new_privileges and layers.linux,
            "files": _file_rules(wishes, granted, own) if files else None,
            "ports": _ports(wishes, layers),
            "filter": _filter(wishes, programs=script) if calls else None,
            "script": script,
        }
        # Without site-packages, unless it is a script that may want them.
        prefix += [sys.executable, "-I", *(() if script else ("-S",)), _LAUNCHER, json.dumps(plan)]
    return LaunchPlan(prefix=tuple(prefix), report=_report(wishes, rlimits, layers, files=files))


def _report(wishes: SandboxWishes, rlimits: tuple[Rlimit, ...], layers: Layers, *, files: bool) -> SandboxReport:
    namespaced = layers.unshare is not None
    tree: Literal["group", "group-and-sweep", "pid-namespace"] = "group-and-sweep" if layers.linux else "group"
    landlock = "off" if not wishes.restrict_files else f"abi{layers.landlock_abi}" if files else "unavailable"
    return SandboxReport(
        rlimits="off" if not rlimits else "on" if layers.linux else "best-effort",
        process_tree="pid-namespace" if wishes.pid_namespace and namespaced else tree,
        dies_with_parent=layers.linux,
        no_new_privileges=layers.linux and (wishes.no_new_privileges or files or (layers.seccomp and _denies(wishes))),
        landlock=landlock,
        network=_network(wishes, layers),
        children="denied" if wishes.deny_children and layers.seccomp else "not denied",
    )


def _network(wishes: SandboxWishes, layers: Layers) -> Literal["isolated", "no sockets", "some ports", "not isolated"]:
    if wishes.isolate_network and layers.unshare is not None:
        return "isolated"
    if wishes.deny_sockets and layers.seccomp:
        return "no sockets"
    return "some ports" if _ports(wishes, layers) is not None else "not isolated"


def _check_required(wishes: SandboxWishes, layers: Layers) -> None:
    wished = {
        "no_new_privileges": wishes.no_new_privileges and not layers.linux,
        "pid_namespace": wishes.pid_namespace and not layers.unshare,
        "isolate_network": wishes.isolate_network and not layers.unshare,
        "restrict_files": wishes.restrict_files and not layers.landlock_abi,
        "tcp_ports": wishes.tcp_ports is not None and _ports(wishes, layers) is None,
        "deny_sockets": wishes.deny_sockets and not layers.seccomp,
        "deny_children": wishes.deny_children and not layers.seccomp,
        "deny_metadata": wishes.deny_metadata and not layers.seccomp,
        "deny_machine": wishes.deny_machine and not layers.seccomp,
    }
    missing = [f"`{name}`" for name, lacking in wished.items() if lacking]
    if wishes.required and missing:
        raise ProcessNotStarted(
            f"This machine cannot give the sandbox that is required: it lacks {either(missing)}.",
            category=ToolErrorCategory.UNAVAILABLE,
            retryable=False,
            hint="Run it where the kernel has Landlock, seccomp and user namespaces, or do not require the layer.",
        )


def _setpriv_argv(wishes: SandboxWishes, layers: Layers) -> list[str]:
    privileges = ["--no-new-privs"] if wishes.no_new_privileges else []
    return [str(layers.setpriv), "--pdeathsig", "KILL", *privileges, "--"]


def _unshare_argv(wishes: SandboxWishes, layers: Layers) -> list[str]:
    kinds = ["--pid"] * wishes.pid_namespace + ["--net"] * wishes.isolate_network
    if not kinds or layers.unshare is None:
        return []
    return [layers.unshare, "--user", "--map-current-user", *kinds, "--fork", "--kill-child", "--"]


def _prlimit_argv(rlimits: tuple[Rlimit, ...], layers: Layers) -> list[str]:
    return [str(layers.prlimit), *(f"--{each.name}={each.soft}:{each.hard}" for each in rlimits), "--"]


def _ports(wishes: SandboxWishes, layers: Layers) -> tuple[int, ...] | None:
    return wishes.tcp_ports if layers.landlock_abi >= _PORTS_ABI and wishes.restrict_files else None


def _filter(wishes: SandboxWishes, *, programs: bool) -> str:
    denied = DeniedCalls(
        sockets=wishes.deny_sockets,
        children=wishes.deny_children,
        programs=wishes.deny_children and programs,
        metadata=wishes.deny_metadata,
        modes=wishes.deny_metadata and not wishes.writable,
        machine=wishes.deny_machine,
    )
    return base64.b64encode(call_filter(denied)).decode()


def _denies(wishes: SandboxWishes) -> bool:
    return wishes.deny_sockets or wishes.deny_children or wishes.deny_metadata or wishes.deny_machine


def _file_rules(wishes: SandboxWishes, granted: tuple[str, ...], own: tuple[str, ...]) -> dict[str, list[str]]:
    return {
        "read": [*_SYSTEM_FILES, *(_OF_ITSELF if wishes.deny_machine else _ALL_OF_ITSELF), *granted, *wishes.readable],
        "write": [*_SYSTEM_SINKS, *own, *wishes.writable],
        "list": [*wishes.listable],
    }


def _namespaces_work(unshare: str | None) -> bool:
    if unshare is None:
        return False
    # Being installed says little: containers and hardened kernels refuse user namespaces.
    attempt = [unshare, "--user", "--map-current-user", "--pid", "--net", "--fork", "--kill-child", "--", "true"]
    try:
        tried = subprocess.run(attempt, check=False, capture_output=True, timeout=5, env={"PATH": os.defpath})  # noqa: S603  # a fixed argv
    except (OSError, subprocess.TimeoutExpired):
        return False
    return tried.returncode == 0
