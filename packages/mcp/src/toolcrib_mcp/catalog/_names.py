"""Every form in which a client may write a tool id."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import unquote

from toolcrib_core import (
    AmbiguousTool,
    InvalidToolId,
    ResolutionError,
    ToolIdentity,
    UnknownVersion,
    WireNameCollision,
    WireNames,
    parse_tool_id,
)
from toolcrib_core.wording import count, either, kind_of, nearest, quoted, shown

if TYPE_CHECKING:
    from toolcrib_mcp.catalog._state import CatalogState

_MAX_SUGGESTED = 3
_LOOK_AGAIN = "Look for it again: its server may be gone, or may call it something else now."
_SEPARATORS: Final = (":", "/", ".", "__")
_DEMANDING = re.compile(r"(?P<head>.+?)(?:@(?P<version>[^@#]+))?(?:#(?P<hash8>[^@#]+))?", re.DOTALL)
# No id is longer, and every separator in a text is tried.
_LONGEST = 512


class ToolNames:
    """The tools of a catalogue by what a person or a model may call them.

    A tool is called by its name in its id or its server's name for it, alone or behind the namespace or the name of the
    server and one of `:`, `/`, `.`, `__`; and all of that with its version or its hash.
    """

    def __init__(self, state: CatalogState) -> None:
        self._identities: dict[str, ToolIdentity] = {}
        self._owners: dict[str, set[str]] = {}
        self._by_name: dict[str, set[str]] = {}
        for tool_id, server, name in _named(state):
            identity = parse_tool_id(tool_id)
            self._identities[tool_id] = identity
            self._owners.setdefault(tool_id, set()).update((identity.namespace, server))
            for each in (identity.name, name):
                self._by_name.setdefault(each, set()).add(tool_id)
        self._servers = frozenset(each for owners in self._owners.values() for each in owners)

    def fitting(self, text: str) -> list[str]:
        """The ids of all tools that the text may mean, ascending.

        Raises:
            UnknownVersion: There are such tools, but none has the version or hash that the text names.
        """
        if len(text) > _LONGEST:
            return []
        if whole := self._called(text):
            return sorted(whole)
        demanded = _DEMANDING.fullmatch(text)
        if demanded is None or not (members := sorted(self._called(demanded["head"]))):
            return []
        found = [each for each in members if _has(self._identities[each], demanded["version"], demanded["hash8"])]
        if not found:
            raise no_such_tool(text, members, kind=UnknownVersion)
        return found

    def without_hash(self, tool_id: str) -> str:
        """The id as a person types it, without its hash; whole where several tools have the rest of it."""
        short = tool_id.partition("#")[0]
        return short if self.fitting(short) == [tool_id] else tool_id

    def nearest(self, text: str) -> list[str]:
        """The ids of the tools whose name is most like the text."""
        if len(text) > _LONGEST:
            return []
        name = nearest(text, self._by_name)
        if name is not None:
            return sorted(self._by_name[name])
        for server, rest in _splits(text):
            theirs = {name for name in self._by_name if self._of(server, name)} if server in self._servers else ()
            if (name := nearest(rest, theirs)) is not None:
                return self._of(server, name)
        return []

    def _of(self, server: str, name: str) -> list[str]:
        return sorted(each for each in self._by_name[name] if server in self._owners[each])

    def _called(self, text: str) -> set[str]:
        found = set(self._by_name.get(text, ()))
        for server, name in _splits(text):
            found.update(each for each in self._by_name.get(name, ()) if server in self._owners[each])
        return found


def decoded_id(text: object) -> str:
    """The text of an id with percent-encoding undone; an id of the gateway holds no `%` of its own.

    Raises:
        InvalidToolId: It is not text, or empty.
    """
    if not isinstance(text, str) or not text:
        raise InvalidToolId(f"A tool id is text such as `github:create_issue@1.4.0`, not {kind_of(text)}.")
    return unquote(text) if "%" in text else text


class ProviderNames(NamedTuple):
    """The provider-safe names of some ids, and those names that two of them would have."""

    names: WireNames
    contested: Mapping[str, Sequence[str]]


def provider_names(ids: Iterable[str]) -> ProviderNames:
    """The provider-safe names of these ids.

    A server may name a tool so that its provider-safe name is that of another. Neither gets one then, and both can
    still be named by id: one tool must not take the names of all.
    """
    named = set(ids)
    contested: dict[str, Sequence[str]] = {}
    while True:
        try:
            return ProviderNames(WireNames(named), contested)
        except WireNameCollision as collision:
            colliding: Any = collision.details["ids"]
            contested[str(collision.details["wireName"])] = colliding
            named.difference_update(colliding)


def no_such_tool(
    text: str, near: Sequence[str], *, kind: type[ResolutionError], written: Callable[[str], str] = str
) -> ResolutionError:
    """The error for a text that means no tool, with the nearest ids; `written` is how the hint shows each."""
    suggested = list(near[:_MAX_SUGGESTED])
    hint = f"Did you mean {either([f'`{written(each)}`' for each in suggested])}?" if suggested else _LOOK_AGAIN
    return kind(f"No tool has the id {quoted(text)}.", hint=hint, details={"id": shown(text), "didYouMean": suggested})


def no_tool_id(text: str) -> InvalidToolId:
    """The error for a text that is no id in any form."""
    return InvalidToolId(
        f"{quoted(text)} is not a tool id.", hint="Write it as a page shows it, such as `github:create_issue@1.4.0`."
    )


def ambiguous_name(text: str, ids: Sequence[str]) -> AmbiguousTool:
    """The error for a text that means several tools."""
    suggested = list(ids[:_MAX_SUGGESTED])
    more = f" and {len(ids) - len(suggested)} more" if len(ids) > len(suggested) else ""
    return AmbiguousTool(
        f"{quoted(text)} may be any of {count(len(ids), 'tool')}.",
        hint=f"Use the id of one: {', '.join(f'`{each}`' for each in suggested)}{more}.",
        details={"id": shown(text), "didYouMean": list(ids[:20]), "total": len(ids)},
    )


def _named(state: CatalogState) -> Iterator[tuple[str, str, str]]:
    """The id of every tool with its server and the server's name for it."""
    claimants = [*((each,) for each in state.served.values()), *state.contested.values()]
    for entry in (each for every in claimants for each in every):
        yield entry.hydrated.tool_id, entry.hydrated.upstream, entry.hydrated.upstream_name
    for tool_id, withheld in state.withheld.items():
        yield tool_id, withheld.server, withheld.name


def _splits(text: str) -> Iterator[tuple[str, str]]:
    for separator in _SEPARATORS:
        place = text.find(separator, 1)
        while place > 0:
            yield text[:place], text[place + len(separator) :]
            place = text.find(separator, place + 1)


def _has(identity: ToolIdentity, version: str | None, hash8: str | None) -> bool:
    return version in {None, identity.version} and hash8 in {None, identity.hash8}
