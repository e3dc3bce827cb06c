"""`toolcrib stats`: what all definitions take in tokens, what the cards in their place do, and what a client sees."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from rich.bar import Bar
from rich.console import Console
from rich.table import Table
from rich.text import Text

from toolcrib_cli.asking import Choice
from toolcrib_cli.screen import print_json, screen
from toolcrib_cli.session import with_gateway
from toolcrib_core import count_tokens
from toolcrib_core.wording import shown

if TYPE_CHECKING:
    from toolcrib_mcp.gateway import Gateway
    from toolcrib_mcp.hub.view import HubView

_SAID: Final = ("name", "description", "inputSchema")
"""What of a tool every client puts into a model's context."""

_BAR: Final = 24


@dataclass(frozen=True, kw_only=True)
class ServerTokens:
    """One server: its tools, and how many tokens they take as definitions and as cards."""

    name: str
    tools: int
    definitions: int
    cards: int

    def to_json(self) -> dict[str, Any]:
        """As JSON."""
        return {"tools": self.tools, "definitions": self.definitions, "cards": self.cards}


@dataclass(frozen=True, kw_only=True)
class CatalogueTokens:
    """All servers, and what a client of the gateway sees of them at first."""

    servers: tuple[ServerTokens, ...]
    gateway: int
    """The tokens of the gateway's own tools."""
    own_tools: int = 3
    """How many of them a client sees."""

    @property
    def total(self) -> ServerTokens:
        """All servers together."""
        return ServerTokens(
            name="all",
            tools=sum(each.tools for each in self.servers),
            definitions=sum(each.definitions for each in self.servers),
            cards=sum(each.cards for each in self.servers),
        )

    @property
    def saved(self) -> float:
        """The part of the definitions' tokens that a client of the gateway does not pay at first."""
        return max(0.0, 1 - self.gateway / self.total.definitions) if self.total.definitions else 0.0

    def to_json(self) -> dict[str, Any]:
        """What `toolcrib stats --json` prints."""
        return {
            "servers": {each.name: each.to_json() for each in self.servers},
            "total": self.total.to_json(),
            "gateway": self.gateway,
            "saved": round(self.saved, 4),
        }


def run_stats(*, choice: Choice, fresh: bool, timeout: float, as_json: bool) -> None:
    """Count, and print what was counted.

    Raises:
        ToolError: The catalogue cannot be used.
    """

    async def work(gateway: Gateway) -> CatalogueTokens:
        return count_catalogue(gateway.hub)

    counted = with_gateway(choice, work, timeout=timeout, fresh=fresh)
    if as_json:
        print_json(counted.to_json())
    else:
        _show(counted, screen())


def count_catalogue(hub: HubView) -> CatalogueTokens:
    """The tokens of everything that the servers of a hub list."""
    from toolcrib_mcp.browse.cards import tool_card
    from toolcrib_mcp.gateway.digest import digest_of
    from toolcrib_mcp.gateway.surfaces import SURFACES

    snapshot = hub.catalog.snapshot()
    counted: dict[str, list[tuple[int, int]]] = {name: [] for name in hub.servers}
    for tool_id in snapshot.ids:
        hydrated = snapshot.hydrate(tool_id)
        card = snapshot.cards.get(tool_id)
        line = "" if card is None else tool_card(card, hydrated.definition.input_schema).line
        counted[hydrated.upstream].append((_tokens([hydrated.tool]), count_tokens(f"{line}\n")))
    servers = tuple(
        ServerTokens(
            name=name,
            tools=len(every),
            definitions=sum(definition for definition, _ in every),
            cards=sum(card for _, card in every),
        )
        for name, every in counted.items()
    )
    own = SURFACES[hub.config.settings.execute].tools_with(digest_of(hub))
    return CatalogueTokens(servers=servers, gateway=_tokens(own), own_tools=len(own))


def _tokens(tools: Iterable[Mapping[str, Any]]) -> int:
    told = ({key: tool[key] for key in _SAID if key in tool} for tool in tools)
    return sum(count_tokens(json.dumps(each, ensure_ascii=False)) for each in told)


def _show(counted: CatalogueTokens, console: Console) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("Server", no_wrap=True, overflow="ellipsis")
    for heading in ("Tools", "Definitions", "Cards"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", width=_BAR, no_wrap=True)
    most = max((each.definitions for each in counted.servers), default=1) or 1
    for each in counted.servers:
        numbers = (f"{number:,}" for number in (each.tools, each.definitions, each.cards))
        table.add_row(Text(shown(each.name)), *numbers, Bar(most, 0, each.definitions, width=_BAR, color="cyan"))
    total = counted.total
    table.add_row("all", *(f"{number:,}" for number in (total.tools, total.definitions, total.cards)), style="bold")
    console.print(table)
    few = "nothing is saved with so few; `--mode transparent` serves them as they are."
    console.print(
        f"\nA client of `toolcrib serve` sees {counted.own_tools} tools of {counted.gateway:,} tokens "
        f"in place of {total.definitions:,}: " + (f"{counted.saved:.0%} saved." if counted.saved else few)
    )
