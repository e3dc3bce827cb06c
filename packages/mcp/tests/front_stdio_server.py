"""A process that serves the fixture over its standard input and output; run it, do not import it."""

from __future__ import annotations

import asyncio
import signal
import sys

from front_services import FixtureService

from toolcrib_mcp.front import serve_stdio


async def main() -> None:
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    drain = float(sys.argv[1]) if len(sys.argv) > 1 else 5.0
    await serve_stdio(FixtureService(), drain=drain)


if __name__ == "__main__":
    print("before", end="")  # noqa: T201  # left in the buffer, and not for the client
    try:
        asyncio.run(main())
    except asyncio.CancelledError:
        sys.exit(143)
