"""The search index of a registry, made when it is first asked for and carried from state to state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib_core.registry._state import RegistryState

if TYPE_CHECKING:
    from toolcrib_core.search import SearchIndex


class IndexKeeper:
    """Keeps the index of the state that was searched last, so that the next one reads only what changed.

    A registry and its snapshots share one. There is no lock: two threads that ask at once may both make an index, and
    either is right.
    """

    __slots__ = ("_last",)

    def __init__(self) -> None:
        self._last: tuple[RegistryState, SearchIndex] | None = None

    def index_of(self, state: RegistryState) -> SearchIndex:
        """The index of exactly the tools of a state."""
        # Searching loads numpy, which those who never search should not wait for.
        from toolcrib_core.search import SearchIndex

        last_state, last_index = self._last or (None, SearchIndex())
        if last_state is state:
            return last_index
        index = last_index.holding(state.ordered)
        self._last = (state, index)
        return index
