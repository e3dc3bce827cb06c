"""The sentence embedder: all-MiniLM-L6-v2, offline, on one core, a few milliseconds a text."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray
from platformdirs import user_cache_path

from toolcrib_semantic.adapter import ADAPTER_FILE, adapt
from toolcrib_semantic.graph import DIMENSIONS, INPUT, MAX_TOKENS, build_graph
from toolcrib_semantic.model_file import load_or_build
from toolcrib_semantic.safetensors import read_tensors
from toolcrib_semantic.weights import (
    TOKENIZER_SHA256,
    WEIGHTS_SHA256,
    ModelFiles,
    find_model_files,
    read_checked,
)

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# Part of the name of what is cached: raise it when the graph or the adapter changes what a text's vector is.
_REVISION = 1
# 64 tokens are about 300 characters of English; what lies far behind them is never read.
_MAX_CHARACTERS = 4_000
_MAX_THREADS = 2


class _Session(Protocol):
    def run(self, outputs: None, inputs: dict[str, NDArray[np.int64]]) -> list[NDArray[np.float32]]: ...


class MiniLmEmbedder:
    """Turns texts into sentence vectors; an `Embedder` of `toolcrib_core`.

    A text has the same vector in any company, order and process. Threads may share an embedder.
    """

    dimensions = DIMENSIONS

    def __init__(self, session: _Session, tokenizer: Tokenizer, *, name: str) -> None:
        self.name = name
        self._session = session
        self._tokenizer = tokenizer

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One L2-normalised row of 384 numbers for each text; only its first 64 tokens count."""
        vectors = np.empty((len(texts), DIMENSIONS), dtype=np.float32)
        # One by one: a batch is no faster on a core (125 texts a second either way) and would change the last digits.
        for index, text in enumerate(texts):
            tokens = self._tokenizer.encode(text[:_MAX_CHARACTERS]).ids
            vectors[index] = self._session.run(None, {INPUT: np.array([tokens], dtype=np.int64)})[0][0]
        return vectors


def open_embedder(*, cache_directory: Path | None = None, threads: int = 1) -> MiniLmEmbedder:
    """The sentence embedder from the installed weights; nothing is ever downloaded.

    The first start on a machine prepares the model, a few seconds, and keeps 23 MB in `cache_directory` (the user's
    cache folder unless given). At most two threads are used.

    Raises:
        WeightsUnusable: The weights are not installed, or are not the ones whose checksum is pinned.
    """
    files = find_model_files()
    directory = cache_directory or user_cache_path("toolcrib")
    model = load_or_build(directory / f"{_model_name()}.onnx", lambda: _build(files))
    return MiniLmEmbedder(_session(model, threads), _tokenizer(files), name=_model_name())


def _model_name() -> str:
    made_of = f"{WEIGHTS_SHA256} {hashlib.sha256(ADAPTER_FILE.read_bytes()).hexdigest()} {_REVISION}"
    return f"all-minilm-l6-v2-{hashlib.sha256(made_of.encode()).hexdigest()[:12]}"


def _build(files: ModelFiles) -> bytes:
    tensors = read_tensors(read_checked(files.weights, WEIGHTS_SHA256))
    return build_graph(adapt(tensors, ADAPTER_FILE.read_bytes()))


def _session(model: bytes, threads: int) -> _Session:
    # Its import alone writes an id of this machine and a queue of events to send; its own switch comes too late for it.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    # Importing onnxruntime takes about 100 ms, which whoever never searches should not pay.
    from onnxruntime import InferenceSession, SessionOptions  # type: ignore[import-untyped]  # ships no types

    options = SessionOptions()
    options.intra_op_num_threads = max(1, min(threads, _MAX_THREADS))
    options.inter_op_num_threads = 1
    session: _Session = InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return session


def _tokenizer(files: ModelFiles) -> Tokenizer:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(read_checked(files.tokenizer, TOKENIZER_SHA256).decode())
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    return tokenizer
