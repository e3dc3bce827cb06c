from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from toolcrib_core.search import Embedder
from toolcrib_semantic import MiniLmEmbedder, open_embedder
from toolcrib_semantic.embedder import _session, _tokenizer
from toolcrib_semantic.graph import build_graph
from toolcrib_semantic.safetensors import read_tensors
from toolcrib_semantic.weights import WEIGHTS_SHA256, ModelFiles, read_checked

SENTENCES = ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."]
# Of the model card, to which an 8-bit model comes within a hundredth.
CARD = [[1.0, 0.6660, 0.1046], [0.6660, 1.0, 0.1411], [0.1046, 0.1411, 1.0]]


def test_without_what_it_was_taught_the_model_gives_the_cosines_of_its_card(model_files: ModelFiles) -> None:
    graph = build_graph(read_tensors(read_checked(model_files.weights, WEIGHTS_SHA256)))
    plain = MiniLmEmbedder(_session(graph, 1), _tokenizer(model_files), name="plain")

    vectors = plain.embed(SENTENCES)

    assert vectors @ vectors.T == pytest.approx(np.array(CARD), abs=0.01)


def test_the_graph_is_built_byte_for_byte_the_same(model_files: ModelFiles) -> None:
    tensors = read_tensors(read_checked(model_files.weights, WEIGHTS_SHA256))

    assert build_graph(tensors) == build_graph(tensors)


@pytest.mark.req("AR-3.2")
def test_it_is_an_embedder_of_core(embedder: MiniLmEmbedder) -> None:
    assert isinstance(embedder, Embedder)
    assert embedder.embed(SENTENCES).shape == (3, embedder.dimensions)


def test_nothing_is_noted_about_the_machine_to_be_sent_anywhere(
    embedder: MiniLmEmbedder, cache_directory: Path, tmp_path: Path
) -> None:
    open_it = "import pathlib, sys, toolcrib_semantic as s; s.open_embedder(cache_directory=pathlib.Path(sys.argv[1]))"
    unset = {"ORT_DISABLE_TELEMETRY", "XDG_CACHE_HOME"}
    environ = {name: value for name, value in os.environ.items() if name not in unset} | {"HOME": str(tmp_path)}

    subprocess.run([sys.executable, "-c", open_it, str(cache_directory)], env=environ, check=True, timeout=60)

    assert list(tmp_path.iterdir()) == []


def test_every_vector_has_length_one(embedder: MiniLmEmbedder) -> None:
    lengths = np.linalg.norm(embedder.embed([*SENTENCES, "", "🙂", "日本語"]), axis=1)

    assert lengths == pytest.approx(np.ones(6), abs=1e-5)


def test_a_text_has_the_same_vector_alone_in_a_batch_and_in_another_process_life(
    embedder: MiniLmEmbedder, cache_directory: Path
) -> None:
    together = embedder.embed(SENTENCES * 3)
    again = open_embedder(cache_directory=cache_directory)

    alone = np.concatenate([again.embed([sentence]) for sentence in SENTENCES * 3])

    assert np.array_equal(alone, together)


def test_only_the_first_64_tokens_count(embedder: MiniLmEmbedder) -> None:
    long = "word " * 62

    one, other = embedder.embed([long + "cat", long + "submarine " * 10_000])

    assert np.array_equal(one, other)


def test_no_texts_give_no_rows(embedder: MiniLmEmbedder) -> None:
    assert embedder.embed([]).shape == (0, 384)


def test_a_request_is_nearer_to_the_tool_that_answers_it(embedder: MiniLmEmbedder) -> None:
    request, answer, other = embedder.embed(
        ["stop billing this person every month", "payments: cancel subscription.", "payments: create invoice."]
    )

    assert request @ answer > request @ other + 0.1


def test_threads_may_share_an_embedder(embedder: MiniLmEmbedder) -> None:
    expected = embedder.embed(SENTENCES)

    with ThreadPoolExecutor(4) as threads:
        results = list(threads.map(lambda _: embedder.embed(SENTENCES), range(8)))

    assert all(np.array_equal(result, expected) for result in results)


def test_the_name_tells_models_apart_and_is_that_of_the_prepared_file(
    embedder: MiniLmEmbedder, cache_directory: Path
) -> None:
    assert [path.name for path in cache_directory.iterdir()] == [f"{embedder.name}.onnx"]
