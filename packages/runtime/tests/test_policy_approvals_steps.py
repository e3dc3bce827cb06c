"""Rules over the steps of composed tools: denied as any other call, and approved of with the whole."""

from __future__ import annotations

import pytest
from policy_tools import Deletion

from toolcrib_core import ToolDefinition, ToolRisk
from toolcrib_runtime import (
    Policy,
    PolicyRequest,
    RunnableTool,
    RuntimeToolContext,
    ToolCall,
    ToolResult,
    create_tool,
    create_toolbox,
)
from toolcrib_runtime.policy.rules import ask, deny
from toolcrib_runtime.policy.verdicts import Verdict

READS = ToolRisk(effects="read")


def _calling(step: RunnableTool, name: str, **options: object) -> RunnableTool:
    async def handler(path: str, context: RuntimeToolContext) -> object:
        return await context.call(step, {"path": f"{path}/below"})

    return create_tool(
        handler, **{"namespace": "fs", "name": name, "version": "1.0.0", "description": "Tidy.", **options}
    )


async def _run(tool: RunnableTool, policy: Policy, *, approve: bool = False) -> ToolResult:
    toolbox = create_toolbox([tool], policy=policy)
    result = await toolbox.call(tool.id, {"path": "a"})
    if not approve:
        return result
    assert result.action is not None
    token = toolbox.grant(result.action, by="grace")
    return await toolbox.execute(ToolCall(tool=tool.id, arguments={"path": "a"}, approval=token))


@pytest.mark.req("RT-10", "RT-12")
async def test_rules_judge_a_step_by_its_own_arguments() -> None:
    seen: list[tuple[str, object, bool]] = []
    tidy = _calling(Deletion().tool(risk=READS), "tidy", risk=READS)

    def look(request: PolicyRequest) -> None:
        seen.append((request.definition.name, request.arguments["path"], request.is_step))

    await _run(tidy, Policy(rules=(look,)))

    assert seen == [("tidy", "a", False), ("delete", "a/below", True)]


@pytest.mark.req("RT-10", "RT-12")
async def test_a_step_that_a_rule_denies_does_not_run_even_in_a_call_that_was_approved() -> None:
    deletion = Deletion()
    tidy = _calling(deletion.tool(), "tidy")

    result = await _run(tidy, Policy(rules=(deny("fs:delete"),)), approve=True)

    assert (result.outcome, deletion.runs) == ("error", [])
    assert result.error is not None
    assert "fs:delete@1.0.0" in result.error.message


@pytest.mark.req("RT-10", "RT-12")
async def test_a_step_that_a_rule_asks_about_does_not_run_unless_the_whole_call_was_approved() -> None:
    deletion = Deletion()
    tidy = _calling(deletion.tool(risk=READS), "tidy", risk=READS)

    result = await _run(tidy, Policy(rules=(ask("fs:delete"),)))

    assert (result.outcome, result.action, deletion.runs) == ("error", None, [])
    assert result.error is not None
    assert "The step `fs:delete@1.0.0` of `fs:tidy@1.0.0` needs approval" in result.error.message
    assert 'ask("fs:tidy")' in str(result.error)


@pytest.mark.req("RT-10", "RT-12")
async def test_the_approval_of_a_call_covers_its_steps_at_any_depth() -> None:
    deletion = Deletion()
    inner = _calling(deletion.tool(), "inner", risk=READS)
    outer = _calling(inner, "outer")

    result = await _run(outer, Policy(rules=(ask("fs:delete"),)), approve=True)

    assert (result.ok, deletion.runs) == (True, [{"path": "a/below/below", "count": 1}])


@pytest.mark.req("RT-10", "RT-12")
async def test_the_risk_of_a_step_is_judged_with_the_whole_and_not_once_more() -> None:
    judged: list[str] = []
    tidy = _calling(Deletion().tool(), "tidy")

    def by_risk(definition: ToolDefinition) -> Verdict:
        judged.append(definition.name)
        return Verdict(decision="allow")

    result = await _run(tidy, Policy(rules=(lambda request: None,), by_risk=by_risk))

    assert (result.ok, judged) == (True, ["tidy"])
