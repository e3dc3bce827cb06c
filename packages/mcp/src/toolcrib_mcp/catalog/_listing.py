"""All tools of one server, read; what was read before in the same words is not read again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import orjson

from toolcrib_core.wording import MAX_SHOWN, count, shown
from toolcrib_mcp.catalog._entries import CatalogEntry, Claims, UpstreamTerms
from toolcrib_mcp.catalog._findings import ToolFinding
from toolcrib_mcp.catalog._reading import ToolReading, read_tool, unreadable
from toolcrib_mcp.pins.withheld import WithheldTool

_JSON_ONLY = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME


@dataclass(frozen=True, kw_only=True)
class UpstreamListing:
    """What a server lists, whatever the order it lists it in."""

    upstream: str
    terms: UpstreamTerms
    readings: Mapping[bytes, ToolReading]
    """By the JSON text of the tool, ascending."""
    claims: Claims
    findings: tuple[ToolFinding, ...]
    """All but those about tools that cannot be told apart, which other servers have a part in."""
    withheld: tuple[WithheldTool, ...] = ()
    """The tools that are not served for what they are, in the order of their names."""
    withheld_ids: Mapping[str, WithheldTool] = field(default_factory=dict)
    """By every id that they have, or had when they were trusted."""


def read_listing(
    upstream: str,
    tools: Iterable[object],
    *,
    terms: UpstreamTerms,
    before: UpstreamListing | None = None,
    withheld: Iterable[WithheldTool] = (),
) -> UpstreamListing:
    """Read the raw tools of a server; `before` is its listing so far, whose readings are used again.

    What is `withheld` is not among the tools, and only known by its ids.
    """
    known = before.readings if before is not None and before.terms == terms else {}
    texts: Counter[bytes] = Counter()
    read: dict[bytes, ToolReading] = {}
    findings: list[ToolFinding] = []
    for tool in tools:
        tool_json = _json_of(tool)
        if tool_json is None:
            findings.append(unreadable(upstream, tool))
            continue
        texts[tool_json] += 1
        if tool_json not in read:
            read[tool_json] = known.get(tool_json) or read_tool(tool_json, upstream=upstream, terms=terms)
    readings = {tool_json: read[tool_json] for tool_json in sorted(read)}
    findings += _findings(readings, texts)
    kept_back = tuple(sorted(withheld, key=lambda each: each.name))
    ids = {each: _ids_of(each, upstream=upstream, terms=terms) for each in kept_back}
    findings += [_withheld(each, *ids[each][:1]) for each in kept_back]
    return UpstreamListing(
        upstream=upstream,
        terms=terms,
        readings=readings,
        claims=_claims(entry for entry in readings.values() if isinstance(entry, CatalogEntry)),
        findings=tuple(sorted(set(findings))),
        withheld=kept_back,
        withheld_ids={tool_id: each for each in kept_back for tool_id in ids[each]},
    )


def _json_of(tool: object) -> bytes | None:
    try:
        return orjson.dumps(tool, option=_JSON_ONLY)
    except TypeError:
        return None


def _findings(readings: Mapping[bytes, ToolReading], texts: Mapping[bytes, int]) -> Iterator[ToolFinding]:
    for tool_json, reading in readings.items():
        if isinstance(reading, ToolFinding):
            yield reading
            continue
        yield from reading.findings
        if texts[tool_json] > 1:
            yield _repeated(reading, texts[tool_json])


def _repeated(entry: CatalogEntry, times: int) -> ToolFinding:
    tool = entry.hydrated
    return ToolFinding(
        kind="repaired",
        upstream=tool.upstream,
        name=shown(tool.upstream_name),
        tool_id=tool.tool_id,
        reason=f"It is listed {count(times, 'time')} in the same words, and served once.",
    )


def _ids_of(tool: WithheldTool, *, upstream: str, terms: UpstreamTerms) -> tuple[str, ...]:
    """The id that it would have, then the one that it had; none for a definition that cannot be used anyway."""
    texts = (each for each in (tool.listed, tool.pinned) if each is not None)
    readings = (read_tool(each, upstream=upstream, terms=terms) for each in texts)
    return tuple(each.hydrated.tool_id for each in readings if isinstance(each, CatalogEntry))


def _withheld(tool: WithheldTool, tool_id: str = "") -> ToolFinding:
    return ToolFinding(
        kind="withheld",
        upstream=tool.server,
        name=shown(tool.name),
        tool_id=tool_id,
        reason=tool.explained(tool.name),
        hint=tool.remedy,
    )


def _claims(entries: Iterable[CatalogEntry]) -> Claims:
    """Tools with one id claim it together; and so do tools with one name, since a call says no more than the name."""
    by_id: dict[str, list[CatalogEntry]] = {}
    by_name: dict[str, list[CatalogEntry]] = {}
    for entry in entries:
        by_id.setdefault(entry.hydrated.tool_id, []).append(entry)
        by_name.setdefault(entry.hydrated.upstream_name, []).append(entry)
    return {
        tool_id: (*claimants, *_namesakes(claimants[0], by_name)) if len(claimants) == 1 else tuple(claimants)
        for tool_id, claimants in by_id.items()
    }


def _namesakes(entry: CatalogEntry, by_name: Mapping[str, list[CatalogEntry]]) -> Iterator[CatalogEntry]:
    # The first few are enough to refuse by: 10,000 tools of one name must not make 10,000 lists of 10,000.
    for other in by_name[entry.hydrated.upstream_name][:MAX_SHOWN]:
        if other is not entry:
            yield other
