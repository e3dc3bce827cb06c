"""What clients see of the gateway: one tool that runs the others, or one each for reading, writing and destroying.

With one each, whoever allows `tool_execute_read` for good in a client allows no more than reading.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from toolcrib_core.wording import quoted
from toolcrib_mcp.gateway.meta_tools import (
    BROWSE,
    EXECUTE,
    EXECUTE_DESTRUCTIVE,
    EXECUTE_READ,
    EXECUTE_WRITE,
    INSTRUCTIONS,
    INSTRUCTIONS_BY_RISK,
    META_TOOLS,
    META_TOOLS_BY_RISK,
)
from toolcrib_runtime.errors import NotPermitted

if TYPE_CHECKING:
    from toolcrib_mcp.policy.risks import RiskClass

_RUNS: Final[Mapping[RiskClass, str]] = {"read": "that only read", "write": "that read or write"}
_DOES: Final[Mapping[RiskClass, str]] = {
    "write": "writes",
    "undeclared": "does not declare what it does",
    "destructive": "may delete or overwrite data",
}

_SERVERS: Final = "Servers: "


@dataclass(frozen=True, kw_only=True)
class Surface:
    """The tools that a client is shown, and which of them run others."""

    tools: tuple[Mapping[str, Any], ...]
    instructions: str
    ceilings: Mapping[str, RiskClass]
    """By name of a tool that runs others, from the mildest on: the worst that it runs."""

    def tools_with(self, digest: str) -> list[Mapping[str, Any]]:
        """The tools; the one that finds tools says which servers there are."""
        return [_introducing(each, digest) if each["name"] == BROWSE else each for each in self.tools]

    def instructions_with(self, digest: str) -> str:
        """The instructions, with the servers that there are."""
        return f"{self.instructions} {_SERVERS}{digest}" if digest else self.instructions

    @property
    def first(self) -> str:
        """The tool to try first."""
        return next(iter(self.ceilings))

    def check(self, name: str, tool_id: str, risk: RiskClass) -> None:
        """See to it that a tool is run by one that runs such tools.

        Raises:
            NotPermitted: It is not; the hint names one that does.
        """
        # Here: the tools are listed before anything of the policy is needed.
        from toolcrib_mcp.policy.risks import is_covered

        if is_covered(risk, self.ceilings[name]):
            return
        right = next(each for each, bound in self.ceilings.items() if is_covered(risk, bound))
        raise NotPermitted(
            f"`{name}` runs only tools {_RUNS[self.ceilings[name]]}, and {quoted(tool_id)} {_DOES[risk]}.",
            hint=f"Nothing was run. Call `{right}` with the same arguments.",
            details={"use": right, "risk": risk},
        )


def _introducing(tool: Mapping[str, Any], digest: str) -> Mapping[str, Any]:
    return {**tool, "description": f"{tool['description']} {_SERVERS}{digest}"} if digest else tool


ONE: Final = Surface(tools=META_TOOLS, instructions=INSTRUCTIONS, ceilings={EXECUTE: "destructive"})
BY_RISK: Final = Surface(
    tools=META_TOOLS_BY_RISK,
    instructions=INSTRUCTIONS_BY_RISK,
    ceilings={EXECUTE_READ: "read", EXECUTE_WRITE: "write", EXECUTE_DESTRUCTIVE: "destructive"},
)
SURFACES: Final[Mapping[Literal["one", "by-risk"], Surface]] = {"one": ONE, "by-risk": BY_RISK}
"""By what the configuration says of `execute`."""
