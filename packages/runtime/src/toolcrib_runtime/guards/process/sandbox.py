"""The layers around a child process: which are wished for, which this machine has, and which are active."""

from __future__ import annotations

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

_TOOL_PATH = "/usr/bin:/bin:/usr/sbin:/sbin"
_LAUNCHER = str(Path(launch.__file__).resolve())
# What a dynamically linked program needs before its first line runs.
_SYSTEM_FILES = (
    *("/usr", "/lib", "/lib32", "/lib64", "/libx32", "/bin", "/sbin", "/etc/ld.so.cache", "/etc/alternatives"),
    *("/etc/localtime", "/etc/ssl/certs", "/dev/urandom", "/dev/random", "/dev/zero", "/proc/self"),
)
_SYSTEM_SINKS = ("/dev/null",)


@dataclass(frozen=True, kw_only=True)
class SandboxWishes:
    """The layers that a child is to have beyond its limits.

    `readable` and `writable` list absolute paths and restrict all other file access (Landlock); system libraries, the
    program itself, its working directory and its private directory are always granted. With `required` a child that
    cannot have every wished layer is not started; otherwise it is started with those there are, and the report says so.
    """

    no_new_privileges: bool = True
    pid_namespace: bool = False
    isolate_network: bool = False
    restrict_files: bool = False
    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    required: bool = False


@dataclass(frozen=True, kw_only=True)
class SandboxReport:
    """The layers that are active around a child, as they are and not as they were wished."""

    rlimits: Literal["on", "best-effort", "off"]
    process_tree: Literal["group", "group-and-sweep", "pid-namespace"]
    dies_with_parent: bool
    no_new_privileges: bool
    landlock: str
    network: Literal["isolated", "not isolated"]

    def to_dict(self) -> dict[str, object]:
        """The report as JSON."""
        return {
            "rlimits": self.rlimits,
            "processTree": self.process_tree,
            "diesWithParent": self.dies_with_parent,
            "noNewPrivileges": self.no_new_privileges,
            "landlock": self.landlock,
            "network": self.network,
        }


@dataclass(frozen=True, kw_only=True)
class Layers:
    """What this machine offers to build a sandbox from."""

    linux: bool
    setpriv: str | None
    prlimit: str | None
    unshare: str | None
    landlock_abi: int

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
    )


def plan_launch(
    wishes: SandboxWishes,
    *,
    rlimits: tuple[Rlimit, ...],
    granted: tuple[str, ...],
    own: tuple[str, ...],
    layers: Layers,
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

    Raises:
        ProcessNotStarted: A required layer is not available.
    """
    _check_required(wishes, layers)
    namespaces = _unshare_argv(wishes, layers)
    chain = layers.by_exec_chain
    files = wishes.restrict_files and layers.landlock_abi > 0
    prefix: list[str] = []
    if chain:
        prefix += _setpriv_argv(wishes, layers)
    prefix += namespaces
    if chain and rlimits:
        prefix += _prlimit_argv(rlimits, layers)
    if files or not chain:
        prefix += _launcher_argv(
            rlimits=() if chain else rlimits,
            dies_with_parent=layers.linux,
            no_new_privileges=wishes.no_new_privileges and layers.linux,
            files=_file_rules(wishes, granted, own) if files else None,
        )
    return LaunchPlan(prefix=tuple(prefix), report=_report(wishes, rlimits, layers, files=files))


def _report(wishes: SandboxWishes, rlimits: tuple[Rlimit, ...], layers: Layers, *, files: bool) -> SandboxReport:
    namespaced = layers.unshare is not None
    tree: Literal["group", "group-and-sweep", "pid-namespace"] = "group-and-sweep" if layers.linux else "group"
    landlock = "off" if not wishes.restrict_files else f"abi{layers.landlock_abi}" if files else "unavailable"
    return SandboxReport(
        rlimits="off" if not rlimits else "on" if layers.linux else "best-effort",
        process_tree="pid-namespace" if wishes.pid_namespace and namespaced else tree,
        dies_with_parent=layers.linux,
        no_new_privileges=layers.linux and (wishes.no_new_privileges or files),
        landlock=landlock,
        network="isolated" if wishes.isolate_network and namespaced else "not isolated",
    )


def _check_required(wishes: SandboxWishes, layers: Layers) -> None:
    wished = {
        "no_new_privileges": wishes.no_new_privileges and not layers.linux,
        "pid_namespace": wishes.pid_namespace and not layers.unshare,
        "isolate_network": wishes.isolate_network and not layers.unshare,
        "restrict_files": wishes.restrict_files and not layers.landlock_abi,
    }
    missing = [f"`{name}`" for name, lacking in wished.items() if lacking]
    if wishes.required and missing:
        raise ProcessNotStarted(
            f"This machine cannot give the sandbox that is required: it lacks {either(missing)}.",
            category=ToolErrorCategory.UNAVAILABLE,
            retryable=False,
            hint="Run it where the kernel has Landlock and user namespaces, or do not require the layer.",
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


def _launcher_argv(
    *,
    rlimits: tuple[Rlimit, ...],
    dies_with_parent: bool,
    no_new_privileges: bool,
    files: dict[str, list[str]] | None,
) -> list[str]:
    plan = {
        "rlimits": rlimits,
        "diesWithParent": dies_with_parent,
        "noNewPrivileges": no_new_privileges,
        "files": files,
    }
    return [sys.executable, "-I", "-S", _LAUNCHER, json.dumps(plan)]


def _file_rules(wishes: SandboxWishes, granted: tuple[str, ...], own: tuple[str, ...]) -> dict[str, list[str]]:
    return {
        "read": [*_SYSTEM_FILES, *granted, *wishes.readable],
        "write": [*_SYSTEM_SINKS, *own, *wishes.writable],
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
