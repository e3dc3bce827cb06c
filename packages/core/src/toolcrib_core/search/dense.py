"""The dense side of search: one vector per tool by any `Embedder`, and how near a request is to each."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np

from toolcrib_core.errors import EmbedderUnusable
from toolcrib_core.identity import DEFAULT_NAMESPACE
from toolcrib_core.search.document import document_fields

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from toolcrib_core.definition import ToolDefinition
    from toolcrib_core.search.embedder import Embedder

Vectors: TypeAlias = "NDArray[np.float32]"
Indices: TypeAlias = "NDArray[np.int64]"

MAX_TEXT_LENGTH = 2_000
"""Characters of a tool that are embedded: a sentence model reads a few hundred; a hostile text must not cost more."""
# Vectors of this many texts are computed, and kept in the cache, before the next ones: a stop loses little.
_BATCH = 256
# Snapshots whose rows are kept in memory: registries that are searched in turn with one embedder.
_SNAPSHOTS = 4
_MAX_BARE = 4
# Vectors lie on this grid, 2**-11. Products are then multiples of 2**-22 and sums of them stay below 4, which float32
# holds exactly: a dot product is the same in any order of rows, on any processor and with any number of threads.
_GRID = 2048.0
# What is as near as these are to some tool is near by accident.
_MEANINGLESS = ("asdfghjkl qwertz", "xyzzy plugh blorptang", "lorem ipsum dolor", "the of and", "!?! ...", "wibble")
_WORD_EDGE = re.compile(r"[^0-9A-Za-z]+|(?<=[a-z0-9])(?=[A-Z])")


class VectorCache(Protocol):
    """Where vectors outlive the process. It may forget anything at any time; it may be shared by processes."""

    def load(self, embedder: str, digests: Sequence[str]) -> Mapping[str, Vectors]:
        """The vectors that are there, by digest."""
        ...

    def store(self, embedder: str, vectors: Mapping[str, Vectors]) -> None:
        """Keep these vectors, by digest."""
        ...


@dataclass(frozen=True, kw_only=True)
class EmbeddedTools:
    """Tools and their vectors, in the same order."""

    definitions: tuple[ToolDefinition, ...]
    rows: Vectors
    noise: float
    """How near some tool is to a request that means nothing: what is not nearer is no evidence."""

    def fill(self, rows: Vectors, definitions: Sequence[ToolDefinition], missing: Indices) -> Indices:
        """Copy the rows of tools that are here; returns the indices of those that are not."""
        here = {id(definition): row for row, definition in enumerate(self.definitions)}
        places = (here.get(id(definitions[index]), -1) for index in missing.tolist())
        sources = np.fromiter(places, np.int64, len(missing))
        found = sources >= 0
        rows[missing[found]] = self.rows[sources[found]]
        return missing[~found]


class DocumentVectors:
    """An `Embedder` that remembers the vectors of tools, so that each is embedded once.

    Pass it wherever an embedder goes. The bare embedders used last are remembered too; what this adds is a cache that
    outlives the process. Vectors are known by the digest of the text that was embedded: an edited schema costs nothing.
    Threads may share it, and a search of tools that are ready never waits for others to be embedded.
    """

    def __init__(self, embedder: Embedder, *, cache: VectorCache | None = None) -> None:
        self._embedder = embedder
        self._cache = cache
        self._snapshots: list[EmbeddedTools] = []
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """The name of the embedder."""
        return self._embedder.name

    @property
    def dimensions(self) -> int:
        """The length of every vector."""
        return self._embedder.dimensions

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row of length 1 per text; texts that the embedder finds nothing in have the zero vector.

        Raises:
            EmbedderUnusable: The embedder gives another shape than it promises, or numbers that are not finite.
        """
        return _unit_rows(self._embedder, texts)

    def tools(self, definitions: Sequence[ToolDefinition]) -> EmbeddedTools:
        """The tools with their vectors; only those not met before are embedded.

        That takes about 10 ms a tool with a small model on one core: ask for it ahead, in a thread, and the first
        search does not have to wait.

        Raises:
            EmbedderUnusable: The embedder gives another shape than it promises, or numbers that are not finite.
        """
        wanted = tuple(definitions)
        return self._ready(wanted) or self._made(wanted)

    def _ready(self, definitions: tuple[ToolDefinition, ...]) -> EmbeddedTools | None:
        return next((each for each in self._snapshots if each.definitions is definitions), None)

    def _made(self, definitions: tuple[ToolDefinition, ...]) -> EmbeddedTools:
        with self._lock:
            made = self._ready(definitions)
            if made is None:
                rows = self._gathered(definitions)
                made = EmbeddedTools(definitions=definitions, rows=rows, noise=self._noise(rows))
                # A new list, never a changed one: `_ready` looks at it without the lock.
                self._snapshots = [made, *self._snapshots[: _SNAPSHOTS - 1]]
            return made

    def _gathered(self, definitions: Sequence[ToolDefinition]) -> Vectors:
        rows = np.empty((len(definitions), self.dimensions), dtype=np.float32)
        missing: Indices = np.arange(len(definitions))
        for snapshot in self._snapshots:
            missing = snapshot.fill(rows, definitions, missing)
        for start in range(0, len(missing), _BATCH):
            batch = missing[start : start + _BATCH]
            rows[batch] = self._vectors([document_text(definitions[index]) for index in batch.tolist()])
        rows.flags.writeable = False
        return rows

    def _noise(self, rows: Vectors) -> float:
        nearest = np.einsum("ij,kj->ki", rows, self.embed(_MEANINGLESS)).max(axis=1, initial=0.0)
        return float(np.median(nearest))

    def _vectors(self, texts: Sequence[str]) -> Vectors:
        digests = [hashlib.sha256(text.encode()).hexdigest() for text in texts]
        found = self._from_cache(digests)
        new = {digest: text for digest, text in zip(digests, texts, strict=True) if digest not in found}
        if new:
            made = dict(zip(new, self.embed(list(new.values())), strict=True))
            if self._cache is not None:
                self._cache.store(self.name, made)
            found |= made
        return np.stack([found[digest] for digest in digests])

    def _from_cache(self, digests: Sequence[str]) -> dict[str, Vectors]:
        if self._cache is None:
            return {}
        kept = self._cache.load(self.name, digests)
        return {digest: vector for digest, vector in kept.items() if vector.shape == (self.dimensions,)}


