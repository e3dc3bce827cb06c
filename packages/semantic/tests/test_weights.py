from __future__ import annotations

from pathlib import Path

import pytest

from toolcrib_semantic import WeightsUnusable, weights
from toolcrib_semantic.weights import WEIGHTS_SHA256, ModelFiles, find_model_files, read_checked


def test_the_installed_weights_are_the_ones_whose_checksum_is_pinned(model_files: ModelFiles) -> None:
    assert len(read_checked(model_files.weights, WEIGHTS_SHA256)) > 90_000_000


def test_weights_with_another_checksum_are_refused(tmp_path: Path) -> None:
    forged = tmp_path / "model.safetensors"
    forged.write_bytes(b"not the weights")

    with pytest.raises(WeightsUnusable) as refusal:
        read_checked(forged, WEIGHTS_SHA256)

    assert refusal.value.message == "The model file `model.safetensors` has the wrong checksum."
    assert refusal.value.hint == 'Reinstall it with `pip install --force-reinstall "toolcrib[semantic]"`.'
    assert not refusal.value.retryable


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(WeightsUnusable, match=r"`tokenizer\.json` cannot be read"):
        read_checked(tmp_path / "tokenizer.json", WEIGHTS_SHA256)


def test_missing_weights_are_an_error_that_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "_SOURCES", (("no_such_package", "model"), ("toolcrib_semantic", "no_such_folder")))

    with pytest.raises(WeightsUnusable) as missing:
        find_model_files()

    assert missing.value.hint == 'Install them with `pip install "toolcrib[semantic]"`.'
    assert missing.value.details == {"packages": ["no_such_package", "toolcrib_semantic"]}
