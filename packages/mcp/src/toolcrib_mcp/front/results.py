"""Results in the form that the era of the client asks for; what is there already is kept as it came."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from toolcrib_mcp.front.wrapping import WRAPPER, wrapped_schema
from toolcrib_mcp.upstreams.eras import META_SERVER

CACHEABLE: Final = frozenset(
    {"tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read", "server/discover"}
)
"""The requests whose modern results say how long they may be kept, and for whom."""

COMPLETE: Final = "complete"

_MODERN_ONLY = frozenset({"resultType", "ttlMs", "cacheScope"})


def modern_result(method: str, result: Mapping[str, Any], *, info: Mapping[str, Any]) -> dict[str, Any]:
    """The result with everything that a modern client is promised; without a word about it, nothing may be kept."""
    completed = dict(result)
    completed.setdefault("resultType", COMPLETE)
    if method in CACHEABLE and completed["resultType"] == COMPLETE:
        completed.setdefault("ttlMs", 0)
        completed.setdefault("cacheScope", "private")
    meta = completed.get("_meta")
    if meta is None:
        completed["_meta"] = {META_SERVER: info}
    elif isinstance(meta, Mapping) and meta.get(META_SERVER) is None:
        completed["_meta"] = {**meta, META_SERVER: info}
    return completed


def handshake_result(result: Mapping[str, Any]) -> Mapping[str, Any]:
    """The result without what only modern clients know; structured content that is no object is put into one."""
    plain: Mapping[str, Any] = result
    structured = result.get("structuredContent")
    if structured is not None and not isinstance(structured, Mapping):
        plain = result = {**result, "structuredContent": {WRAPPER: structured}}
    elif isinstance(result.get("tools"), list):
        plain = result = _with_wrapped_schemas(result)
    if not _MODERN_ONLY.isdisjoint(result):
        plain = {name: value for name, value in result.items() if name not in _MODERN_ONLY}
    meta = result.get("_meta")
    if not isinstance(meta, Mapping) or META_SERVER not in meta:
        return plain
    others = {name: value for name, value in plain.items() if name != "_meta"}
    kept = {name: value for name, value in meta.items() if name != META_SERVER}
    return {**others, "_meta": kept} if kept else others


def _with_wrapped_schemas(result: Mapping[str, Any]) -> Mapping[str, Any]:
    """The list of tools with output schemas that say what their wrapped results are."""
    if not any(map(_promises_no_object, result["tools"])):
        return result
    tools = [
        {**each, "outputSchema": wrapped_schema(each["outputSchema"])} if _promises_no_object(each) else each
        for each in result["tools"]
    ]
    return {**result, "tools": tools}


def _promises_no_object(tool: object) -> bool:
    schema = tool.get("outputSchema") if isinstance(tool, Mapping) else None
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    return isinstance(kind, str) and kind != "object"
