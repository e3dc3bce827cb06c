"""Wire names: tool ids as names that every provider accepts, and back."""

from __future__ import annotations

import base64
import hashlib
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from types import MappingProxyType

from toolcrib_core.errors import CatalogError, UnknownTool, WireNameCollision
from toolcrib_core.identity import DEFAULT_NAMESPACE, ToolIdentity, match_id, parse_tool_id
from toolcrib_core.wording import nearest, quoted, shown

MAX_WIRE_NAME_LENGTH = 64

_SEPARATOR = "__"
# Ten base32 digits are 50 bits: among 10^5 ids of one stem the chance of a collision is below 10^-5. Eight hex digits
# would collide about once.
_SUFFIX_LENGTH = 10
_MIN_STEM = 5
_LEGAL = re.compile(r"[A-Za-z0-9_-]+")
_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]+")
# Gemini refuses a request with any other first character.
_LEGAL_START = re.compile(r"[A-Za-z_]")
# difflib compares in quadratic time, so a suggestion is sought among this many neighbours in the alphabet only.
_NEIGHBOURS = 100


class WireNames:
    """A two-way table between tool ids and provider-legal names, for one set of ids.

    A tool that is the only one of its namespace and name is called `namespace__name`, or just `name` in the namespace
    `default`. Several versions of one tool, characters that providers refuse, or too long a name give a readable stem
    and a hash of the id instead. Every name begins with a letter or `_`. A name depends on the set of ids, never on
    their order. `max_length` counts the `prefix`, which is what a client puts before every name, such as
    `mcp__server__`.

    Raises:
        InvalidToolId: One of the ids is malformed.
        WireNameCollision: Two ids have the same name, or one's name is the other's without the prefix.
        CatalogError: The prefix is not legal, or leaves too few characters for a name.
    """

    __slots__ = ("_ids", "_names", "_prefix", "_sorted_bare_names")

    def __init__(self, ids: Iterable[str], *, max_length: int = MAX_WIRE_NAME_LENGTH, prefix: str = "") -> None:
        limit = _checked_limit(max_length, prefix)
        identities = {tool_id: parse_tool_id(tool_id) for tool_id in sorted(set(ids))}
        tools = Counter((each.namespace, each.name) for each in identities.values())
        names: dict[str, str] = {}
        for tool_id, identity in identities.items():
            name = _readable_name(identity, limit) if tools[identity.namespace, identity.name] == 1 else None
            # A name that looks prefixed already would be read as the one behind the prefix.
            if name is None or (prefix and name.startswith(prefix)) or not _LEGAL_START.match(f"{prefix}{name}"):
                name = _hashed_name(tool_id, identity, limit)
            names[tool_id] = f"{prefix}{name}"
        self._prefix = prefix
        self._names = MappingProxyType(names)
        self._ids = MappingProxyType(_ids_by_spelling(names, prefix))
        self._sorted_bare_names = sorted(name.removeprefix(prefix) for name in names.values())

    def encode(self, tool_id: str) -> str:
        """The wire name of an id, prefix included; the hash may be left out where one tool is meant.

        Raises:
            UnknownTool: The id is not in the table; the hint has the nearest one.
        """
        name = self._names.get(tool_id)
        if name is not None:
            return name
        if (meant := match_id(tool_id, self._names)) is not None:
            return self._names[meant]
        near = _nearest(tool_id, list(self._names))
        raise UnknownTool(f"No wire name was made for {quoted(tool_id)}.", hint=_did_you_mean(near))

    def decode(self, wire_name: str) -> str:
        """The id behind a wire name, given with or without the prefix.

        Raises:
            UnknownTool: No tool has that name; the hint has the nearest one.
        """
        tool_id = self._ids.get(wire_name)
        if tool_id is None:
            near = _nearest(wire_name.removeprefix(self._prefix), self._sorted_bare_names)
            raise UnknownTool(
                f"No tool is called {quoted(wire_name)}.", hint=_did_you_mean(near and f"{self._prefix}{near}")
            )
        return tool_id

    def items(self) -> Iterator[tuple[str, str]]:
        """Every id with its wire name, in the order of the ids."""
        return iter(self._names.items())

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, tool_id: object) -> bool:
        return tool_id in self._names


def _checked_limit(max_length: int, prefix: str) -> int:
    if prefix and not (_LEGAL.fullmatch(prefix) and _LEGAL_START.match(prefix)):
        raise CatalogError(
            f"{quoted(prefix)} cannot stand before a wire name.",
            hint="Use letters, digits, `_` and `-` only, and begin with a letter or `_`.",
        )
    limit = max_length - len(prefix)
    least = _MIN_STEM + 1 + _SUFFIX_LENGTH
    if limit < least:
        raise CatalogError(
            f"The prefix leaves {limit} of {max_length} characters for a wire name.",
            hint=f"Shorten it: a name needs {least}.",
            details={"maxLength": max_length, "prefix": shown(prefix), "least": least},
        )
    return limit


def _readable_name(identity: ToolIdentity, limit: int) -> str | None:
    namespace, name = identity.namespace, identity.name
    if not (_LEGAL.fullmatch(namespace) and _LEGAL.fullmatch(name)):
        return None
    if namespace == DEFAULT_NAMESPACE and _SEPARATOR not in name:
        return name if len(name) <= limit else None
    # Otherwise the first `__` would not be where the namespace ends, and two tools could share a name.
    if _SEPARATOR in namespace or namespace.endswith("_") or name.startswith("_"):
        return None
    readable = f"{namespace}{_SEPARATOR}{name}"
    return readable if len(readable) <= limit else None


def _hashed_name(tool_id: str, identity: ToolIdentity, limit: int) -> str:
    digest = hashlib.sha256(tool_id.encode()).digest()
    suffix = base64.b32encode(digest[:_SUFFIX_LENGTH]).decode().lower()[:_SUFFIX_LENGTH]
    whole = identity.name
    if identity.namespace != DEFAULT_NAMESPACE:
        whole = f"{identity.namespace}{_SEPARATOR}{identity.name}"
    legal = _ILLEGAL.sub("_", whole)
    started = legal if _LEGAL_START.match(legal) else f"_{legal}"
    stem = started[: limit - _SUFFIX_LENGTH - 1].rstrip("_-")
    return f"{stem}_{suffix}"


def _ids_by_spelling(names: dict[str, str], prefix: str) -> dict[str, str]:
    ids: dict[str, str] = {}
    for tool_id, name in names.items():
        for spelling in (name, name.removeprefix(prefix)):
            taken_by = ids.setdefault(spelling, tool_id)
            if taken_by != tool_id:
                raise WireNameCollision(
                    f"`{taken_by}` and `{tool_id}` would both be called `{spelling}`.",
                    hint="Rename one of them, or leave one out.",
                    details={"ids": [taken_by, tool_id], "wireName": spelling},
                )
    return ids


def _nearest(wanted: str, known: list[str]) -> str | None:
    middle = bisect_left(known, wanted)
    return nearest(wanted, known[max(0, middle - _NEIGHBOURS) : middle + _NEIGHBOURS])


def _did_you_mean(near: str | None) -> str:
    return f"Did you mean `{near}`?" if near else "Look the tool up again: its name may have changed."
