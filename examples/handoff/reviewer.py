"""The reviewer reads everything, adds its verdict and finalizes. Run: python reviewer.py DATABASE PACK_ID."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from packs_client import Refused, connected

_FIELDS = ("title", "brief", "tags", "sections")


async def review(database: str, pack_id: str) -> str:
    """Finalize the pack; what is still missing is told before anything is kept."""
    async with connected(database) as packs:
        evidence = await packs.output("read", id=pack_id, profile="reviewer")
        if "token == expected" not in evidence:
            return "the evidence does not show the comparison"
        pack = await packs.input("get", id=pack_id)
        document: dict[str, Any] = {name: pack[name] for name in _FIELDS} | {"status": "finalized"}
        missing: list[str] = []
        write = {"id": pack_id, "expected_revision": pack["revision"], "document": document}
        try:
            await packs.input("write", **write, validate_only=True)
        except Refused as refused:
            missing = refused.error["details"]["missing_fields"]
        for section in document["sections"]:
            if section["key"] == "qa":
                section["description"] = "verdict: pass\nThe code does what the findings say."
        final = await packs.input("write", **write)
    return f"{missing} was missing; now {final['status']} in revision {final['revision']}"


if __name__ == "__main__":
    if not sys.argv[2:]:
        sys.exit("usage: python examples/handoff/reviewer.py DATABASE PACK_ID")
    print(asyncio.run(review(*sys.argv[1:3])))
