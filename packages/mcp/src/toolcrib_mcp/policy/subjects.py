"""Who calls what: all that a policy goes by, and the patterns over it."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolcrib_core import ToolRisk
from toolcrib_mcp.policy.risks import RiskClass, risk_class

if TYPE_CHECKING:
    from toolcrib_mcp.catalog import Declared
    from toolcrib_mcp.policy.model import ScopeEntry
    from toolcrib_mcp.safeguards.call import GuardedCall


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySubject:
    """A call, as far as a policy looks at it."""

    server: str
    """The name that the configuration gives the server."""
    tool: str
    """What the tool is called there."""
    tool_id: str
    risk: ToolRisk
    """What the tool may do, as the operator sees it."""
    principal: str
    declared: Declared = "nothing"
    """What its server declares that it does. No rule goes by this: it only decides where no rule is about the call."""
    flags: tuple[str, ...] = ()
    """Why the scan flags the tool."""
    definition: str = ""
    """The digest of all that the server says about the tool."""

    @property
    def risk_class(self) -> RiskClass:
        """What the tool may do at worst."""
        return risk_class(self.risk, self.declared, flagged=bool(self.flags))

    @property
    def short_id(self) -> str:
        """`namespace:name`: version and hash change with the definition, and who is meant does not."""
        return re.split("[@#]", self.tool_id, maxsplit=1)[0]


def subject_of(call: GuardedCall) -> PolicySubject:
    """A call as a policy sees it."""
    return PolicySubject(
        server=call.tool.upstream,
        tool=call.tool.upstream_name,
        tool_id=call.tool.tool_id,
        risk=call.risk,
        principal=call.principal,
        declared=call.declared,
        flags=call.flags,
        definition=call.tool.digest,
    )


class Scope:
    """The calls that the patterns of an entry fit.

    A pattern with a `:` is about ids. It also fits a tool whose own name has a `:`, unless it is to fit `strictly`: a
    server could give a tool a name by which a rule for another server lets it run.
    """

    __slots__ = ("_by_id", "_principal", "_server", "_tool")

    def __init__(self, entry: ScopeEntry) -> None:
        self._server = matcher(entry.server)
        self._principal = matcher(entry.principal)
        self._tool = matcher(entry.tool)
        self._by_id = entry.tool is not None and ":" in entry.tool

    def fits(self, subject: PolicySubject, *, strictly: bool = False) -> bool:
        """Whether the call is meant."""
        if not (self._server(subject.server) and self._principal(subject.principal)):
            return False
        short_id = subject.short_id
        if self._by_id:
            # A rule may have the id as a page shows it, with its version or hash.
            named = self._tool(short_id) or self._tool(subject.tool_id)
            return named or (not strictly and self._tool(subject.tool))
        # The name in the id is what people are shown; where the server's own is no legal name, the two differ.
        return self._tool(subject.tool) or self._tool(short_id.partition(":")[2])


def matcher(pattern: str | None) -> Callable[[str], bool]:
    """Whether a text fits a pattern; without a pattern, all do."""
    if pattern is None:
        return lambda _text: True
    match = re.compile(fnmatch.translate(pattern)).match
    return lambda text: match(text) is not None
