"""What an approval is about: exactly one call, and how it is told to whoever decides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from toolcrib_core import digest
from toolcrib_core.wording import listed, quoted, shown
from toolcrib_runtime.policy.approvals import ApprovalSubject

if TYPE_CHECKING:
    from toolcrib_mcp.safeguards.call import GuardedCall

MAX_DESCRIPTION: Final = 4_000
"""How many characters of what a tool says about itself are kept for the person who decides."""


@dataclass(frozen=True, kw_only=True)
class CallFacts:
    """What would run, as the person who decides is shown it."""

    tool_id: str
    server: str
    upstream_name: str
    """What the tool is called there."""
    title: str
    description: str
    """What the tool says about itself."""
    risk: Mapping[str, Any]
    principal: str
    """Who calls."""
    client: str
    """The name of the program that calls, as it says itself."""
    arguments: Mapping[str, Any]
    """As the server will get them."""

    @classmethod
    def of(cls, call: GuardedCall) -> CallFacts:
        """Those of a call."""
        definition = call.tool.definition
        name = call.request.caller.info.get("name")
        return cls(
            tool_id=call.tool.tool_id,
            server=call.tool.upstream,
            upstream_name=call.tool.upstream_name,
            title=shown(definition.title or ""),
            description=definition.description[:MAX_DESCRIPTION],
            risk=call.risk.model_dump(mode="json"),
            principal=call.principal,
            client=shown(name) if isinstance(name, str) else "",
            arguments=call.arguments,
        )


def subject_of(call: GuardedCall, *, policy_version: str) -> ApprovalSubject:
    """Exactly which call it is: if any part is another, an approval is not for it.

    Raises:
        NotJson: The arguments have no form that is theirs alone.
    """
    return ApprovalSubject(
        tool_id=call.tool.tool_id,
        tool_digest=call.tool.digest,
        arguments_digest=call.arguments_digest,
        principal=call.principal,
        tenant=None,
        policy_version=policy_version,
    )


def key_of(subject: ApprovalSubject) -> str:
    """What a subject is found by."""
    return digest(list(subject))


def summary_of(call: GuardedCall) -> str:
    """What would be done, in a sentence; the names of the arguments, but not what is in them."""
    title = call.tool.definition.title
    named = f"{quoted(call.tool.tool_id)}{f' ({shown(title)})' if title else ''}"
    given = f"with the arguments {listed(call.arguments)}" if call.arguments else "without arguments"
    return f"Run {named} on the server {quoted(call.tool.upstream)} {given}."
