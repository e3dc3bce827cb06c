"""One raw tool of a server, read: into an entry, or into the reason why not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import orjson

from toolcrib_core import (
    DEFAULT_NAMESPACE,
    CardOverBudget,
    ChoiceCard,
    InvalidDefinition,
    SchemaError,
    ToolDefinition,
    ToolError,
    make_card,
    upstream_identity,
)
from toolcrib_core.wording import count, kind_of, quoted, shown
from toolcrib_mcp.catalog._entries import CatalogEntry, HydrationResult, UpstreamTerms
from toolcrib_mcp.catalog._findings import FindingKind, ToolFinding
from toolcrib_mcp.catalog._hints import declared_version, hinted_risk
from toolcrib_mcp.catalog._schemas import checked_object, mended
from toolcrib_mcp.scan import TextFinding, scan_texts

ToolReading: TypeAlias = CatalogEntry | ToolFinding

RESERVED_NAMES = frozenset(
    "tool_browse tool_execute tool_execute_read tool_execute_write tool_execute_destructive tool_hydrate "
    "tool_view".split()
)
"""The gateway's own tools. In the namespace `default` the provider-safe name of a tool is its bare name."""

FLAGGED: Final = "flagged"
"""The tag on the card of a tool whose text reads like orders to a model."""

_MAX_FLAGS = 5
_UNSEEN = "Ask whoever runs the server to take it out."
_OPEN_OBJECT: dict[str, Any] = {"type": "object"}


def read_tool(tool_json: bytes, *, upstream: str, terms: UpstreamTerms) -> ToolReading:
    """The entry of a tool, or the finding that it cannot be used; what a server sends never makes this fail."""
    # From the text, not from what it was made of: what is read is then what is passed on and written down.
    tool = orjson.loads(tool_json)
    repairs: list[str] = []
    try:
        listed = _checked_tool(tool)
        definition = _define(listed, terms, repairs)
    except ToolError as failure:
        return _finding("left-out", upstream, _name_of(tool), failure.message, hint=failure.hint or "")
    scanned = scan_texts(listed)
    if scanned.refused:
        return _finding("left-out", upstream, listed["name"], _refusal(scanned.refused), hint=_UNSEEN)
    hydrated = HydrationResult(
        tool_id=definition.id,
        upstream=upstream,
        upstream_name=listed["name"],
        definition=definition,
        tool_json=tool_json,
    )
    repairs += [f"`{lost.pointer}`: {lost.message}" for lost in definition.lossy]
    card, unlisted = _card(hydrated, terms, flagged=bool(scanned.flagged))
    findings = (*_repaired(hydrated, repairs), *unlisted, *_flagged(hydrated, scanned.flagged))
    return CatalogEntry(hydrated=hydrated, card=card, findings=findings)


def unreadable(upstream: str, tool: object) -> ToolFinding:
    """The finding that a tool is not JSON that can be passed on."""
    return _finding(
        "left-out",
        upstream,
        _name_of(tool),
        "The tool is not JSON that can be passed on.",
        hint="It holds a lone surrogate, a number beyond 64 bits, or is nested too deep.",
    )


def _checked_tool(tool: object) -> dict[str, Any]:
    if not isinstance(tool, dict):
        raise InvalidDefinition(f"A tool must be an object, not {kind_of(tool)}.")
    name = tool.get("name")
    if name is None or name == "":
        raise InvalidDefinition("The tool has no name.")
    if not isinstance(name, str):
        raise InvalidDefinition(f"The name of a tool must be text, not {kind_of(name)}.")
    return tool


def _define(tool: dict[str, Any], terms: UpstreamTerms, repairs: list[str]) -> ToolDefinition:
    annotations = _object(tool, "annotations", repairs)
    meta = _object(tool, "_meta", repairs)
    version = declared_version(tool, meta)
    identity = upstream_identity(tool["name"], server=terms.server, version=version)
    if identity.namespace == DEFAULT_NAMESPACE and identity.name in RESERVED_NAMES:
        raise InvalidDefinition(
            f"{quoted(identity.name)} is a tool of the gateway itself.", hint="Configure the server under another name."
        )
    if identity.version != version:
        repairs.append("An id cannot hold its version; a hash of its parameters takes the place.")
    fields = {
        "identity": identity,
        "upstream_name": tool["name"],
        "title": _text(tool, "title", repairs) or _text(annotations, "title", repairs),
        "description": _text(tool, "description", repairs) or "",
        "input_schema": _input_schema(tool, repairs),
        "output_schema": _output_schema(tool, repairs),
        "risk": hinted_risk(annotations, meta, trusted=terms.trusted),
        # The digest of what a tool says about itself counts the annotations; a card shows no host that is named here.
        "metadata": {key: value for key, value in (("annotations", annotations), ("_meta", meta)) if value},
    }
    try:
        return ToolDefinition(**fields)
    except ToolError:
        return ToolDefinition(**fields | _mended_schemas(fields, repairs))


