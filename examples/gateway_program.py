"""The gateway in a program: many servers behind three calls, and a large result read in parts.

It prints:
    notes:read_note#0e6fb09b — The text of one note. (needs title)
    Text of 500 lines, 2,500 words, 14,000 bytes.
    [line 500 of 500]
    2026-11-16 INFO all is well
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from toolcrib_mcp import Gateway, Hub, load_config
from toolcrib_store import Artifacts, open_store

CONFIG = Path(__file__).with_name("mcp.json")


async def main() -> None:
    """Find a tool, run it, and look into what is too large to send."""
    with TemporaryDirectory() as folder, open_store(Path(folder) / "artifacts.db") as store:
        async with Hub(load_config(CONFIG)) as hub, Gateway(hub, artifacts=Artifacts(store)) as gateway:
            found = await gateway.browse(query="look at a note")
            print(found.cards[0].line)

            text = "2026-11-16 INFO all is well\n" * 500
            await gateway.execute("notes__write_note", {"title": "log", "text": text})
            large = await gateway.execute("notes__read_note", {"title": "log"})
            print(large.text.splitlines()[1])

            if large.envelope is not None:
                handle = large.envelope.artifacts[0].handle
                print((await gateway.view(handle, {"type": "tail", "lines": 1})).text)


if __name__ == "__main__":
    asyncio.run(main())
