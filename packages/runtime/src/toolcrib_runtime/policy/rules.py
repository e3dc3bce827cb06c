"""Allow, ask or deny: rules over one call, and the stage that obeys them."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import orjson

from toolcrib_core import JsonValue, ToolContext, ToolDefinition, merge_risks
from toolcrib_core.json_values import FrozenDict, freeze
from toolcrib_core.wording import quoted, shown
from toolcrib_runtime.errors import ApprovalRefused, ApprovalRequired, NotPermitted
from toolcrib_runtime.policy.approval_gate import is_approved_above, show_approval, step_needs_approval
from toolcrib_runtime.policy.judging import ask_about_risk, ask_rules, name_of, show_hooks
from toolcrib_runtime.policy.verdicts import Decision, Judgement, Opinion, Verdict, ask_by_risk, strictest

if TYPE_CHECKING:
    from toolcrib_runtime.calls import ToolCall, ToolResult
    from toolcrib_runtime.invocation import Invocation, Proceed
    from toolcrib_runtime.policy.approvals import Approvals
    from toolcrib_runtime.runnable import RunnableTool


class PolicyRequest:
    """The call that a rule judges: to be read, and not to be changed."""

    # A view of the invocation: to copy it into a frozen dataclass costs more than to ask a rule.
    __slots__ = ("_arguments", "_invocation")

    def __init__(self, invocation: Invocation) -> None:
        self._invocation = invocation
        self._arguments: FrozenDict | None = None

    @property
    def call(self) -> ToolCall:
        """The call as it came in; what the tool will get is `arguments`."""
        return self._invocation.call

    @property
    def call_id(self) -> str:
        """The id that events and the result have, also where the call came without one."""
        return self._invocation.call_id

    @property
    def definition(self) -> ToolDefinition:
        """What the tool says of itself."""
        return self._invocation.definition

    @property
    def context(self) -> ToolContext | None:
        """Who asks, and in which run."""
        return self._invocation.options.context

    @property
    def is_step(self) -> bool:
        """Whether it is a step of a composed tool, whose own call was judged before."""
        return self._invocation.parent is not None

    @property
    def arguments(self) -> FrozenDict:
        """The validated arguments, as a copy that refuses every change; a hook finds none where they were not valid."""
        if self._arguments is None:
            frozen: FrozenDict = freeze(orjson.loads(self._invocation.snapshot or b"{}"))
            self._arguments = frozen
        return self._arguments


Rule: TypeAlias = Callable[[PolicyRequest], Verdict | Decision | Awaitable[Verdict | Decision | None] | None]
"""Judges a call; None is no opinion. One that raises, or answers anything else, denies."""

AfterHook: TypeAlias = Callable[[PolicyRequest, "ToolResult"], object]
"""Looks at how a call ended; what it answers changes nothing, and if it raises that is only logged."""


@dataclass(frozen=True, kw_only=True)
class Policy:
    """The rules of a toolbox. The strictest answer counts: deny, then ask, then allow.

    Every rule is asked once for every call, whatever the others say. The steps of a composed tool are judged by the
    rules too, each with its own arguments; there an ask is covered when somebody approved of the whole call.
    """

    rules: tuple[Rule, ...] = ()
    by_risk: Callable[[ToolDefinition], Verdict] | None = field(default=ask_by_risk)
    """Judges by the definition alone, beside the rules; None leaves it out.

    It is not asked about steps that add no risk: a composed tool has at least theirs, and was judged by that.
    """
    after: tuple[AfterHook, ...] = ()
    version: str = "1"
    """Say another one when the rules change: approvals that were given under the old rules are then void."""
    headless: bool = False
    """Whether nobody is there to approve of anything: what would be asked is denied."""

    def __post_init__(self) -> None:
        if not all(map(callable, (*self.rules, *self.after))):
            raise TypeError("`rules` and `after` hold functions, and nothing else")


class PolicyStage:
    """Lets a call pass when the rules allow it, or when somebody approved of it."""

    def __init__(self, policy: Policy, approvals: Approvals) -> None:
        self._policy = policy
        self._approvals = approvals
        self._by_risk: dict[str, list[Opinion]] = {}

    async def __call__(self, invocation: Invocation, proceed: Proceed, /) -> JsonValue:
        """Judge the call.

        Raises:
            NotPermitted: A rule denies it.
            ApprovalRequired: A rule asks, and nobody has approved yet.
            ApprovalRefused: The approval that came with the call is not good for it.
        """
        judgement = await self._judge(invocation)
        if judgement.decision == "ask":
            await self._ask(invocation, judgement)
            return await proceed(invocation)
        _tell(invocation, judgement)
        if judgement.decision == "allow":
            return await proceed(invocation)
        raise _not_permitted(invocation.definition, judgement)

    async def _judge(self, invocation: Invocation) -> Judgement:
        opinions = [] if _is_covered(invocation) else self._about_risk(invocation.definition)
        rules = self._policy.rules + invocation.tool.rules
        if rules:
            opinions = opinions + await ask_rules(rules, PolicyRequest(invocation))
        return _final(self._policy, opinions)

    def _about_risk(self, definition: ToolDefinition) -> list[Opinion]:
        """Judged once for each definition, which is all that it goes by."""
        known = self._by_risk.get(definition.digest)
        if known is None:
            known = self._by_risk[definition.digest] = _by_risk(self._policy, definition)
        return known

    async def _ask(self, invocation: Invocation, judgement: Judgement) -> None:
        try:
            approval = await self._approval(invocation, judgement.reason)
        except ApprovalRequired:
            _tell(invocation, judgement, approval="required")
            raise
        except ApprovalRefused as error:
            _tell(invocation, judgement, approval="refused", why=error.details["reason"])
            raise
        invocation.approved = True
        _tell(invocation, judgement, **approval)

    async def _approval(self, invocation: Invocation, reason: str) -> dict[str, object]:
        parent = invocation.parent
        if parent is None:
            version = self._policy.version
            grant = await show_approval(invocation, self._approvals, policy_version=version, reason=reason)
            return {"approval": "granted", "by": grant.by}
        if not is_approved_above(invocation):
            raise step_needs_approval(invocation, parent, reason)
        return {"approval": "inherited"}


def fixed_verdict(policy: Policy, tool: RunnableTool) -> Verdict | None:
    """The verdict about every call of the tool, where nothing but the definition decides; None where rules do."""
    if policy.rules or policy.after or tool.rules:
        return None
    judgement = _final(policy, _by_risk(policy, tool.definition))
    return Verdict(decision=judgement.decision, reason=judgement.reason)


async def run_after_hooks(policy: Policy, request: PolicyRequest, result: ToolResult) -> None:
    """Show every hook of the policy how the call ended; nothing that a hook does changes that."""
    await show_hooks(policy.after, request, result)


def allow_only(*patterns: str) -> Rule:
    """A rule that denies every tool but these, as `fs:*` or `*:search`: `namespace:name` with wildcards."""
    matches = _matcher(patterns)

    def allow_only(request: PolicyRequest) -> Verdict | None:
        return None if matches(request.definition) else Verdict(decision="deny", reason="it is not among what may run")

    return allow_only


def deny(*patterns: str) -> Rule:
    """A rule that denies these tools; see `allow_only` for the patterns."""
    matches = _matcher(patterns)

    def deny(request: PolicyRequest) -> Decision | None:
        return "deny" if matches(request.definition) else None

    return deny


def ask(*patterns: str) -> Rule:
    """A rule that asks about these tools; see `allow_only` for the patterns."""
    matches = _matcher(patterns)

    def ask(request: PolicyRequest) -> Decision | None:
        return "ask" if matches(request.definition) else None

    return ask


def _is_covered(invocation: Invocation) -> bool:
    """Whether it is a step that adds no risk to the call it belongs to, which was judged by its own."""
    parent = invocation.parent
    if parent is None:
        return False
    risk = parent.definition.risk
    return merge_risks(risk, invocation.definition.risk) == risk


def _by_risk(policy: Policy, definition: ToolDefinition) -> list[Opinion]:
    if policy.by_risk is None:
        return []
    verdict = ask_about_risk(policy.by_risk, definition)
    return [] if verdict is None else [Opinion(name_of(policy.by_risk), verdict)]


def _final(policy: Policy, opinions: list[Opinion]) -> Judgement:
    judgement = strictest(opinions)
    if policy.headless and judgement.decision == "ask":
        reason = f"it needs approval, and nobody is there to give it: {judgement.reason}"
        return strictest([Opinion(judgement.rule or "headless", Verdict(decision="deny", reason=reason))])
    return judgement


def _not_permitted(definition: ToolDefinition, judgement: Judgement) -> NotPermitted:
    return NotPermitted(
        f"{quoted(definition.id)} is not permitted: {judgement.reason}.",
        hint="Nothing was run. The same call will be denied again: do without it, or ask for what is permitted.",
        details={"reason": judgement.reason, "rule": judgement.rule},
    )


def _tell(invocation: Invocation, judgement: Judgement, **more: object) -> None:
    if invocation.is_heard:
        decision, reason, rule = judgement
        invocation.emit("policy", decision=decision, reason=reason, rule=rule, **more)


def _matcher(patterns: tuple[str, ...]) -> Callable[[ToolDefinition], bool]:
    for pattern in patterns:
        # `delete*` would match no tool of any other namespace, and a `deny` that never denies looks like one that does.
        if ":" not in pattern and pattern != "*":
            raise ValueError(f"{quoted(pattern)} has no `:`; write `*:{shown(pattern)}` for tools of every namespace")
    matches = re.compile("|".join(map(fnmatch.translate, patterns)) or r"(?!)").match
    return lambda definition: matches(f"{definition.namespace}:{definition.name}") is not None
