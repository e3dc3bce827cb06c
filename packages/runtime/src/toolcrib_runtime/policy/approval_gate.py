"""Where a call that needs approval shows its token, or is sent to ask for one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from toolcrib_core import ToolDefinition, digest
from toolcrib_core.wording import listed, quoted, shown
from toolcrib_runtime.errors import ApprovalRequired
from toolcrib_runtime.policy.approvals import Approvals, ApprovalSubject

if TYPE_CHECKING:
    from toolcrib_runtime.invocation import Invocation
    from toolcrib_runtime.policy.approval_tokens import Grant


async def show_approval(invocation: Invocation, approvals: Approvals, *, policy_version: str, reason: str) -> Grant:
    """Use up the approval that came with the call.

    Raises:
        ApprovalRequired: None came; `pending` is what somebody must decide.
        ApprovalRefused: It is not good for this call.
    """
    arguments = orjson.loads(invocation.snapshot)
    subject = _subject_of(invocation, digest(arguments), policy_version)
    token = invocation.call.approval
    if token is not None:
        return await approvals.redeem(token, subject)
    error = ApprovalRequired(
        f"{quoted(subject.tool_id)} needs approval before it runs: {reason}.",
        hint="Nothing was run. When somebody has approved, make the same call again with the approval.",
        details={"reason": reason},
    )
    error.pending = approvals.request(subject, reason=reason, summary=_summary_of(invocation.definition, arguments))
    raise error


def is_approved_above(invocation: Invocation) -> bool:
    """Whether somebody approved of a call that this one is a step of, at whatever distance."""
    above = invocation.parent
    while above is not None and not above.approved:
        above = above.parent
    return above is not None


def step_needs_approval(step: Invocation, parent: Invocation, reason: str) -> ApprovalRequired:
    """The error for a step that a rule asks about, while nobody approved of the call it belongs to."""
    composed = f"{parent.definition.namespace}:{parent.definition.name}"
    return ApprovalRequired(
        f"The step {quoted(step.definition.id)} of {quoted(parent.definition.id)} needs approval: {reason}.",
        hint=f'A step cannot be approved by itself: have the whole call approved, with the rule `ask("{composed}")`.',
        details={"reason": reason, "step": step.definition.id},
    )


def _subject_of(invocation: Invocation, arguments_digest: str, policy_version: str) -> ApprovalSubject:
    context = invocation.options.context
    tenant = context.tenant if context is not None else None
    return ApprovalSubject(
        tool_id=invocation.definition.id,
        tool_digest=invocation.definition.digest,
        arguments_digest=arguments_digest,
        principal=invocation.principal,
        tenant=tenant.id if tenant is not None else None,
        policy_version=policy_version,
    )


def _summary_of(definition: ToolDefinition, arguments: dict[str, object]) -> str:
    title = f" ({shown(definition.title)})" if definition.title else ""
    given = f"with the arguments {listed(arguments)}" if arguments else "without arguments"
    return f"Run {quoted(definition.id)}{title} {given}."
