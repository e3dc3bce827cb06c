"""Programs without a shell: an environment from nothing, limits, capped output, and the whole tree killed."""

from __future__ import annotations

from toolcrib_runtime.guards.process.child import ChildProcess, OutputCaps
from toolcrib_runtime.guards.process.gate import ProcessGate
from toolcrib_runtime.guards.process.levels import SandboxLevel, sandbox_levels
from toolcrib_runtime.guards.process.limits import LONG_LIVED, ProcessLimits
from toolcrib_runtime.guards.process.run import ProcessResult, run_process
from toolcrib_runtime.guards.process.sandbox import SandboxReport, SandboxWishes
from toolcrib_runtime.guards.process.spec import ProcessSpec

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
