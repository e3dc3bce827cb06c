"""Programs without a shell: an environment from nothing, limits, capped output, and the whole tree killed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib_core.faces import lazy_face

if TYPE_CHECKING:
    from toolcrib_runtime.guards.process.child import ChildProcess, OutputCaps
    from toolcrib_runtime.guards.process.gate import ProcessGate
    from toolcrib_runtime.guards.process.levels import SandboxLevel, sandbox_levels
    from toolcrib_runtime.guards.process.limits import LONG_LIVED, ProcessLimits
    from toolcrib_runtime.guards.process.run import ProcessResult, run_process
    from toolcrib_runtime.guards.process.sandbox import SandboxReport, SandboxWishes
    from toolcrib_runtime.guards.process.spec import ProcessSpec

_HOMES = {
    "LONG_LIVED": "limits",
    "ChildProcess": "child",
    "OutputCaps": "child",
    "ProcessGate": "gate",
    "ProcessLimits": "limits",
    "ProcessResult": "run",
    "ProcessSpec": "spec",
    "SandboxLevel": "levels",
    "SandboxReport": "sandbox",
    "SandboxWishes": "sandbox",
    "run_process": "run",
    "sandbox_levels": "levels",
}

__all__ = [
    "LONG_LIVED",
    "ChildProcess",
    "OutputCaps",
    "ProcessGate",
    "ProcessLimits",
    "ProcessResult",
    "ProcessSpec",
    "SandboxLevel",
    "SandboxReport",
    "SandboxWishes",
    "run_process",
    "sandbox_levels",
]

if not TYPE_CHECKING:  # a checker that saw it would let every misspelt name pass
    __getattr__, __dir__ = lazy_face(__name__, _HOMES)
