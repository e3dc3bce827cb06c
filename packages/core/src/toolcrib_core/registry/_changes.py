"""The change feed: every change, once, in order, after it can be seen."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import count
from typing import Literal, TypeAlias

from toolcrib_core.registry._warnings import LISTENER_FAILED, RegistryWarning

ChangeKind: TypeAlias = Literal["added", "removed", "replaced", "alias-added", "alias-removed"]


@dataclass(frozen=True, kw_only=True)
class RegistryChange:
    """One tool or alias that came, went or was replaced; what changes together has one revision."""

    kind: ChangeKind
    id: str
    revision: int


ChangeListener: TypeAlias = Callable[[RegistryChange], object]


class ChangeFeed:
    """Delivers changes to listeners outside the registry's lock, so that a listener may use the registry."""

    def __init__(self) -> None:
        self._listeners: dict[int, ChangeListener] = {}
        self._enrolling = threading.Lock()
        self._tickets = count()
        self._pending: deque[tuple[RegistryChange, tuple[int, ...]]] = deque()
        self._delivering = threading.Lock()

    def subscribe(self, listener: ChangeListener) -> Callable[[], None]:
        """Call the listener with every change from now on, until the function returned here is called."""
        ticket = next(self._tickets)
        with self._enrolling:
            self._listeners = {**self._listeners, ticket: listener}

        def unsubscribe() -> None:
            with self._enrolling:
                self._listeners = {each: kept for each, kept in self._listeners.items() if each != ticket}

        return unsubscribe

    def put(self, changed: Iterable[tuple[ChangeKind, str]], *, revision: int) -> None:
        """Queue changes for those who listen now; the caller lets in one writer at a time, which keeps their order."""
        listening = tuple(self._listeners)
        if listening:
            changes = (RegistryChange(kind=kind, id=name, revision=revision) for kind, name in changed)
            self._pending.extend((change, listening) for change in changes)

    def deliver(self) -> list[RegistryWarning]:
        """Deliver what is queued, unless somebody does already, and return a warning for each listener that failed."""
        failures: list[RegistryWarning] = []
        # Whoever delivers looks again after letting go: a change queued meanwhile by another thread is not left behind.
        while self._pending and self._delivering.acquire(blocking=False):
            try:
                self._drain(failures)
            finally:
                self._delivering.release()
        return failures

    def _drain(self, failures: list[RegistryWarning]) -> None:
        while self._pending:
            change, tickets = self._pending.popleft()
            for ticket in tickets:
                listener = self._listeners.get(ticket)
                if listener is not None:
                    _tell(listener, change, failures)


def _tell(listener: ChangeListener, change: RegistryChange, failures: list[RegistryWarning]) -> None:
    try:
        listener(change)
    except Exception as failure:  # noqa: BLE001  # a listener's fault must not undo or hide a change that is made
        warning = RegistryWarning(
            f"A listener raised `{type(failure).__name__}` when told that `{change.id}` was {change.kind}; "
            "the change stands.",
            LISTENER_FAILED,
            change.id,
        )
        warning.__cause__ = failure
        failures.append(warning)
