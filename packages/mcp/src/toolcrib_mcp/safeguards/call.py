"""A call on its way to a server, as all safeguards see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from toolcrib_core.schema.canonical import digest
from toolcrib_mcp.policy.risks import risk_class

if TYPE_CHECKING:
    from toolcrib_core import ToolRisk
    from toolcrib_mcp.catalog import Declared, HydrationResult
    from toolcrib_mcp.front.service import Request
    from toolcrib_mcp.policy.risks import RiskClass

Validate: TypeAlias = "Callable[[], object]"
"""Raises `ArgumentError` for arguments that do not satisfy the schema of the tool."""

RiskCheck: TypeAlias = "Callable[[str, RiskClass], None]"
"""Raises `NotPermitted` for a tool, by its id, whose risk is too high for where the call came through."""

_CALL: Final = "tools/call"
_NOT_BESIDE: Final = frozenset({"name", "arguments", "_meta", "requestState", "inputResponses"})

LOCAL: Final = "local"
"""Who a client is that nobody asked: the user of this machine."""


@dataclass(frozen=True, kw_only=True)
class GuardedCall:
    """One call: which tool, with which arguments, for whom."""

    tool: HydrationResult
    arguments: Mapping[str, Any]
    """As the server will get them, with references to artifacts followed."""
    request: Request
    risk: ToolRisk
    """What the tool may do, as the operator sees it."""
    declared: Declared = "nothing"
    """What its server declares that it does."""
    flags: tuple[str, ...] = ()
    """Why the scan flags the tool."""
    listed: bool = True
    """Whether its server lists the tool; only the transparent proxy passes on what is not listed, and nothing of that
    can be pinned."""
    validate: Validate | None = None
    """Validates the arguments, which may take long: only for a call that is not denied."""
    check: RiskCheck | None = None
    """What the tool that it came through has to say about it."""

    def check_risk(self) -> None:
        """See to it that the tool which the call came through runs tools of this risk.

        Raises:
            NotPermitted: It does not.
        """
        if self.check is not None:
            self.check(self.tool.tool_id, risk_class(self.risk, self.declared, flagged=bool(self.flags)))

    @property
    def principal(self) -> str:
        """Who calls."""
        return self.request.caller.principal or LOCAL

    @cached_property
    def beside(self) -> Mapping[str, Any]:
        """What else of its params the server acts on, such as `task`; metadata and answers to questions left aside."""
        if self.request.method != _CALL:
            return {}  # all params of another request are its arguments
        return {name: value for name, value in self.request.params.items() if name not in _NOT_BESIDE}

    @cached_property
    def arguments_digest(self) -> str:
        """SHA-256 of the arguments and of what goes beside them, in hex.

        Raises:
            NotJson: They are no JSON that has one form only.
        """
        return digest([self.arguments, self.beside]) if self.beside else digest(self.arguments)
