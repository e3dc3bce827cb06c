"""What of a client's params goes to a server: all but what the protocol itself, and the gateway, keep in `_meta`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from toolcrib_mcp.front.service import META_PRINCIPAL

RESERVED: Final = "io.modelcontextprotocol/"
"""How the keys begin by which one side of a conversation tells the other about itself; ours are put in their place."""


def onward_params(params: Mapping[str, Any]) -> Mapping[str, Any]:
    """The params without what the client said about itself; the same object where there is nothing to take out."""
    meta = params.get("_meta")
    if not isinstance(meta, Mapping) or not any(map(_is_kept_back, meta)):
        return params
    kept = {key: value for key, value in meta.items() if not _is_kept_back(key)}
    if kept:
        return {**params, "_meta": kept}
    return {name: value for name, value in params.items() if name != "_meta"}


def _is_kept_back(key: str) -> bool:
    # A client does not say whose request it is.
    return key.startswith(RESERVED) or key == META_PRINCIPAL


def with_meta(params: Mapping[str, Any], key: str, value: object) -> dict[str, Any]:
    """The params with one more entry in `_meta`; a `_meta` that is no object is replaced."""
    meta = params.get("_meta")
    return {**params, "_meta": {**(meta if isinstance(meta, Mapping) else {}), key: value}}