def _mended_schemas(fields: dict[str, Any], repairs: list[str]) -> dict[str, Any]:
    input_schema, lossy = mended(fields["input_schema"], "/inputSchema")
    output_schema = fields["output_schema"]
    try:
        output_schema, lost = (None, ()) if output_schema is None else mended(output_schema, "/outputSchema")
        lossy += lost
    except SchemaError as failure:
        output_schema = None
        repairs.append(f"Its results are not validated, since its output schema cannot be used. {failure.message}")
    return {"input_schema": input_schema, "output_schema": output_schema, "lossy": lossy}


def _input_schema(tool: Mapping[str, object], repairs: list[str]) -> dict[str, Any]:
    schema = tool.get("inputSchema")
    if schema is None:
        repairs.append("It has no input schema; any arguments are passed on.")
        return _OPEN_OBJECT
    return checked_object(schema, "/inputSchema")


def _output_schema(tool: Mapping[str, object], repairs: list[str]) -> dict[str, Any] | None:
    schema = tool.get("outputSchema")
    if schema is None or isinstance(schema, dict):
        return schema
    repairs.append(f"Its results are not validated: `outputSchema` must be an object, not {kind_of(schema)}.")
    return None


def _object(tool: Mapping[str, object], key: str, repairs: list[str]) -> dict[str, Any]:
    value = tool.get(key)
    if isinstance(value, dict):
        return value
    if value is not None:
        repairs.append(f"`{key}` is not read: it must be an object, not {kind_of(value)}.")
    return {}


def _text(holder: Mapping[str, object], key: str, repairs: list[str]) -> str | None:
    value = holder.get(key)
    if value is None or isinstance(value, str):
        return value
    repairs.append(f"`{key}` is not read: it must be text, not {kind_of(value)}.")
    return None


def _card(
    hydrated: HydrationResult, terms: UpstreamTerms, *, flagged: bool
) -> tuple[ChoiceCard | None, tuple[ToolFinding, ...]]:
    definition = hydrated.definition
    if flagged:
        # Only of what the card is made from: the tool says the same about itself, so its digest stays as it is.
        definition = definition.model_copy(update={"tags": (FLAGGED, *definition.tags)})
    try:
        return make_card(definition, withhold=terms.withhold), ()
    except CardOverBudget as failure:
        found = _finding(
            "unlisted",
            hydrated.upstream,
            hydrated.upstream_name,
            failure.message,
            hint="It is on no page, and can be called by its id.",
            tool_id=hydrated.tool_id,
        )
        return None, (found,)


def _repaired(hydrated: HydrationResult, repairs: Iterable[str]) -> Iterable[ToolFinding]:
    for reason in repairs:
        yield _finding("repaired", hydrated.upstream, hydrated.upstream_name, reason, tool_id=hydrated.tool_id)


def _refusal(refused: Sequence[TextFinding]) -> str:
    more = f", and {count(len(refused) - 1, 'more like it', 'more like it')}" if len(refused) > 1 else ""
    return f"Its text is not what a person sees: {refused[0]}{more}."


def _flagged(hydrated: HydrationResult, flagged: Sequence[TextFinding]) -> Iterable[ToolFinding]:
    for each in flagged[:_MAX_FLAGS]:
        yield _finding(
            "flagged",
            hydrated.upstream,
            hydrated.upstream_name,
            f"{each}.",
            hint="Read its description before you rely on it.",
            tool_id=hydrated.tool_id,
        )


def _name_of(tool: object) -> str:
    name = tool.get("name") if isinstance(tool, dict) else None
    return name if isinstance(name, str) else ""


def _finding(
    kind: FindingKind, upstream: str, name: str, reason: str, *, hint: str = "", tool_id: str = ""
) -> ToolFinding:
    return ToolFinding(kind=kind, upstream=upstream, name=shown(name), reason=reason, hint=hint, tool_id=tool_id)
