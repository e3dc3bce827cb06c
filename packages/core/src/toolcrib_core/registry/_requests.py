"""What `resolve` is asked for: an identity whose version may be a range."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeAlias

from toolcrib_core.errors import QueryError
from toolcrib_core.identity import ToolIdentity, encode_component, normalize_identity

IdentityLike: TypeAlias = str | ToolIdentity | Mapping[str, str | None]

# What stands in ranges and build metadata, and never unencoded in an id.
_UNENCODED = "^<>=,+| \t"


def read_request(identity: IdentityLike, version: str | None = None) -> ToolIdentity:
    """An identity from an id, a bare name, a mapping or an identity; the version may be a range, also unencoded.

    Raises:
        InvalidToolId: Some part is malformed.
        QueryError: `version` is not text, or the identity names another one.
    """
    request = _read_text(identity) if isinstance(identity, str) else normalize_identity(identity)
    if not version:
        return request
    if not isinstance(version, str):
        raise QueryError(f"A version must be text, not {type(version).__name__}.")
    if request.version not in {None, version}:
        raise QueryError(
            "The request names two versions: one in the identity and one beside it.", hint="Name only one of them."
        )
    return replace(request, version=version)


def readable(text: str) -> str:
    """A request with its version as a person writes it, `^1.2` instead of `%5E1.2`; it reads back the same."""
    head, mark, version = text.partition("@")
    for sign in _UNENCODED:
        version = version.replace(encode_component(sign), sign)
    return text if "%" in version else f"{head}{mark}{version}"


def _read_text(text: str) -> ToolIdentity:
    head, _, tail = text.partition("@")
    version, mark, shape = tail.partition("#")
    if not any(sign in version for sign in _UNENCODED):
        return normalize_identity(text)
    return replace(normalize_identity(f"{head}{mark}{shape}"), version=version)
