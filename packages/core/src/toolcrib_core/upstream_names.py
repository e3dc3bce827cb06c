"""Identities for tools that come from elsewhere: legal in the gateway's grammar, whatever the upstream calls them."""

from __future__ import annotations

import hashlib
import re
import unicodedata

from toolcrib_core.identity import ToolIdentity

FALLBACK_NAMESPACE = "mcp"

_MAX_NAMESPACE = 64
_MAX_NAME = 128
_UNDERSCORE_SEGMENTS = 3
# What stands between a namespace and the name of a tool that repeats it; one underscore is part of the name.
_REPEATING = (".", "/", "__")
_LEGAL_NAMESPACE = re.compile(r"[a-z][a-z0-9_-]{0,63}")
_LEGAL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,127}")
_LEGAL_VERSION = re.compile(r"[A-Za-z0-9._-]{1,32}")


def infer_namespace(upstream_name: str) -> str:
    """The namespace that a tool's own name suggests: its dot, slash or underscore prefix, else `mcp`.

    It is what the name says, not yet what an id may hold; `upstream_identity` makes it legal.
    """
    return derive_name(upstream_name)[0]


def derive_name(upstream_name: str) -> tuple[str, str]:
    """Namespace and name of an upstream tool, by the separator that matched.

    A dot or slash splits cleanly, so its prefix leaves the name. An underscore may be part of the name itself: the
    prefix (of three or more segments) is the namespace and stays in the name as well. A separator with nothing on one
    of its sides does not count.
    """
    for separator in (".", "/"):
        prefix, _, rest = upstream_name.partition(separator)
        if prefix and rest:
            return prefix, rest
    segments = upstream_name.split("_")
    if len(segments) >= _UNDERSCORE_SEGMENTS and segments[0]:
        return segments[0], upstream_name
    return FALLBACK_NAMESPACE, upstream_name


def upstream_identity(upstream_name: str, *, server: str | None = None, version: str | None = None) -> ToolIdentity:
    """The identity of an upstream tool, legal in the gateway profile for any input.

    With a configured `server` that is the namespace, and a prefix of the name that repeats it is dropped; without one
    both come from `derive_name`. A name that had to be changed to be legal ends in a hash of the upstream name, so two
    upstream names become one only where a prefix repeats the namespace. A namespace loses case, accents and
    punctuation without one: servers that differ in nothing else share it. A version that an id cannot hold is left
    out, and the shape hash of the definition takes its place: a changed version could equal another real one.

    Give `upstream_name` to the definition as well, since its hash is computed over it.
    """
    if server:
        namespace = _legal_namespace(server)
        name = _without_namespace(upstream_name, server, namespace)
    else:
        prefix, name = derive_name(upstream_name)
        namespace = _legal_namespace(prefix)
    return ToolIdentity(
        namespace=namespace,
        name=_legal_name(name, upstream_name),
        version=version if version is not None and _LEGAL_VERSION.fullmatch(version) else None,
    )


def _without_namespace(upstream_name: str, *namespaces: str) -> str:
    """The name without a namespace, in either case, that stands before it: `github.create_issue` of `github`."""
    for prefix in (f"{namespace}{separator}" for namespace in namespaces for separator in _REPEATING):
        if len(upstream_name) > len(prefix) and upstream_name[: len(prefix)].lower() == prefix.lower():
            return upstream_name[len(prefix) :]
    return upstream_name


def _legal_namespace(text: str) -> str:
    if _LEGAL_NAMESPACE.fullmatch(text):
        return text
    plain = _without_accents(text)
    legal = re.sub(r"[^a-z0-9_-]+", "-", plain.lower()).strip("-_")
    if legal[:1].isdigit():
        legal = f"n{legal}"
    # Case and punctuation may go (they are how one server is written twice), letters of another script may not.
    if plain.isascii() and legal and len(legal) <= _MAX_NAMESPACE:
        return legal
    return _with_hash(legal or "server", text, "-", _MAX_NAMESPACE)


def _legal_name(name: str, upstream_name: str) -> str:
    if _LEGAL_NAME.fullmatch(name):
        return name
    legal = re.sub(r"[^A-Za-z0-9_.-]+", "_", _without_accents(name))
    if not re.match(r"[A-Za-z_]", legal):
        legal = f"_{legal}"
    return _with_hash(legal, upstream_name, "_", _MAX_NAME)


def _without_accents(text: str) -> str:
    return "".join(each for each in unicodedata.normalize("NFKD", text) if not unicodedata.combining(each))


def _with_hash(stem: str, source: str, joint: str, limit: int) -> str:
    suffix = hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{stem[: limit - len(suffix) - 1].rstrip('_-.')}{joint}{suffix}"
