"""What clients are told without having asked: from whoever knows, to every front that has listeners."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from toolcrib_core.wording import quoted

LIST_CHANGED: Final = {
    "toolsListChanged": "notifications/tools/list_changed",
    "promptsListChanged": "notifications/prompts/list_changed",
    "resourcesListChanged": "notifications/resources/list_changed",
}
"""What a modern client asks to be told, with the notification that it is told by."""

RESOURCE_UPDATED: Final = "notifications/resources/updated"
LOG_MESSAGE: Final = "notifications/message"

_logger = logging.getLogger("toolcrib.mcp")


@dataclass(frozen=True, kw_only=True)
class Notice:
    """One notification; `to` names the listeners it is for, and without it, it is for everybody."""

    method: str
    params: Mapping[str, Any] = field(default_factory=dict)
    to: frozenset[str] | None = None


class Feed:
    """Hands every notice to all who listen, at once and in order; a listener only takes it in, and never waits."""

    def __init__(self) -> None:
        self._listeners: dict[object, Callable[[Notice], None]] = {}

    def subscribe(self, listener: Callable[[Notice], None]) -> Callable[[], None]:
        """Call the listener with every notice; call what is returned to stop."""
        token = object()
        self._listeners[token] = listener

        def stop() -> None:
            self._listeners.pop(token, None)

        return stop

    def publish(self, notice: Notice) -> None:
        """Tell everybody; one listener that fails is logged, and keeps nobody else from hearing."""
        for listener in list(self._listeners.values()):
            try:
                listener(notice)
            except Exception:
                _logger.exception("the notice %s could not be handed on", quoted(notice.method))
