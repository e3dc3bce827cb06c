"""What a server may ask of a client, and what a modern one asks in place of a result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from toolcrib_core.wording import quoted, shown
from toolcrib_mcp.errors import NotGranted, UpstreamMalformed
from toolcrib_mcp.front.service import Caller
from toolcrib_mcp.upstreams.relaying import CAPABILITY_OF

INPUT_REQUIRED: Final = "input_required"
"""The `resultType` of an answer that asks."""

MAX_QUESTIONS: Final = 16
"""How many questions may be open in one call."""


def askable(grants: Iterable[str], caller: Caller) -> frozenset[str]:
    """The capabilities that a server may use: granted to it, and offered by the client."""
    return frozenset(each for each in grants if each in caller.capabilities and each in CAPABILITY_OF.values())


def asks(result: Mapping[str, Any]) -> bool:
    """Whether a result asks for something before it can be one."""
    return result.get("resultType") == INPUT_REQUIRED


def questions_in(result: Mapping[str, Any], may_use: frozenset[str], *, server: str) -> Mapping[str, Mapping[str, Any]]:
    """The questions of a result that asks, by key; none if the server only wants to be asked again.

    Raises:
        NotGranted: One of them is not the server's to ask.
        UpstreamMalformed: They are no questions.
    """
    asked = result.get("inputRequests") or {}
    if not isinstance(asked, Mapping) or len(asked) > MAX_QUESTIONS:
        raise _no_question(server)
    for each in asked.values():
        method = each.get("method") if isinstance(each, Mapping) else None
        if not isinstance(method, str):
            raise _no_question(server)
        if CAPABILITY_OF.get(method) not in may_use:
            raise not_granted(method, server)
    return asked


def not_granted(method: str, server: str) -> NotGranted:
    """What a call ends with whose server asked for too much."""
    return NotGranted(
        f"The server {quoted(server)} asked the client for {quoted(method)}, which it may not.",
        hint="The operator grants this with `grants` in the settings of the server; the client must offer it, too.",
        details={"upstream": server, "asked": shown(method)},
    )


def _no_question(server: str) -> UpstreamMalformed:
    return UpstreamMalformed(
        f"The server {quoted(server)} asked for input in a form that is none.",
        hint=f"This is a fault of the server; it may ask at most {MAX_QUESTIONS} questions at once.",
        details={"upstream": server},
    )
