"""The rules of a toolbox: what they see, what they decide, and that nothing runs against them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial

import pytest
from policy_tools import Deletion, Heard

from toolcrib_core import Principal, ToolContext, ToolDefinition, ToolErrorCategory, ToolRisk
from toolcrib_runtime import (
    Cancellation,
    Invocation,
    Policy,
    PolicyRequest,
    ToolboxSettings,
    ToolCall,
    ToolResult,
    create_toolbox,
)
from toolcrib_runtime.arguments import Taken
from toolcrib_runtime.errors import NotPermitted
from toolcrib_runtime.policy.rules import Rule, allow_only, ask, deny, fixed_verdict, run_after_hooks
from toolcrib_runtime.policy.verdicts import Verdict

READS = ToolRisk(effects="read")


def _allow(request: PolicyRequest) -> str:
    return "allow"


def _allow_loudly(request: PolicyRequest) -> Verdict:
    return Verdict(decision="allow", reason="he is the owner")


def _no_opinion(request: PolicyRequest) -> None:
    return None


async def _deny_later(request: PolicyRequest) -> Verdict:
    await asyncio.sleep(0)
    return Verdict(decision="deny", reason="not on Sundays")


async def _run(
    *rules: Rule, deletion: Deletion | None = None, heard: Heard | None = None, **policy: object
) -> tuple[ToolResult, int]:
    deletion = deletion or Deletion()
    toolbox = create_toolbox([deletion.tool(risk=READS)], policy=Policy(rules=rules, **policy))
    result = await toolbox.call("fs:delete", {"path": "a"}, on_event=heard)
    return result, len(deletion.runs)


def _request(arguments: str) -> PolicyRequest:
    call = ToolCall(tool="fs:delete", id="c1")
    invocation = Invocation(call=call, tool=Deletion().tool(), settings=ToolboxSettings())
    invocation.take_arguments(Taken({}, arguments))
    return PolicyRequest(invocation)


@pytest.mark.req("RT-10")
@pytest.mark.parametrize("rules", [(), (_allow,), (_no_opinion,), (_no_opinion, _allow)])
async def test_what_no_rule_is_against_runs(rules: tuple[Rule, ...]) -> None:
    result, runs = await _run(*rules)

    assert (result.value, runs) == ("deleted", 1)


@pytest.mark.req("RT-10")
@pytest.mark.parametrize(
    "rules", [(_deny_later,), (_allow, _deny_later), (_deny_later, _allow), (_deny_later, ask("*"))]
)
async def test_what_one_rule_denies_does_not_run_whatever_the_others_say(rules: tuple[Rule, ...]) -> None:
    result, runs = await _run(*rules)

    assert (result.outcome, result.attempts, runs) == ("error", 0, 0)
    assert isinstance(result.error, NotPermitted)
    assert result.error.category is ToolErrorCategory.PERMISSION
    assert not result.error.retryable
    assert result.error.message == "`fs:delete@1.0.0` is not permitted: not on Sundays."
    assert result.error.details == {"reason": "not on Sundays", "rule": "_deny_later"}


@pytest.mark.req("RT-10")
async def test_a_rule_cannot_allow_what_the_risk_asks_about() -> None:
    deletion = Deletion()
    toolbox = create_toolbox([deletion.tool()], policy=Policy(rules=(_allow,)))

    result = await toolbox.call("fs:delete", {"path": "a"})

    assert (result.outcome, deletion.runs) == ("action_required", [])


async def test_without_judging_by_risk_only_the_rules_count() -> None:
    deletion = Deletion()
    toolbox = create_toolbox([deletion.tool()], policy=Policy(by_risk=None))

    result = await toolbox.call("fs:delete", {"path": "a"})

    assert (result.ok, len(deletion.runs)) == (True, 1)


@pytest.mark.req("RT-10")
async def test_a_tool_brings_rules_of_its_own() -> None:
    deletion = Deletion()
    toolbox = create_toolbox([deletion.tool(risk=READS, rules=(_deny_later,))])

    result = await toolbox.call("fs:delete", {"path": "a"})

    assert isinstance(result.error, NotPermitted)
    assert deletion.runs == []


@pytest.mark.req("RT-10")
async def test_every_rule_is_asked_exactly_once_even_after_one_denied() -> None:
    asked: list[str] = []

    def note(name: str, request: PolicyRequest) -> str:
        asked.append(name)
        return "deny"

    await _run(partial(note, "first"), partial(note, "second"))

    assert asked == ["first", "second"]


def _raises(request: PolicyRequest) -> str:
    raise ValueError(f"cannot judge {request.arguments['path']}")


async def _raises_later(request: PolicyRequest) -> str:
    await asyncio.sleep(0)
    raise KeyError(request.arguments["path"])


async def _waits_for_something_cancelled(request: PolicyRequest) -> str:
    waiting = asyncio.get_running_loop().create_future()
    waiting.cancel()
    return await waiting


async def _answers_true(request: PolicyRequest) -> bool:
    return True


@pytest.mark.req("RT-10")
@pytest.mark.fault("F18")
@pytest.mark.parametrize(
    "rule",
    [_raises, _raises_later, _waits_for_something_cancelled, _answers_true, lambda request: 1],
    ids=lambda rule: rule.__name__,
)
async def test_a_rule_that_fails_denies_and_only_the_log_says_why(rule: Rule, caplog: pytest.LogCaptureFixture) -> None:
    deletion = Deletion()
    toolbox = create_toolbox([deletion.tool(risk=READS)], policy=Policy(rules=(rule,)))

    with caplog.at_level(logging.ERROR, "toolcrib.runtime"):
        result = await toolbox.call("fs:delete", {"path": "my-secret"})

    assert deletion.runs == []
    assert result.error is not None
    assert result.error.code == "toolbox.not-permitted"
    assert f"the rule `{rule.__name__}` failed" in result.error.message
    assert "my-secret" not in str(result.to_dict())
    assert [record.exc_info is not None for record in caplog.records] == [True]


@pytest.mark.req("RT-10")
async def test_judging_by_risk_that_fails_denies(caplog: pytest.LogCaptureFixture) -> None:
    def broken(definition: ToolDefinition) -> Verdict:
        raise ZeroDivisionError

    result, runs = await _run(by_risk=broken)

    assert (runs, result.error and result.error.details["rule"]) == (0, "broken")
    assert "broken" in caplog.text


async def test_judging_by_risk_may_have_no_opinion() -> None:
    result, _ = await _run(by_risk=lambda definition: None)

    assert result.ok


@pytest.mark.req("RT-6", "RT-10")
async def test_a_call_that_is_taken_back_while_a_rule_thinks_is_cancelled_and_not_denied() -> None:
    thinking, switch, deletion = asyncio.Event(), Cancellation(), Deletion()

    async def think(request: PolicyRequest) -> str:
        thinking.set()
        await asyncio.Event().wait()
        return "allow"

    toolbox = create_toolbox([deletion.tool(risk=READS)], policy=Policy(rules=(think,)))
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        task = group.create_task(toolbox.call("fs:delete", {"path": "a"}, cancellation=switch))
        await thinking.wait()
        switch.cancel()

    error = task.result().error
    assert error is not None
    assert (error.category, deletion.runs) == (ToolErrorCategory.CANCELLED, [])


@pytest.mark.req("RT-10")
async def test_a_rule_sees_the_arguments_that_the_tool_gets_and_who_asks() -> None:
    seen: list[PolicyRequest] = []
    toolbox = create_toolbox([Deletion().tool(risk=READS)], policy=Policy(rules=(seen.append,)))
    context = ToolContext(user=Principal(id="ada"))

    call = ToolCall(tool="fs:delete", arguments='{"path": "a"}', id="c1")
    await toolbox.execute(call, context=context)

    (request,) = seen
    assert request.arguments == {"path": "a"}
    assert (request.call, request.call_id) == (call, "c1")
    assert (request.definition.id, request.context) == ("fs:delete@1.0.0", context)
    assert not request.is_step


@pytest.mark.req("RT-10")
@pytest.mark.parametrize(
    "change",
    [
        lambda arguments: arguments.update(path="b"),
        lambda arguments: arguments["nested"].append(1),
        lambda arguments: arguments["nested"][0].clear(),
    ],
)
def test_a_rule_cannot_change_the_arguments(change: Callable[[dict[str, object]], object]) -> None:
    request = _request('{"path": "a", "nested": [{"k": 1}]}')

    with pytest.raises(TypeError):
        change(request.arguments)

    assert request.arguments == {"path": "a", "nested": [{"k": 1}]}


@pytest.mark.req("RT-10")
async def test_arguments_that_the_caller_changes_while_a_rule_thinks_are_not_what_runs() -> None:
    arguments, deletion = {"path": "harmless"}, Deletion()

    async def meddle(request: PolicyRequest) -> None:
        arguments["path"] = "precious"
        await asyncio.sleep(0)

    toolbox = create_toolbox([deletion.tool(risk=READS)], policy=Policy(rules=(meddle,)))
    await toolbox.call("fs:delete", arguments)

    assert deletion.runs == [{"path": "harmless", "count": 1}]


@pytest.mark.req("RT-15")
@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ((_allow_loudly,), {"decision": "allow", "reason": "he is the owner", "rule": "_allow_loudly"}),
        ((_allow,), {"decision": "allow", "reason": "", "rule": None}),
        ((_deny_later,), {"decision": "deny", "reason": "not on Sundays", "rule": "_deny_later"}),
    ],
)
async def test_the_decision_is_told_once(rules: tuple[Rule, ...], said: dict[str, object]) -> None:
    heard = Heard()

    await _run(*rules, heard=heard)

    assert heard.data == [said]


@pytest.mark.req("RT-10")
@pytest.mark.parametrize("rules", [(), (ask("fs:*"),)])
async def test_where_nobody_can_be_asked_an_ask_is_a_deny(rules: tuple[Rule, ...]) -> None:
    deletion = Deletion()
    toolbox = create_toolbox([deletion.tool()], policy=Policy(rules=rules, headless=True))

    result = await toolbox.call("fs:delete", {"path": "a"})

    assert isinstance(result.error, NotPermitted)
    assert "nobody is there to give it: it does not declare what it does" in result.error.message
    assert (result.outcome, deletion.runs) == ("error", [])


@pytest.mark.parametrize(
    ("rule", "tool", "outcome"),
    [
        (allow_only("fs:*", "web:get"), "fs", "success"),
        (allow_only("*:delete"), "fs", "success"),
        (allow_only("*"), "fs", "success"),
        (allow_only("web:*"), "fs", "error"),
        (allow_only("FS:*"), "fs", "error"),
        (allow_only(), "fs", "error"),
        (deny("fs:del*"), "fs", "error"),
        (deny("fs:del"), "fs", "success"),
        (deny(), "fs", "success"),
        (ask("fs:*", "web:*"), "fs", "action_required"),
        (ask("web:*"), "fs", "success"),
    ],
)
@pytest.mark.req("RT-10")
async def test_tools_are_allowed_denied_and_asked_about_by_name(rule: Rule, tool: str, outcome: str) -> None:
    result, runs = await _run(rule)

    assert (result.outcome, runs) == (outcome, int(outcome == "success"))


@pytest.mark.parametrize("make", [allow_only, deny, ask])
def test_a_pattern_that_could_never_fit_is_refused_when_the_rule_is_made(make: Callable[[str], Rule]) -> None:
    with pytest.raises(ValueError, match=r"`delete\*` has no `:`; write `\*:delete\*`"):
        make("delete*")


@pytest.mark.parametrize("fields", [{"rules": ("deny",)}, {"after": (None,)}])
def test_a_policy_holds_only_what_can_be_called(fields: dict[str, tuple[Rule, ...]]) -> None:
    with pytest.raises(TypeError, match="functions, and nothing else"):
        Policy(**fields)


def test_the_verdict_is_known_beforehand_where_only_the_definition_decides() -> None:
    harmless, harmful = Deletion().tool(risk=READS), Deletion().tool()

    assert fixed_verdict(Policy(), harmless) == Verdict(decision="allow")
    assert (fixed_verdict(Policy(), harmful) or Verdict(decision="allow")).decision == "ask"
    assert (fixed_verdict(Policy(headless=True), harmful) or Verdict(decision="allow")).decision == "deny"
    assert fixed_verdict(Policy(by_risk=None), harmful) == Verdict(decision="allow")


@pytest.mark.parametrize(
    ("policy", "rules"),
    [(Policy(rules=(_allow,)), ()), (Policy(after=(lambda request, result: None,)), ()), (Policy(), (_allow,))],
)
def test_the_verdict_is_open_where_rules_or_hooks_want_to_see_the_call(policy: Policy, rules: tuple[Rule, ...]) -> None:
    assert fixed_verdict(policy, Deletion().tool(risk=READS, rules=rules)) is None


async def test_hooks_see_how_the_call_ended_and_a_failing_one_spoils_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    seen: list[str] = []

    def breaks(request: PolicyRequest, result: ToolResult) -> None:
        raise ValueError

    async def sees(request: PolicyRequest, result: ToolResult) -> str:
        await asyncio.sleep(0)
        seen.append(f"{request.call_id} {result.outcome}")
        return "deny"

    request = _request("{}")
    result = ToolResult(call_id="c1", tool_id="x", outcome="success")
    await run_after_hooks(Policy(after=(breaks, lambda *_: seen.append("first"), sees)), request, result)

    assert seen == ["first", "c1 success"]
    assert "the hook `breaks` failed after call c1" in caplog.text


@pytest.mark.req("RT-10")
@pytest.mark.parametrize(
    ("rules", "arguments", "seen"),
    [
        ((), {"path": "a"}, ({"path": "a"}, "success")),
        ((_deny_later,), {"path": "a"}, ({"path": "a"}, "error")),
        ((ask("fs:*"),), {"path": "a"}, ({"path": "a"}, "action_required")),
        ((), {"path": 7}, ({}, "error")),
    ],
)
async def test_hooks_see_every_call_once_however_it_ended(
    rules: tuple[Rule, ...], arguments: dict[str, object], seen: tuple[object, str]
) -> None:
    shown: list[tuple[object, str]] = []
    policy = Policy(rules=rules, after=(lambda request, result: shown.append((request.arguments, result.outcome)),))

    await create_toolbox([Deletion().tool(risk=READS)], policy=policy).call("fs:delete", arguments)

    assert shown == [seen]


async def test_a_hook_is_stopped_with_its_call() -> None:
    waiting = asyncio.Event()

    async def waits(request: PolicyRequest, result: ToolResult) -> None:
        waiting.set()
        await asyncio.Event().wait()

    request = _request("{}")
    result = ToolResult(call_id="c1", tool_id="x", outcome="success")
    task = asyncio.create_task(run_after_hooks(Policy(after=(waits,)), request, result))
    async with asyncio.timeout(5):
        await waiting.wait()
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
