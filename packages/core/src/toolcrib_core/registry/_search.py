"""The search index of a state, made when it is first asked for, from that of the state indexed before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib_core.registry._state import RegistryState

if TYPE_CHECKING:
    from toolcrib_core.search import SearchIndex


class IndexKeeper:
    """Keeps the index that was made last, so that the next state's reads only what changed.

    A registry and its snapshots share one, and each state keeps its own index: searching an old snapshot and the
    registry in turn makes nothing anew. There is no lock: two threads that ask at once may both make an index, and
    either is right.
    """

    __slots__ = ("_last",)

    def __init__(self) -> None:
        self._last: SearchIndex | None = None

    def branch(self, state: RegistryState) -> IndexKeeper:
        """One for another line of states that begins with this one."""
        begun = IndexKeeper()
        begun._last = state.indexes[0] if state.indexes else self._last
        return begun

    def index_of(self, state: RegistryState) -> SearchIndex:
        """The index of exactly the tools of a state."""
        if not state.indexes:
            # Searching loads numpy, which those who never search should not wait for.
            from toolcrib_core.search import SearchIndex

            self._last = (self._last or SearchIndex()).holding(state.ordered)
            state.indexes.append(self._last)
        return state.indexes[0]
