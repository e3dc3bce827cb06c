"""What was wrong with the tools that servers list, told once and in order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

FindingKind: TypeAlias = Literal["left-out", "withheld", "unlisted", "repaired", "flagged"]
"""What became of the tool.

`left-out`: it cannot be used. `withheld`: it cannot be told from another, or is not what was trusted. `unlisted`: it is
on no page, but can be called by its id. `repaired`: it is served, with something left out or put in. `flagged`: it is
served, and its card says that its text reads like orders to a model.
"""


@dataclass(frozen=True, kw_only=True, order=True)
class ToolFinding:
    """One thing that was wrong with one tool."""

    upstream: str
    name: str
    """What the server calls it, shortened and printable; empty when it has no name."""
    kind: FindingKind
    reason: str
    hint: str = ""
    tool_id: str = ""
    """Its id, when it has one."""

    def to_dict(self) -> dict[str, str]:
        """The finding as JSON; keys with nothing to say are absent."""
        told = {
            "kind": self.kind,
            "upstream": self.upstream,
            "name": self.name,
            "id": self.tool_id,
            "reason": self.reason,
            "hint": self.hint,
        }
        return {key: text for key, text in told.items() if text}


@dataclass(frozen=True)
class CatalogReport:
    """Every finding about the tools of a catalogue, by server and name: the same for every order of tools."""

    findings: tuple[ToolFinding, ...] = ()

    @classmethod
    def of(cls, findings: Iterable[ToolFinding]) -> CatalogReport:
        """The report of these findings, each once."""
        return cls(tuple(sorted(set(findings))))

    @property
    def left_out(self) -> tuple[ToolFinding, ...]:
        """The tools that cannot be used."""
        return self._of_kind("left-out")

    @property
    def withheld(self) -> tuple[ToolFinding, ...]:
        """The tools that cannot be told apart."""
        return self._of_kind("withheld")

    @property
    def unlisted(self) -> tuple[ToolFinding, ...]:
        """The tools that are on no page."""
        return self._of_kind("unlisted")

    @property
    def repaired(self) -> tuple[ToolFinding, ...]:
        """The tools that are served otherwise than they were listed."""
        return self._of_kind("repaired")

    @property
    def flagged(self) -> tuple[ToolFinding, ...]:
        """The tools whose text reads like orders to a model."""
        return self._of_kind("flagged")

    def _of_kind(self, kind: FindingKind) -> tuple[ToolFinding, ...]:
        return tuple(finding for finding in self.findings if finding.kind == kind)
