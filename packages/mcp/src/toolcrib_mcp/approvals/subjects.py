"""What an approval is about: exactly one call, and how it is told to whoever decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from toolcrib_core import ToolRisk, digest
from toolcrib_core.wording import quoted, shown
from toolcrib_mcp.policy.subjects import PolicySubject
from toolcrib_runtime.policy.approvals import ApprovalSubject

if TYPE_CHECKING:
    from toolcrib_mcp.catalog import Declared
    from toolcrib_mcp.safeguards.call import GuardedCall

ANSWERS: Final = ("requestState", "inputResponses")
"""What of the params answers a question: one of the server, or one of ours."""

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
    beside: Mapping[str, Any] = field(default_factory=dict)
    """What else the server will get, by its names in the params of the request."""
    declared: Declared = "nothing"
    """What the server declares that the tool does."""
    flags: Sequence[str] = ()
    """Why the scan flags the tool."""
    definition: str = ""
    """The digest of the definition of the tool."""
    session: str | None = None
    """In which session of a client; `None` for a call that stands alone."""
    lasting: bool = False
    """Whether an answer may be remembered."""

    @classmethod
    def of(cls, call: GuardedCall, *, session: str | None = None, lasting: bool = False) -> CallFacts:
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
            beside=call.beside,
            declared=call.declared,
            flags=call.flags,
            definition=call.tool.digest,
            session=session,
            lasting=lasting,
        )

    @property
    def subject(self) -> PolicySubject:
        """The call as a policy sees it."""
        return PolicySubject(
            server=self.server,
            tool=self.upstream_name,
            tool_id=self.tool_id,
            risk=ToolRisk.model_validate(self.risk),
            principal=self.principal,
            declared=self.declared,
            flags=tuple(self.flags),
            definition=self.definition,
        )


def subject_of(call: GuardedCall, *, policy_version: str, with_answers: bool = True) -> ApprovalSubject:
    """Exactly which call it is: if any part is another, an approval is not for it.

    What the request answers a question of its server is a part, `with_answers`, too.

    Raises:
        NotJson: The arguments have no form that is theirs alone.
    """
    given = call.request.params if with_answers else {}
    answers = {name: given[name] for name in ANSWERS if name in given}
    return ApprovalSubject(
        tool_id=call.tool.tool_id,
        tool_digest=call.tool.digest,
        arguments_digest=digest([call.arguments_digest, answers]) if answers else call.arguments_digest,
        principal=call.principal,
        tenant=None,
        policy_version=policy_version,
    )


def key_of(subject: ApprovalSubject) -> str:
    """What a subject is found by."""
    return digest(list(subject))


def summary_of(call: GuardedCall) -> str:
    """What would be done, in a sentence.

    Only the id and the configured name of the server are in it: a title is the server's own text, and could read like
    the question about another tool.
    """
    return f"Run {quoted(call.tool.tool_id)} on the server {quoted(call.tool.upstream)}?"
