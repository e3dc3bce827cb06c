"""Where the code of a tool runs: on the loop, in a thread, in another process."""

from __future__ import annotations

from toolcrib_runtime.executors.local import LocalExecutor
from toolcrib_runtime.executors.process import ProcessExecutor
from toolcrib_runtime.executors.protocol import Executor, HandlerRaised, Work

__all__ = ["Executor", "HandlerRaised", "LocalExecutor", "ProcessExecutor", "Work"]
