"""Where the scenes of the demo are played: a gateway, a screen, and what one scene leaves for the next."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from rich.text import Text

if TYPE_CHECKING:
    from rich.console import Console

    from toolcrib_mcp.gateway import Gateway


class Stage:
    """Prints headings, what would be typed, and what comes back; every line within the width of the screen."""

    gateway: Gateway
    handle: str = ""
    """Of the large result that the last call gave."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._first = True
        # A file has no edge, but a demo is looked at: it has one screen there, too.
        if not console.is_terminal:
            console.width = 80

    def heading(self, text: str) -> None:
        """Begin a scene."""
        self._console.print(Text(text if self._first else f"\n{text}", style="bold"))
        self._first = False

    def typed(self, command: str) -> None:
        """What a person would type."""
        self._cut(f"$ toolcrib {command}", "cyan")

    def line(self, text: str) -> None:
        """One line of what comes back."""
        self._cut(text, "")

    def sentence(self, text: str) -> None:
        """A sentence, on as many lines as it takes."""
        for line in textwrap.wrap(text, self._console.width - 2):
            self._cut(line, "")

    def end(self) -> None:
        """Say what comes next."""
        self._console.print(
            Text("\nNext: toolcrib search …, toolcrib init, toolcrib serve; toolcrib --help has all.", "dim")
        )

    def _cut(self, text: str, style: str) -> None:
        self._console.print(Text(f"  {text}", style=style), no_wrap=True, overflow="ellipsis")
