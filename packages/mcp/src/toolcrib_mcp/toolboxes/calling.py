"""One `tools/call`: run with reports to the client, stopped with its request, and asked about where rules want that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from toolcrib_core import Principal, ToolContext, ToolDefinition, ToolError
from toolcrib_core.wording import kind_of
from toolcrib_mcp.front.confirming import (
    ELICIT,
    META_APPROVAL,
    Decision,
    answered,
    can_be_asked,
    decision_in,
    declined,
    input_required,
    question,
    who_answers,
)
from toolcrib_mcp.front.envelope import INVALID_PARAMS
from toolcrib_mcp.front.service import Caller, Request
from toolcrib_mcp.rpc import RpcError
from toolcrib_mcp.toolboxes.reports import relayed_reports
from toolcrib_mcp.toolboxes.results import call_result, error_result
from toolcrib_mcp.upstreams.eras import Era
from toolcrib_runtime import EventListener, Toolbox, ToolCall, ToolResult
from toolcrib_runtime.policy.approvals import PendingApproval


@dataclass(frozen=True, kw_only=True)
class Calling:
    """One call of one tool, from the request of a client to the result that it gets."""

    toolbox: Toolbox
    definition: ToolDefinition
    request: Request
    patience: float
    """The seconds that a person has to answer, where the client waits for that within its request."""
    logs: bool = False
    """Whether the client is told what the tool logs."""

    async def result(self) -> dict[str, Any]:
        """The result of `tools/call`; being cancelled stops the tool.

        Raises:
            RpcError: The request is not one of a call.
        """
        call = self._call()
        if self._is_modern:
            _check_responses(self.request.params)
        settled = answered(self.request.params) if self._is_modern else None
        async with relayed_reports(self.request, logs=self.logs) as listener:
            if settled is not None:
                return await self._decided(call, *settled, listener)
            result = await self._run(call, listener)
            if result.action is None or not can_be_asked(self.request.caller):
                return self._told(result)
            if self._is_modern:
                return input_required(result.action, _arguments(call))
            return await self._decided(call, result.action, await self._ask(call, result.action), listener)

    @property
    def _is_modern(self) -> bool:
        return self.request.caller.era is Era.MODERN

    def _call(self) -> ToolCall:
        arguments = self.request.params.get("arguments")
        if arguments is not None and not isinstance(arguments, Mapping):
            raise RpcError(INVALID_PARAMS, f"`arguments` must be an object, not {kind_of(arguments)}.")
        approval = self.request.meta.get(META_APPROVAL)
        granted = approval if isinstance(approval, str) else None
        return ToolCall(tool=self.definition.id, arguments=arguments, approval=granted)

    async def _decided(
        self, call: ToolCall, pending: PendingApproval, decision: Decision, listener: EventListener | None
    ) -> dict[str, Any]:
        if decision == "no":
            return error_result(declined(self.definition.id), self.definition)
        if decision == "once":
            try:
                approval = self.toolbox.grant(pending, by=who_answers(self.request.caller))
            except ToolError as refused:
                return error_result(refused, self.definition)
            call = call._replace(approval=approval)
        # Nobody decided: the call says itself that it needs approval, and nobody is asked again.
        return self._told(await self._run(call, listener))

    async def _ask(self, call: ToolCall, pending: PendingApproval) -> Decision:
        asked = question(pending, _arguments(call))
        try:
            return decision_in(await self.request.channel.ask(ELICIT, asked, timeout=self.patience))
        except RpcError:
            return "none"

    async def _run(self, call: ToolCall, listener: EventListener | None) -> ToolResult:
        context = _context_of(self.request.caller)
        if listener is None:
            return await self.toolbox.execute(call, context=context)
        return await self.toolbox.execute(call, context=context, on_event=listener)

    def _told(self, result: ToolResult) -> dict[str, Any]:
        return call_result(result, self.definition, era=self.request.caller.era)


def _context_of(caller: Caller) -> ToolContext | None:
    return None if caller.principal is None else ToolContext(user=Principal(id=caller.principal))


def _check_responses(params: Mapping[str, Any]) -> None:
    """Hold answers to their form, also those to questions that nobody asked here: whoever sent them is mistaken."""
    responses = params.get("inputResponses", {})
    if not isinstance(responses, Mapping) or not all(isinstance(each, Mapping) for each in responses.values()):
        raise RpcError(INVALID_PARAMS, "`inputResponses` must be an object with an object for every question.")


def _arguments(call: ToolCall) -> Mapping[str, Any]:
    return call.arguments if isinstance(call.arguments, Mapping) else {}
