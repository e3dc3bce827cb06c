from __future__ import annotations

import logging
from pathlib import Path

import pytest

from toolcrib_semantic.model_file import load_or_build

MODEL = b"a prepared model" * 100


class Builder:
    """Counts how often the model is built."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> bytes:
        self.calls += 1
        return MODEL


def test_a_model_is_built_once_and_then_read(tmp_path: Path) -> None:
    build = Builder()

    models = [load_or_build(tmp_path / "new" / "model.onnx", build) for _ in range(3)]

    assert models == [MODEL] * 3
    assert build.calls == 1


@pytest.mark.parametrize("damage", [b"", b"short", MODEL + bytes(32)], ids=["empty", "cut off", "wrong checksum"])
def test_a_damaged_file_is_built_again_and_mended(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(damage)
    build = Builder()

    models = [load_or_build(path, build) for _ in range(2)]

    assert models == [MODEL] * 2
    assert build.calls == 1


def test_a_file_far_larger_than_any_model_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    with path.open("wb") as file:
        file.truncate(65_000_000)

    assert load_or_build(path, Builder()) == MODEL


def test_where_nothing_can_be_kept_the_model_is_built_in_memory(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_bytes(b"")
    build = Builder()

    with caplog.at_level(logging.WARNING):
        models = [load_or_build(tmp_path / "file" / "model.onnx", build) for _ in range(2)]

    assert models == [MODEL] * 2
    assert build.calls == 2
    assert "cannot be kept" in caplog.text


def test_a_model_that_cannot_be_put_in_place_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "model.onnx" / "in the way").mkdir(parents=True)

    model = load_or_build(tmp_path / "model.onnx", Builder())

    assert model == MODEL
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]


def test_nothing_but_the_model_is_left_in_the_folder(tmp_path: Path) -> None:
    load_or_build(tmp_path / "model.onnx", Builder())

    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]


def test_the_first_start_says_why_it_takes_longer(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        load_or_build(tmp_path / "model.onnx", Builder())

    assert "Preparing the sentence model" in caplog.text
