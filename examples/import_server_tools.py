"""The tools of an MCP server join functions of your own in one toolbox: one way to call, one set of rules.

It prints:
    default:shout, notes:list_notes#db512ae5, notes:read_note#0e6fb09b, notes:write_note#e79ddeb9
    A CRIB FOR TOOLS
    `notes:read_note` needs the argument `title`, which is missing.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from toolcrib_mcp import import_tools, load_config, upstream_of
from toolcrib_runtime import create_toolbox, tool

CONFIG = Path(__file__).with_name("mcp.json")


@tool(effects="none")
async def shout(text: str) -> str:
    """Say it louder."""
    return text.upper()


async def main() -> None:
    """Start the server, take its tools over, and call both kinds."""
    async with upstream_of(load_config(CONFIG).servers["notes"]) as upstream:
        toolbox = create_toolbox([shout, *await import_tools(upstream, trusted=True)])
        print(", ".join(each.id for each in toolbox.tools))
        note = await toolbox.call("notes:read_note", {"title": "ideas"})
        print((await toolbox.call("shout", {"text": note.text})).value)
        wrong = await toolbox.call("notes:read_note", {})
        print(wrong.error and wrong.error.message)


if __name__ == "__main__":
    asyncio.run(main())
