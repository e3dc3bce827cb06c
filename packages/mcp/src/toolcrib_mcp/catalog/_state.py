"""What a catalogue holds at one moment: nothing in it ever changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

from toolcrib_mcp.catalog._duplicates import withheld_findings
from toolcrib_mcp.catalog._entries import CatalogEntry, Claims
from toolcrib_mcp.catalog._findings import CatalogReport
from toolcrib_mcp.catalog._listing import UpstreamListing
from toolcrib_mcp.catalog._shadowing import shadowing_findings
from toolcrib_mcp.pins.withheld import WithheldTool


@dataclass(frozen=True, kw_only=True, eq=False)
class CatalogState:
    """Every server's listing, and what follows from all of them together."""

    revision: int = 0
    listings: Mapping[str, UpstreamListing] = field(default_factory=dict)
    """By server, ascending."""
    served: Mapping[str, CatalogEntry] = field(default_factory=dict)
    """By id: the tools that can be called."""
    contested: Claims = field(default_factory=dict)
    """By id: the tools that cannot be told apart."""
    withheld: Mapping[str, WithheldTool] = field(default_factory=dict)
    """By id: the tools that are not what was trusted."""

    def with_listing(self, upstream: str, listing: UpstreamListing | None) -> CatalogState:
        """The state in which that is the server's listing; `None` takes the server out."""
        return self.with_listings({upstream: listing})

    def with_listings(self, changed: Mapping[str, UpstreamListing | None]) -> CatalogState:
        """As `with_listing`, for several servers at once."""
        listings = {**self.listings, **changed}
        kept = {name: each for name, each in sorted(listings.items()) if each is not None}
        claims = _joined_claims(kept.values())
        return CatalogState(
            revision=self.revision + 1,
            listings=kept,
            served={tool_id: claimants[0] for tool_id, claimants in claims.items() if len(claimants) == 1},
            contested={tool_id: claimants for tool_id, claimants in claims.items() if len(claimants) > 1},
            withheld=dict(chain.from_iterable(each.withheld_ids.items() for each in kept.values())),
        )

    @cached_property
    def report(self) -> CatalogReport:
        """What is wrong with the tools that the servers list."""
        findings = chain.from_iterable(listing.findings for listing in self.listings.values())
        return CatalogReport.of(chain(findings, withheld_findings(self.contested), shadowing_findings(self.served)))

    @cached_property
    def flags(self) -> Mapping[str, tuple[str, ...]]:
        """By tool id: why the scan flags it, where it does."""
        flags: dict[str, list[str]] = {}
        for each in self.report.flagged:
            flags.setdefault(each.tool_id, []).append(each.reason)
        return {tool_id: tuple(reasons) for tool_id, reasons in flags.items()}


def _joined_claims(listings: Iterable[UpstreamListing]) -> Claims:
    joined: dict[str, tuple[CatalogEntry, ...]] = {}
    for listing in listings:
        shared = {each: joined[each] + listing.claims[each] for each in joined.keys() & listing.claims.keys()}
        joined |= listing.claims
        joined |= shared
    return joined
