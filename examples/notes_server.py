"""A small MCP server: three Python functions, served over standard input and output."""

from __future__ import annotations

import asyncio

from toolcrib_mcp import ToolboxService, serve_stdio
from toolcrib_runtime import create_toolbox, tool

NOTES = {"groceries": "milk, bread", "ideas": "a crib for tools"}


@tool(effects="read")
async def list_notes() -> list[str]:
    """The titles of all notes."""
    return sorted(NOTES)


@tool(effects="read")
async def read_note(title: str) -> str:
    """The text of one note."""
    return NOTES[title]


@tool(effects="write", idempotent=True)
async def write_note(title: str, text: str) -> str:
    """Keep a note until the server ends; one of the same title is replaced."""
    NOTES[title] = text
    return f"{len(text)} characters kept as {title}"


if __name__ == "__main__":
    asyncio.run(serve_stdio(ToolboxService(create_toolbox([list_notes, read_note, write_note]), version="1.0.0")))
