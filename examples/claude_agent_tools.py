"""Five tools inside the Claude Agent SDK: a server in this process, and what it may do without asking.

It takes the question from the command line, and needs the package `claude-agent-sdk` and what Claude Code needs.
"""

from __future__ import annotations

import asyncio
import sys

from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKError, ResultMessage, query
from five_tools import toolbox

from toolcrib_claude_agent import create_claude_agent_server


async def answer(question: str) -> str:
    """What the agent says after it has used the tools that it wanted; those that write it may not use."""
    server = create_claude_agent_server(toolbox, name="five", read_only=True)
    options = ClaudeAgentOptions(
        mcp_servers={"five": server.config},
        allowed_tools=server.permissions.allowed,
        disallowed_tools=server.permissions.disallowed,
    )
    said = ""
    async for message in query(prompt=question, options=options):
        if isinstance(message, ResultMessage):
            said = message.result or ""
    return said


if __name__ == "__main__":
    if not sys.argv[1:]:
        sys.exit('usage: python examples/claude_agent_tools.py "Is it warm in Oslo?"')
    try:
        print(asyncio.run(answer(" ".join(sys.argv[1:]))))
    except ClaudeSDKError as failure:
        sys.exit(f"error: {failure}")
