"""The executor reads what to do, page by page, of a finalized pack. Run: python executor.py DATABASE NAME."""

from __future__ import annotations

import asyncio
import sys

from packs_client import Refused, connected, legend


async def execute(database: str, name: str) -> list[str]:
    """The headings of all pages, in the order they were read in."""
    seen: list[str] = []
    async with connected(database) as packs:
        page = await packs.output("read", name=name, status="finalized", profile="executor", limit=2)
        pack_id = legend(page)["id"]
        while True:
            seen += [line for line in page.splitlines() if line.startswith(("## ", "#### "))]
            token = legend(page)["next_page_token"]
            if token == "null":  # noqa: S105  # what a legend says where there is no more
                return seen
            page = await packs.output("read", id=pack_id, page_token=token)


if __name__ == "__main__":
    if not sys.argv[2:]:
        sys.exit("usage: python examples/handoff/executor.py DATABASE NAME")
    try:
        print("\n".join(asyncio.run(execute(*sys.argv[1:3]))))
    except* Refused as group:
        # The client wraps what went wrong once for each of its task groups.
        refused: BaseException = group
        while isinstance(refused, BaseExceptionGroup):
            refused = refused.exceptions[0]
        sys.exit(f"error: {refused}")
