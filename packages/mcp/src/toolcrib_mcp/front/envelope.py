"""Which era a request of a client belongs to, and what a modern one says about its client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from toolcrib_core.wording import listed, quoted
from toolcrib_mcp.front.service import Caller, Identity
from toolcrib_mcp.rpc import RpcError
from toolcrib_mcp.upstreams.eras import META_CAPABILITIES, META_CLIENT, META_VERSION, MODERN_VERSIONS, Era

INVALID_REQUEST: Final = -32600
INVALID_PARAMS: Final = -32602
UNSUPPORTED_VERSION: Final = -32022

META_LOG_LEVEL: Final = "io.modelcontextprotocol/logLevel"


def is_modern(params: Mapping[str, Any]) -> bool:
    """Whether a request says itself which version it is of; nothing but that tells the eras apart."""
    meta = params.get("_meta")
    return isinstance(meta, Mapping) and META_VERSION in meta


def modern_caller(params: Mapping[str, Any], *, conversation: str | None, principal: Identity | None) -> Caller:
    """The client of a modern request.

    Raises:
        RpcError: Its version is not served, or it does not say what its client can do.
    """
    meta = params["_meta"]
    version, capabilities, info = meta[META_VERSION], meta.get(META_CAPABILITIES), meta.get(META_CLIENT)
    if not isinstance(capabilities, dict):
        raise RpcError(INVALID_PARAMS, f"The request needs {quoted(META_CAPABILITIES)} in its `_meta`: an object.")
    if not isinstance(version, str):
        raise RpcError(INVALID_PARAMS, f"{quoted(META_VERSION)} must be a string.")
    if version not in MODERN_VERSIONS:
        raise unsupported(version)
    level = meta.get(META_LOG_LEVEL)
    return Caller(
        era=Era.MODERN,
        protocol_version=version,
        capabilities=capabilities,
        info=info if isinstance(info, dict) else {},
        conversation=conversation,
        principal=None if principal is None else principal.name,
        scopes=None if principal is None else principal.scopes,
        log_level=level if isinstance(level, str) else None,
    )


def unsupported(version: str) -> RpcError:
    """The refusal of a version, with those that are served."""
    served = list(MODERN_VERSIONS)
    return RpcError(
        UNSUPPORTED_VERSION,
        f"Protocol version {quoted(version[:40])} is not served; {listed(served)} is.",
        {"supported": served, "requested": version[:40]},
    )
