"""What an update changed, and the feed that tells of it: every change once, in order, after it can be seen."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from toolcrib_mcp.catalog._findings import ToolFinding
from toolcrib_mcp.catalog._state import CatalogState

_logger = logging.getLogger("toolcrib.mcp")


@dataclass(frozen=True, kw_only=True)
class CatalogChange:
    """What one update changed about the served tools: ids, ascending.

    A tool of another server may be among them: two tools that come to claim one id are both withheld, and one that is
    left alone with it comes back.
    """

    upstream: str
    revision: int
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    """The id stayed and anything else about the tool did not; definitions are compared, not only cards."""
    visible: bool = False
    """Whether a list of all cards looks different now."""
    findings: tuple[ToolFinding, ...] = ()
    """What is wrong with tools and was not before."""


CatalogListener: TypeAlias = Callable[[CatalogChange], object]
_Subscription: TypeAlias = tuple[CatalogListener]


class ChangeFeed:
    """Tells listeners of changes outside the catalogue's lock, so that a listener may use the catalogue."""

    def __init__(self) -> None:
        self._subscriptions: tuple[_Subscription, ...] = ()
        self._enrolling = threading.Lock()
        self._pending: deque[CatalogChange] = deque()
        self._delivering = threading.Lock()

    def subscribe(self, listener: CatalogListener) -> Callable[[], None]:
        """Call the listener with every change from now on, until the function returned here is called."""
        # A tuple of its own: the same listener may subscribe twice, and end one of the two.
        subscription = (listener,)
        with self._enrolling:
            self._subscriptions = (*self._subscriptions, subscription)

        def unsubscribe() -> None:
            with self._enrolling:
                self._subscriptions = tuple(each for each in self._subscriptions if each is not subscription)

        return unsubscribe

    def put(self, change: CatalogChange) -> None:
        """Queue a change; the caller lets in one writer at a time, which keeps their order."""
        self._pending.append(change)

    def deliver(self) -> None:
        """Tell what is queued, unless somebody does already."""
        # Whoever delivers looks again after letting go: a change queued meanwhile by another thread is not left behind.
        while self._pending and self._delivering.acquire(blocking=False):
            try:
                while self._pending:
                    self._tell(self._pending.popleft())
            finally:
                self._delivering.release()

    def _tell(self, change: CatalogChange) -> None:
        for (listener,) in self._subscriptions:
            try:
                listener(change)
            except Exception:
                _logger.exception("a listener failed on revision %d of the catalogue", change.revision)


def change_between(before: CatalogState, now: CatalogState, *, upstream: str) -> CatalogChange:
    """What an update of that server changed, from one state to the next."""
    old, new = before.served, now.served
    added, removed = sorted(new.keys() - old.keys()), sorted(old.keys() - new.keys())
    # An entry that was not read again is the same object, which is all that is asked of most.
    replaced = sorted(each for each in new.keys() & old.keys() if new[each] is not old[each] and new[each] != old[each])
    known = set(before.report.findings)
    return CatalogChange(
        upstream=upstream,
        revision=now.revision,
        added=tuple(added),
        removed=tuple(removed),
        replaced=tuple(replaced),
        visible=any(new[each].card for each in added)
        or any(old[each].card for each in removed)
        or any(old[each].card != new[each].card for each in replaced),
        findings=tuple(each for each in now.report.findings if each not in known),
    )
