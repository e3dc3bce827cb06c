"""What a tool says about itself beside its schema: how much harm it may do, and its version.

Annotations come from the server: one that is not trusted can make its tools count as more dangerous, never as less.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, Literal, TypeAlias

from toolcrib_core import ToolRisk
from toolcrib_core.risk import Effects

Declared: TypeAlias = Literal["nothing", "read", "write", "destructive"]
"""What the annotations of a tool declare that it does, whether its server is trusted or not."""

META_REQUIRES_APPROVAL: Final = "io.toolcrib/requiresApproval"
"""In the `_meta` of a tool: each call needs an approval. Any server may say so, since it only raises the risk."""


def hinted_risk(
    annotations: Mapping[str, object], meta: Mapping[str, object] | None = None, *, trusted: bool
) -> ToolRisk:
    """The risk of a tool with these annotations, and this `_meta`.

    From a server that is not trusted, hints only raise: the effects stay unknown, which is the top. From a trusted one
    `readOnlyHint` says whether it writes; a tool that writes counts as destructive unless it says that it is not, which
    is the protocol's own default.
    """
    destructive, open_world = bool(annotations.get("destructiveHint")), bool(annotations.get("openWorldHint"))
    approval = (meta or {}).get(META_REQUIRES_APPROVAL) is True
    if not trusted:
        return ToolRisk(destructive=destructive, external_network=open_world, requires_approval=approval)
    effects = _effects(annotations.get("readOnlyHint"))
    return ToolRisk(
        effects=effects,
        destructive=destructive or (effects == "write" and annotations.get("destructiveHint") is not False),
        idempotent=annotations.get("idempotentHint") is True,
        external_network=open_world,
        requires_approval=approval,
    )


def declared_effects(annotations: object) -> Declared:
    """What a tool with these annotations declares that it does; of two that contradict each other, the worse."""
    if not isinstance(annotations, Mapping):
        return "nothing"
    if annotations.get("destructiveHint") is True:
        return "destructive"
    match annotations.get("readOnlyHint"):
        case True:
            return "read"
        case False:
            return "write"
    # A tool that says it destroys nothing says that it may write.
    return "write" if annotations.get("destructiveHint") is False else "nothing"


def declared_version(tool: Mapping[str, object], meta: Mapping[str, object]) -> str | None:
    """The version that a tool declares, in the first place that has one; whether an id can hold it is not asked.

    `_meta.version` comes first. Others write `version` beside the name, `_meta.fastmcp.version` (FastMCP 3), or a key
    with a prefix, `_meta["example.com/version"]`, as the protocol asks of private keys: that one counts only if there
    are no two that differ.
    """
    for place in (meta, tool, meta.get("fastmcp")):
        if isinstance(place, Mapping) and (version := _version(place.get("version"))):
            return version
    prefixed = set(_prefixed_versions(meta))
    return prefixed.pop() if len(prefixed) == 1 else None


def _effects(read_only: object) -> Effects:
    if read_only is True:
        return "read"
    return "write" if read_only is False else "unknown"


def _prefixed_versions(meta: Mapping[str, object]) -> Iterator[str]:
    for key, value in meta.items():
        if key.endswith("/version") and (version := _version(value)):
            yield version


def _version(value: object) -> str | None:
    # A whole number is how `2` is written carelessly. A float is not taken: 1.10 has become 1.1 already.
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) and value else None
