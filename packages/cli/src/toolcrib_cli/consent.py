"""Whoever types a call at a terminal is the person who is asked about it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

import typer

from toolcrib_cli.screen import printable, tell
from toolcrib_mcp.front.confirming import ELICIT
from toolcrib_mcp.front.service import Caller, Request
from toolcrib_mcp.rpc import RpcError
from toolcrib_mcp.rpc.messages import METHOD_NOT_FOUND
from toolcrib_mcp.upstreams.eras import HANDSHAKE_VERSIONS, Era

TO_BE_ASKED_LESS: Final = "To be asked less: toolcrib policy allow SERVER, or SERVER:TOOL"


def request_of_this_person(*, yes: bool, before_asking: Callable[[], object]) -> Request:
    """A call that somebody makes by hand; with `yes` they have said already that it may run.

    Without a terminal nobody can be asked, and the call that needs an approval says how to give one.
    """
    can_answer = yes or sys.stdin.isatty()
    caller = Caller(
        era=Era.HANDSHAKE,
        protocol_version=max(HANDSHAKE_VERSIONS),
        capabilities={"elicitation": {}} if can_answer else {},
        info={"name": "toolcrib call"},
    )
    return Request(
        method="tools/call", params={}, caller=caller, channel=_Terminal(yes=yes, before_asking=before_asking)
    )


class _Terminal:
    def __init__(self, *, yes: bool, before_asking: Callable[[], object]) -> None:
        self._yes = yes
        self._before_asking = before_asking

    async def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """What a server tells beside its result is not shown."""

    async def ask(self, method: str, params: Mapping[str, Any], *, timeout: float | None) -> dict[str, Any]:  # noqa: ARG002, ASYNC109  # as in `Channel`; a person has all the time
        """Ask whether the call may run; servers' own questions are not answered here.

        Raises:
            RpcError: It is another question.
        """
        if method != ELICIT:
            raise RpcError(METHOD_NOT_FOUND, "There is nobody to answer that.")
        if not self._yes:
            self._before_asking()
            tell(printable(str(params.get("message", ""))))
            tell(TO_BE_ASKED_LESS)
        if self._yes or await asyncio.to_thread(typer.confirm, "Run it?", err=True):
            return {"action": "accept", "content": {"approve": True}}
        return {"action": "decline"}
