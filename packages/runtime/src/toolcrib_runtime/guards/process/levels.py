"""What this machine can enforce around a child process, said plainly: for people who ask before they trust."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from toolcrib_runtime.guards.process.sandbox import Layers, available_layers

_PORTS_ABI = 4


@dataclass(frozen=True, kw_only=True)
class SandboxLevel:
    """One thing that a sandbox is to hold: by what it is held here, or that it is not."""

    name: Literal["limits", "process tree", "privileges", "files", "ports", "sockets", "children", "namespaces"]
    enforced: bool
    by: str
    """What holds it, or what would be needed."""

    def to_dict(self) -> dict[str, object]:
        """The level as JSON."""
        return {"name": self.name, "enforced": self.enforced, "by": self.by}


def sandbox_levels(layers: Layers | None = None) -> tuple[SandboxLevel, ...]:
    """Every level, as this machine gives it; other layers may be given to see what they would come to."""
    here = available_layers() if layers is None else layers
    abi, linux = here.landlock_abi, here.linux
    return (
        SandboxLevel(name="limits", enforced=linux, by="resource limits" if linux else "resource limits, best effort"),
        SandboxLevel(
            name="process tree",
            enforced=linux,
            by="process group, session and a search of /proc" if linux else "process group alone",
        ),
        _level("privileges", linux, "no_new_privs", "Linux"),
        _level("files", abi > 0, f"Landlock, version {abi}", "Linux 5.13 or later with Landlock switched on"),
        _level("ports", abi >= _PORTS_ABI, f"Landlock, version {abi}", "Linux 6.7 or later with Landlock switched on"),
        _level("sockets", here.seccomp, "seccomp", "Linux on x86-64 or ARM64 with seccomp"),
        _level("children", here.seccomp, "seccomp", "Linux on x86-64 or ARM64 with seccomp"),
        _level("namespaces", here.unshare is not None, "user namespaces", "`unshare`, and user namespaces permitted"),
    )


def _level(
    name: Literal["privileges", "files", "ports", "sockets", "children", "namespaces"],
    enforced: bool,  # noqa: FBT001  # the question that every line above answers
    by: str,
    needed: str,
) -> SandboxLevel:
    return SandboxLevel(name=name, enforced=enforced, by=by if enforced else f"nothing here; it needs {needed}")
