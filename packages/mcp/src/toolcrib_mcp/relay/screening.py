"""What servers say of their prompts and resources, without what a person who reads it could not see.

Tools are scanned where they are catalogued; this is for everything else that a server lists or tells at first.
"""

from __future__ import annotations

import logging
from typing import Any, Final

from toolcrib_core.wording import quoted
from toolcrib_mcp.scan import scan_texts
from toolcrib_mcp.scan.smuggling import pointed_at
from toolcrib_mcp.upstreams import ListKind

_LISTED: Final = {kind.method: kind.value for kind in ListKind if kind is not ListKind.TOOLS}
_ANSWERS: Final = frozenset({"prompts/get", "resources/read"})
_MOST_TOLD: Final = 1_000
_logger = logging.getLogger("toolcrib.mcp")


class ListScreen:
    """Leaves out what a server lists with hidden characters in it; each is told of once, in the log."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def screened(self, method: str, result: dict[str, Any]) -> dict[str, Any]:
        """The answer to a request, the very same where nothing has to be left out of a list or pointed at."""
        if method in _ANSWERS:
            return pointed_at(result)
        member = _LISTED.get(method)
        items = None if member is None else result.get(member)
        if member is None or not isinstance(items, list):
            return result
        kept = [item for item in items if not isinstance(item, dict) or not self._is_refused(item, member)]
        return result if len(kept) == len(items) else {**result, member: kept}

    def instructions(self, text: str | None) -> str | None:
        """What a server says about how it wants to be used, unless there is something hidden in it."""
        if text is None or not self._is_refused(text, "instructions"):
            return text
        return None

    def _is_refused(self, item: dict[str, Any] | str, where: str) -> bool:
        refused = scan_texts(item).refused
        if not refused:
            return False
        reason = f"{where}: {refused[0]}"
        if reason not in self._told and len(self._told) < _MOST_TOLD:
            self._told.add(reason)
            name = quoted(str(item.get("name"))) if isinstance(item, dict) else "a text"
            _logger.warning("%s is left out of what a server lists (%s)", name, reason)
        return True
