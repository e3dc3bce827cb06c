"""The one protocol behind which a dense signal for search may stand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors whose dot product says how close two texts are in meaning.

    It must be deterministic and may be called from several threads.
    """

    @property
    def name(self) -> str:
        """Which model this is, with its version: vectors of different names are never compared."""
        ...

    @property
    def dimensions(self) -> int:
        """The length of every vector."""
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[float32]:
        """One row per text, each of length 1."""
        ...
