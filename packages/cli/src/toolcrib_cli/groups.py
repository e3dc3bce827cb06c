"""Groups of commands that are imported when one of them is asked for, so that help comes at once."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

MARKUP: Final = "markdown"
"""How help texts are written: a paragraph is wrapped as the terminal needs it."""

GROUPS: Final[Mapping[str, str]] = {
    "toolpack": "Tools from `*.tool.yaml` files: check, list and run them.",
    "pack": "Context packs: what one agent hands to the next.",
    "toolset": "Toolsets: your own tools with your own keys.",
    "token": "Access tokens: who may come in over HTTP.",
    "policy": "What may run: the rules, and why they decide as they do.",
    "approvals": "Calls that wait for somebody to allow them.",
    "pins": "Tools as they were when they were trusted, and what has changed since.",
    "audit": "What was called, by whom, and whether the record is whole.",
    "store": "The database behind it all: check it, migrate it, clean it up.",
}
"""By name of the group and of its package here: what `toolcrib --help` says of it."""


class CommandsAndGroups(TyperGroup):
    """The commands of the app, and behind them the groups that are installed."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for name, text in GROUPS.items():
            if _is_there(f"{__package__}.{name}"):
                self.add_command(LazyGroup(name=name, help=text, no_args_is_help=True, rich_markup_mode=MARKUP), name)


class LazyGroup(TyperGroup):
    """A group whose commands are in `toolcrib_cli.<name>.commands`, in an `app`."""

    _loaded: MutableMapping[str, Any] | None = None

    @property
    def commands(self) -> MutableMapping[str, Any]:
        """The commands by name."""
        if self._loaded is None:
            home = import_module(f"{__package__}.{self.name}.commands")
            self._loaded = typer.main.get_group(home.app).commands
            for each in self._loaded.values():
                if isinstance(each, TyperCommand):
                    each.rich_markup_mode = MARKUP
        return self._loaded

    @commands.setter
    def commands(self, given: MutableMapping[str, Any]) -> None:
        """Nothing: a group is made without commands."""


def _is_there(package: str) -> bool:
    # The package of a group holds nothing but its docstring, so that looking for it costs nothing.
    return find_spec(package) is not None and find_spec(f"{package}.commands") is not None
