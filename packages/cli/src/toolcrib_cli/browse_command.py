"""`toolcrib browse` and `toolcrib search`: a page of the catalogue, by path or by what is to be done."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.text import Text

from toolcrib_cli.asking import Choice
from toolcrib_cli.screen import print_json, printable, say, screen, working
from toolcrib_cli.session import with_gateway

if TYPE_CHECKING:
    from toolcrib_core import JsonObject
    from toolcrib_mcp.browse import BrowseResult
    from toolcrib_mcp.browse.cards import PageCard
    from toolcrib_mcp.gateway import Gateway

_NOTHING: Final = "No tool fits. Say it in other words, or look around with `toolcrib browse`."
_INDENT: Final = 4
_ARGUMENTS: Final = "args of "


def run_browse(
    *,
    choice: Choice,
    query: str | None = None,
    path: str | None = None,
    limit: int | None = None,
    schema: bool = False,
    fresh: bool = False,
    timeout: float,
    as_json: bool = False,
) -> None:
    """Print a page: of the tools that fit a query, or of what is at a path.

    Raises:
        ToolError: The catalogue cannot be used, or the path leads nowhere.
    """

    async def work(gateway: Gateway) -> _Page:
        if query is not None:
            await _search_by_meaning(gateway)
        page = await gateway.browse(query=query, path=_whole(path), limit=limit, detail="schema" if schema else "card")
        snapshot = gateway.hub.catalog.snapshot()
        schemas = {each.card.id: snapshot.hydrate(each.card.id).input_schema for each in page.cards if is_tool(each)}
        return _Page(page, schemas)

    page = with_gateway(choice, work, timeout=timeout, fresh=fresh)
    if as_json:
        print_json(page.result.to_json())
    else:
        page.show(screen())


def _whole(path: str | None) -> str | None:
    """The path from the root on: whoever types one may leave that out, since there is nothing else to start from."""
    return path if path is None or path.startswith("/") else f"/{path}"


def is_tool(card: PageCard) -> bool:
    """Whether it is a tool, and not a place with tools."""
    return not card.card.id.startswith("/")


class _Page:
    """A page for people."""

    def __init__(self, result: BrowseResult, schemas: dict[str, JsonObject]) -> None:
        self.result = result
        self._schemas = schemas

    def show(self, console: Console) -> None:
        cards = self.result.cards
        if not cards:
            console.print(_NOTHING)
            return
        for each in cards:
            self._show_card(console, each)
        for note in self._notes():
            console.print()
            say(console, note)
        if console.is_terminal:
            console.print(f"\n{self._next(cards[0])}", style="dim")

    def _notes(self) -> list[str]:
        """What the page says beside its cards: that there are more, or that none may fit."""
        cards = {each.line for each in self.result.cards}
        lines = self.result.text.splitlines()
        return [line for line in lines if line not in cards and not line.startswith(_ARGUMENTS)]

    def _show_card(self, console: Console, each: PageCard) -> None:
        needed = _needed(self._schemas.get(each.card.id, {}))
        takes = f"  needs {', '.join(needed)}" if needed else ""
        console.print(Text.assemble((each.card.id, "bold"), (printable(takes), "dim")), soft_wrap=True)
        say(console, each.card.description, indent=_INDENT)
        if each.card.id in self.result.schemas:
            say(console, self.result.schemas[each.card.id], indent=_INDENT, style="dim")

    def _next(self, first: PageCard) -> str:
        if not is_tool(first):
            return f"Next: toolcrib browse {first.card.id}"
        pairs = "".join(f" {name}=…" for name in _needed(self._schemas.get(first.card.id, {})))
        return f"Next: toolcrib call {short_id(first.card.id)}{pairs}"


def short_id(tool_id: str) -> str:
    """The id without its hash, as a person would type it."""
    return tool_id.partition("#")[0]


def _needed(schema: JsonObject) -> list[str]:
    required = schema.get("required")
    return [str(each) for each in required] if isinstance(required, Iterable) else []


async def _search_by_meaning(gateway: Gateway) -> None:
    from toolcrib_cli.semantic_search import open_vectors

    with working("Searching …"):
        vectors = await asyncio.to_thread(open_vectors)
    if vectors is not None:
        gateway.search_with(vectors)
