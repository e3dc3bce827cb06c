"""A tool that is not served because it is not, or cannot be shown to be, the one that was trusted."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Literal, TypeAlias

import orjson

from toolcrib_core.wording import listed, quoted, shown
from toolcrib_mcp.errors import ToolChanged
from toolcrib_mcp.pins.changes import FIELDS, FieldChange, changed_fields, changes_between
from toolcrib_mcp.pins.digests import definition_digest

Reason: TypeAlias = Literal[
    "changed", "renamed", "replaced", "unapproved", "lock-changed", "not-locked", "ambiguous", "damaged", "unreadable"
]
"""Why it is withheld.

`changed`: it is not what was pinned. `renamed`: it is a pinned tool under another name. `replaced`: it may be one,
changed, since a pinned tool has gone. `unapproved`: it was never trusted. `lock-changed`, `not-locked`: the lock file
has another definition of it, or none. `ambiguous`: the server lists several of its name. `damaged`, `unreadable`: its
pin, or those of its server, cannot be read.
"""

_SENTENCES: Final[Mapping[Reason, str]] = {
    "changed": "{tool} has changed since it was pinned, in {fields}.",
    "renamed": "{tool} is what {server} called {was} when that was pinned.",
    "replaced": "{tool} is new and may be {was} under another name, which was pinned and is no longer listed.",
    "unapproved": "{tool} waits for somebody to approve it.",
    "lock-changed": "{tool} is not what the lock file says.",
    "not-locked": "{tool} is not in the lock file.",
    "ambiguous": "{server} lists several tools called {name}, and none of them is served.",
    "damaged": "{tool} cannot be checked: its pin is damaged.",
    "unreadable": "{tool} cannot be checked, since the pins of {server} cannot be read: {why}",
}
_MAX_IN_COMMAND: Final = 64


@dataclass(frozen=True, kw_only=True)
class WithheldTool:
    """One tool of a server that is on no page and cannot be called."""

    scope: str = ""
    server: str
    name: str
    """What the server calls it."""
    reason: Reason
    listed: bytes = field(repr=False)
    """The tool as the server lists it now."""
    pinned: bytes | None = field(default=None, repr=False)
    """The tool as it was trusted, where that is known."""
    was: str | None = None
    """The name under which it was trusted."""
    why: str = ""
    """What failed, for the reader; only where something did."""
    on_refused: Callable[[], object] | None = field(default=None, compare=False, repr=False)
    """Is told when somebody asks for the tool: perhaps it was approved meanwhile."""

    @cached_property
    def changes(self) -> tuple[FieldChange, ...]:
        """In what it differs from what was trusted."""
        return () if self.pinned is None else changes_between(orjson.loads(self.pinned), orjson.loads(self.listed))

    def explained(self, subject: str) -> str:
        """The reason in one sentence, about the tool under this name."""
        return _SENTENCES[self.reason].format(
            tool=quoted(subject),
            server=quoted(self.server),
            name=quoted(self.name),
            was=quoted(self.was or ""),
            fields=self._fields(),
            why=self.why,
        )

    @property
    def remedy(self) -> str:
        """What the operator can do about it."""
        match self.reason:
            case "changed" | "renamed" | "replaced" | "unapproved":
                return f"The operator sees why with `{self._command('diff')}`, and lets it in with `approve`."
            case "lock-changed" | "not-locked":
                see = f"The operator sees it with `{self._command('diff')}`"
                return f"{see}, and lets it in with `approve` and then `toolcrib pins lock`."
            case "ambiguous":
                return "The server must give each of its tools a name of its own."
            case "damaged":
                return f"The operator can have it pinned anew: `{self._command('reset')}`."
            case "unreadable":
                return "The operator can look at the database with `toolcrib store check`."

    def refusal(self, tool_id: str) -> ToolChanged:
        """The error for whoever asks for the tool; the new words of the server are not in it, since a model reads it.

        They are what is withheld. `toolcrib pins diff` shows them to people.
        """
        if self.on_refused is not None:
            self.on_refused()
        details: dict[str, Any] = {
            "id": shown(tool_id),
            "upstream": self.server,
            "name": shown(self.name),
            "reason": self.reason,
            "listed": f"sha256:{definition_digest(orjson.loads(self.listed))}",
        }
        if self.pinned is not None:
            details["pinned"] = f"sha256:{definition_digest(orjson.loads(self.pinned))}"
            details["diff"] = [each.told() for each in self.changes]
        hint = f"Do without it: it is not called before somebody has looked at it. {self.remedy}"
        return ToolChanged(self.explained(tool_id), hint=hint, details=details)

    def _fields(self) -> str:
        if self.pinned is None:
            return ""
        names = changed_fields(orjson.loads(self.pinned), orjson.loads(self.listed))
        # What the protocol does not know is a name of the server's own making.
        return listed([each for each in names if each in FIELDS]) or "a field that is no part of the protocol"

    def _command(self, verb: str) -> str:
        words = ["toolcrib", "pins", verb]
        if self.scope:
            words += ["--principal", self.scope]
        # What a server calls its tool must not become a command of its own when somebody pastes it.
        names = [each for each in (self.server, self.name) if _is_plain(each)]
        return shlex.join([*words, *(names if _is_plain(self.server) else [])])


def _is_plain(name: str) -> bool:
    return bool(name) and len(name) <= _MAX_IN_COMMAND and name.isprintable() and name[0] != "-" and "`" not in name