def remembering(embedder: Embedder) -> DocumentVectors:
    """The embedder with a memory for the vectors of tools: the same one for the few embedders used last."""
    if isinstance(embedder, DocumentVectors):
        return embedder
    with _bare_lock:
        found = _bare.pop(id(embedder), None) or DocumentVectors(embedder)
        _bare[id(embedder)] = found
        while len(_bare) > _MAX_BARE:
            del _bare[next(iter(_bare))]
        return found


def document_text(definition: ToolDefinition) -> str:
    """What is embedded of a tool: `namespace: name. description`, and what its server says of itself.

    Names are split into words and packaging words (`mcp`, `server`) are left out of the namespace. Parameters are not
    embedded: with them, agent-typed requests lose 7 points of recall@5.
    """
    fields = document_fields(definition)
    namespace = "" if definition.namespace == DEFAULT_NAMESPACE else _spaced(fields.get("namespace", ""))
    about = definition.description or definition.title or ""
    told = " ".join(" ".join(text[:MAX_TEXT_LENGTH].split()) for text in (about, fields.get("serverDescription", "")))
    text = f"{_spaced(definition.name)}. {told}".rstrip()
    return (f"{namespace}: {text}" if namespace else text)[:MAX_TEXT_LENGTH]


# Each entry holds its embedder, so that the id it is filed under cannot pass to another object.
_bare: dict[int, DocumentVectors] = {}
_bare_lock = threading.Lock()


def _spaced(text: str) -> str:
    return " ".join(part for part in _WORD_EDGE.split(text) if part)


def _unit_rows(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    # A request may hold half of a surrogate pair, which no tokenizer takes.
    legal = [text.encode(errors="replace").decode() for text in texts]
    rows = np.asarray(embedder.embed(legal), dtype=np.float32)
    if rows.shape != (len(texts), embedder.dimensions):
        raise EmbedderUnusable(
            f"The embedder `{embedder.name}` gave an array of shape {rows.shape} for {len(texts)} texts.",
            hint=f"It must give one row of {embedder.dimensions} numbers for each text.",
        )
    if not np.isfinite(rows).all():
        raise EmbedderUnusable(
            f"The embedder `{embedder.name}` gave numbers that are not finite.", hint="Check its model and its input."
        )
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.rint(rows / np.where(lengths > 0, lengths, 1) * _GRID).astype(np.float32) / np.float32(_GRID)
