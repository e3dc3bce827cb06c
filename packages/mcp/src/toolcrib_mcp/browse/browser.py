"""`tool_browse`: tools by a request in words, or by a path; a page never costs more than it may."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from toolcrib_core import (
    CARD_MAX_TOKENS,
    PREAMBLE_TOKENS,
    Embedder,
    PathNotFound,
    SearchResult,
    ToolError,
    TreeNode,
    count_tokens,
)
from toolcrib_core.wording import count, listed, shown
from toolcrib_mcp.browse.cards import PageCard, node_card, tool_card
from toolcrib_mcp.browse.compact_schema import SCHEMA_TOKENS, compact_schema
from toolcrib_mcp.browse.seen import BREAKPOINT, SeenCards
from toolcrib_mcp.browse.shared_seen import SharedSeenCards
from toolcrib_mcp.catalog import CatalogSnapshot
from toolcrib_mcp.errors import GatewayError
from toolcrib_mcp.outward import ARGS_INVALID
from toolcrib_mcp.rpc.codec import json_text

if TYPE_CHECKING:
    from toolcrib_mcp.hub.view import HubView
    from toolcrib_mcp.proxy.missing import MissingServers
    from toolcrib_store import Store

Detail: TypeAlias = Literal["card", "schema"]

MAX_LIMIT: Final = 50
"""How many tools one page may have."""

MAX_SCHEMAS: Final = 3
"""How many hits a browse may show the schemas of."""

NOTE_TOKENS: Final = 24
"""What a note beside the cards may have: with the marker of a stable page less than a page may have beside them."""

_NOTHING = "No tool fits. Say it in other words, or browse path `/`."
_NOT_AN_ANSWER = "`tool_browse` takes either `query` or `path`."


@dataclass(frozen=True, kw_only=True)
class BrowseResult:
    """One page: the text that is sent and counted, and what stands in it."""

    text: str
    cards: tuple[PageCard, ...]
    schemas: Mapping[str, str] = field(default_factory=dict)
    """Schemas as JSON text by tool id, where they were asked for."""
    total: int = 0
    """How many tools or places there are; the page may have fewer."""
    unavailable: Sequence[Mapping[str, Any]] = ()
    """The servers whose tools are not known, each with the reason."""

    def to_json(self) -> dict[str, Any]:
        """The page as JSON."""
        page: dict[str, Any] = {"cards": [each.to_json() for each in self.cards], "total": self.total}
        return page | ({"schemas": dict(self.schemas)} if self.schemas else {})


class _Found(NamedTuple):
    cards: list[PageCard]
    note: str
    total: int


class Browser:
    """Shows the tools of a hub page by page.

    With `cache_stable` each client gets the tools that it has seen, hydrated or executed first, unchanged, and notes at
    the end; what it has seen is in the `shared` store, if there is one.
    """

    def __init__(
        self,
        hub: HubView,
        missing: MissingServers,
        *,
        cache_stable: bool = False,
        limit: int = 8,
        embedder: Embedder | None = None,
        shared: Store | None = None,
    ) -> None:
        self._hub = hub
        self._missing = missing
        self._limit = limit
        self.embedder = embedder
        """Finds tools by meaning, too; it may come later, when it is ready."""
        self._stable = cache_stable
        self._seen = SeenCards()
        self._shared_seen = None if shared is None else SharedSeenCards(shared)

    async def browse(
        self,
        *,
        query: str | None = None,
        path: str | None = None,
        limit: int | None = None,
        detail: Detail = "card",
        client: str = "",
    ) -> BrowseResult:
        """One page, by a request in words or by a path: exactly one of them. `client` is whose page it is.

        Raises:
            GatewayError: Both were given, or none, or the limit is none; the code is `ARGS_INVALID`.
            QueryError: The request cannot be searched for.
            PathInvalid: The text is no path.
            PathNotFound: The path leads nowhere; the details have the nearest ones.
            StoreError: What the client has seen cannot be read from the store that is shared.
            UpstreamError: No tool is known, and every server failed, never an empty page in place of that; or the path
                is that of a server whose tools are not known.
        """
        try:
            return await self._browse(query, path, limit, detail, client)
        except ToolError as error:
            raise with_path(error, path) from None

    async def note_used(self, client: str, tool_id: str) -> None:
        """Count a tool that was hydrated or executed as seen."""
        if not self._stable:
            return
        if self._shared_seen is None:
            self._seen.note_used(client, tool_id)
            return
        from toolcrib_store import StoreError

        # The order of later pages is not worth a call that fails.
        with suppress(StoreError):
            await asyncio.to_thread(self._shared_seen.note_used, client, tool_id)

    def forget(self, client: str) -> None:
        """The client has gone."""
        self._seen.forget(client)

    async def _browse(
        self, query: str | None, path: str | None, limit: int | None, detail: Detail, client: str
    ) -> BrowseResult:
        check_browse(query, path, limit)
        # A path that is only a namespace names its server, too.
        named = str(query) if path is None else f"{path}/"
        await self._missing.start(named)
        snapshot = self._hub.catalog.snapshot()
        if not len(snapshot):
            self._missing.check_any()
        try:
            found = await self._found(snapshot, str(query), limit) if path is None else _at(snapshot, path, limit)
        except PathNotFound:
            server = self._missing.server_of(named)
            if server is None:
                raise
            raise self._missing.failure_of(server) from None
        schemas = await asyncio.to_thread(_schemas, snapshot, found.cards) if detail == "schema" else {}
        cards = await self._arranged(client, found.cards) if self._stable else found.cards
        return BrowseResult(
            text=_text(self._note(found.note, snapshot.withheld_counts), cards, schemas, is_stable=self._stable)
            + _rest(snapshot, schemas),
            cards=tuple(cards),
            schemas=schemas,
            total=found.total,
            unavailable=self._missing.told(),
        )

    async def _arranged(self, client: str, page: list[PageCard]) -> list[PageCard]:
        if self._shared_seen is None:
            return self._seen.arrange(client, page)
        return await asyncio.to_thread(self._shared_seen.arrange, client, page)

    async def _found(self, snapshot: CatalogSnapshot, query: str, limit: int | None) -> _Found:
        # In a thread: the first search after a change builds the index anew, and a sentence model takes its time.
        most = limit or self._limit
        result = await asyncio.to_thread(snapshot.search, query, limit=most, embedder=self.embedder)
        # A page ends where relevance drops; a caller that names a limit has asked for what is behind that, too.
        hits = result.hits[: result.relevant] if limit is None else result.hits
        cards = [_scored(snapshot, hit.id, hit.score) for hit in hits]
        return _Found(cards, _search_note(result, len(hits)), result.total)

    def _note(self, note: str, withheld: Mapping[str, int]) -> str:
        """The note, which servers are starting or failed, and whose tools are withheld: as much as has room."""
        starting = self._missing.starting
        failed = [each for each in self._missing.names if each not in starting]
        more: list[tuple[str, str]] = []
        if starting:
            names = ", ".join(map(shown, starting))
            more.append((f"Starting: {names}.", f"{count(len(starting), 'server')} starting."))
        if failed:
            more.append((f"Not available: {listed(failed)}.", f"{count(len(failed), 'server')} not available."))
        if withheld:
            more.append(_withheld_notes(withheld))
        if not more:
            return note
        long, short = (" ".join(forms) for forms in zip(*more, strict=True))
        together = (" ".join(filter(None, (note, each))) for each in (long, short))
        every = (*together, long, short, *(each for _, each in more))
        return next((each for each in every if count_tokens(f"{each}\n") <= NOTE_TOKENS), note)


def with_path(error: ToolError, path: object) -> ToolError:
    """The error with the path that was asked for, which is there even where none was."""
    error.details.setdefault("path", shown(path) if isinstance(path, str) else "")
    return error


def check_browse(query: object, path: object, limit: object) -> None:
    """See to it that a request has one of `query` and `path`, and a limit that is one.

    Raises:
        GatewayError: It has not; the code is `ARGS_INVALID`.
    """
    if (query is None) == (path is None):
        raise GatewayError(
            f"{_NOT_AN_ANSWER} {'Both were' if path is not None else 'None was'} given.",
            code=ARGS_INVALID,
            hint='Search with {"query": "what you want to do"}, or look around with {"path": "/"}.',
        )
    if limit is not None and not (type(limit) is int and 1 <= limit <= MAX_LIMIT):
        raise GatewayError(f"`limit` must be an integer from 1 to {MAX_LIMIT}.", code=ARGS_INVALID)


def _at(snapshot: CatalogSnapshot, path: str, limit: int | None) -> _Found:
    entries = snapshot.tree.children(path)
    every = (
        node_card(each) if isinstance(each, TreeNode) else _scored(snapshot, each.tool_id, None) for each in entries
    )
    # None of them has a score, so the order of cards is that of the ids.
    fitting = sorted((each for each in every if each is not None), key=lambda each: each.card.id)
    cards = fitting if limit is None else fitting[:limit]
    rest = len(fitting) - len(cards)
    note = f"{count(rest, 'more entry', 'more entries')} with a higher limit." if rest else ""
    return _Found(cards, note, len(entries))


def _scored(snapshot: CatalogSnapshot, tool_id: str, score: float | None) -> PageCard:
    card = snapshot.cards[tool_id].model_copy(update={"score": score})
    return tool_card(card, snapshot.hydrate(tool_id).definition.input_schema)


def _search_note(result: SearchResult, number: int) -> str:
    if not number:
        return _NOTHING
    shown = f"{number} of {count(result.total, 'match', 'matches')}"
    if not result.confident:
        return f"{shown}. None may fit: try other words."
    if number < len(result.hits):
        return f"{shown}; the others fit less, see them with `limit`."
    return f"{shown}." if result.total > number else ""


def _withheld_notes(withheld: Mapping[str, int]) -> tuple[str, str]:
    """How many tools of which servers are withheld, and what a person can do about it: in full, and in short."""
    servers = ", ".join(f"{number} of {shown(server)}" for server, number in withheld.items())
    total = count(sum(withheld.values()), "tool")
    return f"Withheld: {servers}; see `toolcrib pins diff`.", f"{total} withheld: `toolcrib pins diff`."


def _schemas(snapshot: CatalogSnapshot, page: Sequence[PageCard]) -> dict[str, str]:
    tools = [each.card.id for each in page if each.card.id in snapshot][:MAX_SCHEMAS]
    return {each: compact_schema(snapshot.hydrate(each).input_schema, budget=SCHEMA_TOKENS) for each in tools}


def _rest(snapshot: CatalogSnapshot, schemas: Mapping[str, str]) -> str:
    """How to read the schemas that are not shown whole."""
    shortened = [each for each, schema in schemas.items() if json_text(snapshot.hydrate(each).input_schema) != schema]
    if not shortened:
        return ""
    call = json_text({"path": shortened[0], "detail": "full"})
    return f"Shortened, whole by tool_browse {call}: {', '.join(shortened)}\n"


def _text(note: str, page: Sequence[PageCard], schemas: Mapping[str, str], *, is_stable: bool) -> str:
    lines = [each.line for each in page]
    # What changes from page to page goes to the end of one whose beginning is to stay the same.
    noted = [*lines, note] if is_stable else [note, *lines]
    text = "".join(f"{line}\n" for line in noted if line)
    number = sum(each.card.id != BREAKPOINT for each in page)
    if count_tokens(text) > CARD_MAX_TOKENS * number + PREAMBLE_TOKENS:
        raise GatewayError("A page is over its budget.")  # pragma: no cover  # every line is made to fit
    return text + "".join(f"args of {tool_id}: {schema}\n" for tool_id, schema in schemas.items())
