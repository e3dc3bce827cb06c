"""The scout looks around and writes down what it found, as a draft. Run: python scout.py DATABASE."""

from __future__ import annotations

import asyncio
import sys

from packs_client import connected

FINDINGS = {
    "name": "token-check",
    "title": "Make the token check safe",
    "brief": "The login compares tokens with `==`, which takes longer the more of a token is right.",
    "tags": ["security", "login"],
    "sections": [
        {"key": "scope", "title": "Scope", "description": "The comparison of tokens, and nothing else of the login."},
        {
            "key": "findings",
            "title": "Findings",
            "description": "Critical: an attacker can guess a token character by character.",
            "refs": [
                {
                    "key": "compare",
                    "path": "src/login.py",
                    "line_start": 8,
                    "line_end": 10,
                    "title": "The comparison",
                    "why": "Stops at the first character that differs.",
                },
            ],
            "diagrams": [
                {
                    "key": "flow",
                    "title": "Where the token goes",
                    "mermaid": "graph LR\n  request --> is_allowed --> page",
                }
            ],
        },
        {
            "key": "plan",
            "title": "Plan",
            "description": "1. Compare with `hmac.compare_digest`.\n2. Test a token that is right but for its end.",
        },
        {"key": "qa", "title": "QA", "description": "Nobody has reviewed this yet."},
    ],
}


async def scout(database: str) -> str:
    """Write the findings, and give the id to hand over."""
    async with connected(database) as packs:
        made = await packs.input("write", document=FINDINGS)
    return str(made["id"])


if __name__ == "__main__":
    if not sys.argv[1:]:
        sys.exit("usage: python examples/handoff/scout.py DATABASE")
    print(asyncio.run(scout(sys.argv[1])))
