"""What the tests of the rules and of approvals share: tools that count how often they ran, and a wall clock."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from toolcrib_runtime import RunnableTool, SystemClock, create_tool
from toolcrib_runtime.events import ToolEvent

NOW = 1_800_000_000.0


@dataclass
class WallClock(SystemClock):
    """The machine's clock, but for the time of day, which the test sets."""

    now: float = NOW

    def wall(self) -> float:
        return self.now


@dataclass
class Deletion:
    """A tool that would do harm, and what it was run with."""

    runs: list[dict[str, Any]] = field(default_factory=list)

    def tool(self, **options: Any) -> RunnableTool:
        async def delete(path: str, count: int = 1) -> str:
            """Delete a file."""
            self.runs.append({"path": path, "count": count})
            return "deleted"

        described = {"namespace": "fs", "version": "1.0.0", "title": "Delete a file", "description": "Delete a file."}
        return create_tool(delete, **{**described, **options})


@dataclass
class Heard:
    """The events of kind `policy`."""

    data: list[dict[str, object]] = field(default_factory=list)

    def __call__(self, event: ToolEvent) -> None:
        if event.kind == "policy":
            self.data.append(dict(event.data))
