"""Testing tools without waiting: a clock that the test owns, and a tool that fails and recovers as told.

It prints:
    2 attempts, 0 seconds of waiting: up
    ['started', 'validated', 'attempt', 'retry', 'attempt', 'finished']
"""

from __future__ import annotations

import asyncio

from toolcrib_runtime import ToolEvent, create_toolbox
from toolcrib_runtime.testing import FakeClock, fake_tool


async def main() -> None:
    """Call a tool that is down at first, and let the time of its retry pass."""
    clock = FakeClock()
    flaky = fake_tool("flaky", sequence=[ConnectionError("down"), "up"], effects="read")
    events: list[ToolEvent] = []
    calling = asyncio.create_task(create_toolbox([flaky], clock=clock).call("flaky", on_event=events.append))
    await clock.until_waiting()
    await clock.advance(10)
    result = await calling
    print(f"{result.attempts} attempts, 0 seconds of waiting: {result.value}")
    print([event.kind for event in events])


if __name__ == "__main__":
    asyncio.run(main())
