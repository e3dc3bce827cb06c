"""Search by meaning, where `toolcrib-semantic` is installed."""

from __future__ import annotations

import logging
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolcrib_core import DocumentVectors

_logger = logging.getLogger("toolcrib.cli")


def open_vectors() -> DocumentVectors | None:
    """What finds tools by meaning, or nothing where the extra is not installed or its weights cannot be used."""
    if find_spec("toolcrib_semantic") is None:
        return None
    from toolcrib_core import DocumentVectors
    from toolcrib_semantic import SqliteVectorCache, WeightsUnusable, open_embedder

    try:
        vectors = DocumentVectors(open_embedder(), cache=SqliteVectorCache())
    except WeightsUnusable as failure:
        _logger.warning("tools are searched by words only: %s", failure.message)
        return None
    _logger.info("tools are searched by meaning, too")
    return vectors
