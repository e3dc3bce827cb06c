"""Finds tools by meaning: a sentence embedder that runs offline on one core, and a cache for its vectors.

>>> from toolcrib_core import DocumentVectors
>>> embedder = DocumentVectors(open_embedder(), cache=SqliteVectorCache())  # doctest: +SKIP
>>> index.search("let the team know the release is out", embedder=embedder)  # doctest: +SKIP
"""

from __future__ import annotations

from toolcrib_semantic.embedder import MiniLmEmbedder, open_embedder
from toolcrib_semantic.errors import WeightsUnusable
from toolcrib_semantic.vector_cache import SqliteVectorCache

__all__ = ["MiniLmEmbedder", "SqliteVectorCache", "WeightsUnusable", "open_embedder"]
