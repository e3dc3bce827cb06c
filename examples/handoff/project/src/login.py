"""A login with a flaw, for the handoff example."""

from __future__ import annotations


def is_allowed(token: str, expected: str) -> bool:
    """Whether the token is the one that is expected."""
    if not token:
        return False
    return token == expected
