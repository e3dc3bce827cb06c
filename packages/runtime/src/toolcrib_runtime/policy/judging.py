"""Asking the rules about one call, and showing it to the hooks afterwards: whatever they do, nothing opens."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from inspect import isawaitable
from typing import TYPE_CHECKING

from toolcrib_core import ToolDefinition
from toolcrib_core.wording import quoted, shown
from toolcrib_runtime.policy.verdicts import Opinion, Verdict, verdict_of

if TYPE_CHECKING:
    from toolcrib_runtime.calls import ToolResult
    from toolcrib_runtime.policy.rules import AfterHook, PolicyRequest, Rule

_logger = logging.getLogger("toolcrib.runtime")


def ask_about_risk(by_risk: Callable[[ToolDefinition], Verdict], definition: ToolDefinition) -> Verdict | None:
    """What `by_risk` says of the definition; if it fails that is a deny."""
    try:
        return verdict_of(by_risk(definition))
    except Exception:
        _logger.exception("the rule `%s` failed on %s, which is denied", name_of(by_risk), definition.id)
        return _closed(by_risk)


async def ask_rules(rules: Iterable[Rule], request: PolicyRequest) -> list[Opinion]:
    """What every rule says of the call, each asked once; one that fails denies."""
    opinions = []
    for rule in rules:
        try:
            answer: object = rule(request)
            if not (answer is None or isinstance(answer, Verdict | str)) and isawaitable(answer):
                answer = await answer
            verdict = verdict_of(answer)
        except (Exception, asyncio.CancelledError) as failure:
            _pass_on_cancellation(failure)
            _logger.exception("the rule `%s` failed on call %s, which is denied", name_of(rule), request.call_id)
            verdict = _closed(rule)
        if verdict is not None:
            opinions.append(Opinion(name_of(rule), verdict))
    return opinions


async def show_hooks(hooks: Iterable[AfterHook], request: PolicyRequest, result: ToolResult) -> None:
    """Show every hook how the call ended; the failure of one is only logged."""
    for hook in hooks:
        try:
            answer = hook(request, result)
            if isawaitable(answer):
                await answer
        except (Exception, asyncio.CancelledError) as failure:
            _pass_on_cancellation(failure)
            _logger.exception("the hook `%s` failed after call %s", name_of(hook), request.call_id)


def name_of(rule: Callable[..., object]) -> str:
    """What a rule or a hook is called in messages."""
    return shown(str(getattr(rule, "__name__", type(rule).__name__)))


def _closed(rule: Callable[..., object]) -> Verdict:
    """The verdict of a rule that failed. What it raised is in the log only: it may quote the arguments."""
    return Verdict(decision="deny", reason=f"the rule {quoted(name_of(rule))} failed")


def _pass_on_cancellation(failure: BaseException) -> None:
    """Raise it if our own task is being cancelled; else it is only something that the rule waited for."""
    task = asyncio.current_task()
    if isinstance(failure, asyncio.CancelledError) and task is not None and task.cancelling():
        raise failure
