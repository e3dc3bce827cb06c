"""What a client is told at first about the servers behind: what they can do, and how they want to be used."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from toolcrib_core import ToolError
from toolcrib_mcp.relay.reach import flag, has
from toolcrib_mcp.upstreams import Agreement

MAX_INSTRUCTIONS: Final = 2_000
"""Characters of the instructions of several servers together."""

_WORDS: Mapping[str, tuple[str, ...]] = {
    "tools": ("listChanged",),
    "prompts": ("listChanged",),
    "resources": ("listChanged", "subscribe"),
    "completions": (),
}
_LEAST_SHARE = 80


def own_capabilities(agreement: Agreement, *, logs: bool) -> dict[str, Any]:
    """Those of one server, as it announces them; log messages only if they are passed on."""
    return {name: value for name, value in agreement.capabilities.items() if logs or name != "logging"}


def merged_capabilities(agreed: Mapping[str, Agreement | ToolError | None], *, logs: Collection[str]) -> dict[str, Any]:
    """What at least one of several servers can do; one that says nothing may do everything when it is back.

    `logs` are the servers whose log messages are passed on.
    """
    said = [each for each in agreed.values() if isinstance(each, Agreement)]
    unknown = len(said) < len(agreed)
    merged: dict[str, Any] = {}
    for name, words in _WORDS.items():
        if unknown or any(has(each, name) for each in said):
            merged[name] = {
                word: True for word in words if unknown or any(flag(each.capabilities.get(name), word) for each in said)
            }
    if any(
        server in logs and (not isinstance(each, Agreement) or has(each, "logging")) for server, each in agreed.items()
    ):
        merged["logging"] = {}
    return merged


def instructions_of(agreed: Mapping[str, Agreement | ToolError]) -> str | None:
    """The instructions of several servers, each under its name and with a fair share of the room."""
    said = {
        server: each.instructions.strip()
        for server, each in agreed.items()
        if isinstance(each, Agreement) and each.instructions and each.instructions.strip()
    }
    if not said:
        return None
    begins = f"{len(agreed)} servers: {', '.join(agreed)}."
    room = max(_LEAST_SHARE, (MAX_INSTRUCTIONS - len(begins)) // len(said))
    parts = [_shortened(f"{server}: {text}", room - len("\n\n")) for server, text in said.items()]
    return _shortened("\n\n".join([begins, *parts]), MAX_INSTRUCTIONS)


def _shortened(text: str, room: int) -> str:
    return text if len(text) <= room else f"{text[: room - 1]}…"
