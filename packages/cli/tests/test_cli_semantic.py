"""Search by meaning in `toolcrib serve`: used where it is installed, done without where it is not."""

from __future__ import annotations

import importlib.util
import logging
from pathlib import Path

import pytest

import toolcrib_semantic
from toolcrib_cli.semantic_search import open_vectors
from toolcrib_core import DocumentVectors
from toolcrib_semantic import WeightsUnusable


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.mark.slow
def test_the_installed_extra_is_used_and_said(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    vectors = open_vectors()

    assert isinstance(vectors, DocumentVectors)
    assert "by meaning" in caplog.text


def test_without_the_extra_there_is_nothing_to_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolcrib_cli.semantic_search.find_spec", lambda _: None)

    assert open_vectors() is None


def test_unusable_weights_are_told_and_done_without(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> object:
        raise WeightsUnusable("The weights are not the ones that are pinned.")

    assert importlib.util.find_spec("toolcrib_semantic") is not None
    monkeypatch.setattr(toolcrib_semantic, "open_embedder", broken)

    assert open_vectors() is None
    assert "searched by words only" in caplog.text
