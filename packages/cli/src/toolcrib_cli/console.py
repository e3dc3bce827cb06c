"""A console of rich that writes no order to a terminal but its own, whatever is printed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.console import Console
from rich.segment import Segment

from toolcrib_cli.screen import visible

if TYPE_CHECKING:
    from rich.console import ConsoleOptions, RenderableType


class PlainConsole(Console):
    """Takes nothing in a text for markup, and escapes what cannot be seen; colours and positions are rich's own."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, highlight=False, markup=False, emoji=False)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The parts of what is printed; texts, tables and everything in them come through here."""
        for part in super().render(renderable, options):
            yield part if part.control else Segment(visible(part.text), part.style)
