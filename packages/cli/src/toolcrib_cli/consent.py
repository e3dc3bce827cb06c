"""The question whether a call may run, asked at the terminal at which it was typed."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import typer

from toolcrib_cli.screen import printable, tell
from toolcrib_mcp.front.confirming import ANSWER, ELICIT, LABELS
from toolcrib_mcp.front.service import Caller, Request
from toolcrib_mcp.rpc import RpcError
from toolcrib_mcp.rpc.messages import METHOD_NOT_FOUND
from toolcrib_mcp.upstreams.eras import HANDSHAKE_VERSIONS, Era

_DEFAULT: Final = LABELS["no"]
"""What the Enter key alone means."""


def request_of_this_person(*, yes: bool, before_asking: Callable[[], object]) -> Request:
    """A call that is made by hand; with `yes` it was said beforehand that it may run.

    Without a terminal there is no question, and a call that needs an approval says how to give one.
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
            raise RpcError(METHOD_NOT_FOUND, "The terminal does not answer that.")
        answer = LABELS["once"] if self._yes else await asyncio.to_thread(self._chosen, params)
        return {"action": "accept", "content": {ANSWER: answer}}

    def _chosen(self, params: Mapping[str, Any]) -> str:
        self._before_asking()
        for line in str(params.get("message", "")).split("\n"):
            tell(printable(line))
        return choose_answer(params["requestedSchema"]["properties"][ANSWER]["enum"])


def choose_answer(labels: Sequence[str]) -> str:
    """Ask at the terminal which of the answers it is; a number is as good as its words."""
    for number, label in enumerate(labels, 1):
        tell(f"  {number}  {label}")
    by_number = {str(number): label for number, label in enumerate(labels, 1)}
    while True:
        typed: str = typer.prompt("May it run?", default=_DEFAULT, err=True).strip()
        if typed in labels:
            return typed
        if typed in by_number:
            return by_number[typed]
