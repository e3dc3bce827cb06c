"""The sentence model as a quantised ONNX graph: all-MiniLM-L6-v2 from its tensors, with 8-bit weights.

Weights are rounded in blocks of 64 along the input and activations token by token (`MatMulNBits`). The plain dynamic
quantisation (`DynamicQuantizeMatMul`) is up to twice as fast, but has one scale for all tokens of a text and loses ten
times as much: the worst cosine to the float model is 0.984 against 0.999.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from toolcrib_semantic.onnx_format import (
    MICROSOFT,
    Attribute,
    encode_model,
    encode_node,
    encode_port,
    encode_tensor,
)

Tensors: TypeAlias = Mapping[str, NDArray[np.float32]]

DIMENSIONS = 384
MAX_TOKENS = 64
"""Longer texts are cut: for tool descriptions the first 64 tokens rank better than the first 200."""
INPUT, OUTPUT = "tokens", "vectors"

_LAYERS = 6
_HEADS = 12
_EPSILON = 1e-12
_BLOCK = 64
_LARGEST = 127
_ZERO_POINT = 128


def build_graph(tensors: Tensors) -> bytes:
    """An ONNX file that turns rows of equally many token ids into L2-normalised sentence vectors."""
    graph = _Graph()
    hidden = _embeddings(graph, tensors)
    for layer in range(_LAYERS):
        hidden = _layer(graph, tensors, f"encoder.layer.{layer}", hidden)
    graph.add("ReduceMean", hidden, output="mean", attributes={"axes": (1,), "keepdims": 0})
    graph.add("LpNormalization", "mean", output=OUTPUT, attributes={"axis": -1, "p": 2})
    return encode_model(
        nodes=graph.nodes,
        tensors=graph.tensors,
        inputs=[encode_port(INPUT, "int64", ("rows", "length"))],
        outputs=[encode_port(OUTPUT, "float32", ("rows", DIMENSIONS))],
    )


@dataclass(frozen=True, kw_only=True)
class _Graph:
    nodes: list[bytes] = field(default_factory=list)
    tensors: list[bytes] = field(default_factory=list)

    def constant(self, name: str, values: NDArray[Any]) -> str:
        self.tensors.append(encode_tensor(name, values))
        return name

    def add(
        self,
        operator: str,
        *inputs: str,
        output: str,
        domain: str = "",
        attributes: Mapping[str, Attribute] | None = None,
    ) -> str:
        self.nodes.append(encode_node(operator, inputs, [output], domain=domain, attributes=attributes))
        return output

    def project(self, source: str, name: str, weights: NDArray[np.float32]) -> str:
        """`source @ weights.T` with 8-bit weights; the bias is added by the operator that follows."""
        outputs, inputs = weights.shape
        blocks = weights.reshape(outputs, inputs // _BLOCK, _BLOCK)
        rounded, scales = _round(blocks)
        return self.add(
            "MatMulNBits",
            source,
            self.constant(f"{name}.weight", (rounded + _ZERO_POINT).astype(np.uint8)),
            self.constant(f"{name}.scale", scales.reshape(-1)),
            output=name,
            domain=MICROSOFT,
            attributes={"K": inputs, "N": outputs, "bits": 8, "block_size": _BLOCK, "accuracy_level": 4},
        )

    def add_and_normalize(self, source: str, skip: str, tensors: Tensors, *, name: str, bias: str) -> str:
        constants = (f"{name}.weight", f"{name}.bias", bias)
        return self.add(
            "SkipLayerNormalization",
            source,
            skip,
            *(self.constant(each, tensors[each]) for each in constants),
            output=name,
            domain=MICROSOFT,
            attributes={"epsilon": _EPSILON},
        )


def _embeddings(graph: _Graph, tensors: Tensors) -> str:
    rounded, scales = _round(tensors["embeddings.word_embeddings.weight"])
    graph.add("Gather", graph.constant("words", rounded.astype(np.int8)), INPUT, output="words.rounded")
    graph.add("Cast", "words.rounded", output="words.float", attributes={"to": 1})
    graph.add("Gather", graph.constant("words.scale", scales), INPUT, output="words.scales")
    graph.add("Mul", "words.float", "words.scales", output="words.vectors")
    # One sentence, never a pair: every token is of the first type.
    places = tensors["embeddings.position_embeddings.weight"][:MAX_TOKENS]
    places = places + tensors["embeddings.token_type_embeddings.weight"][0]
    graph.add("Shape", INPUT, output="length", attributes={"start": 1, "end": 2})
    start = graph.constant("start", np.zeros(1, dtype=np.int64))
    graph.add("Slice", graph.constant("places", places), start, "length", output="places.used")
    graph.add("Add", "words.vectors", "places.used", output="embedded")
    norm = (f"embeddings.LayerNorm.{part}" for part in ("weight", "bias"))
    constants = [graph.constant(name, tensors[name]) for name in norm]
    return graph.add("LayerNormalization", "embedded", *constants, output="layer.0", attributes={"epsilon": _EPSILON})


def _layer(graph: _Graph, tensors: Tensors, prefix: str, hidden: str) -> str:
    attention = f"{prefix}.attention"
    heads = _attend(graph, tensors, f"{attention}.self", hidden)
    mixed = graph.project(heads, f"{attention}.mixed", tensors[f"{attention}.output.dense.weight"])
    middle = graph.add_and_normalize(
        mixed, hidden, tensors, name=f"{attention}.output.LayerNorm", bias=f"{attention}.output.dense.bias"
    )
    wide = graph.project(middle, f"{prefix}.wide", tensors[f"{prefix}.intermediate.dense.weight"])
    bias = f"{prefix}.intermediate.dense.bias"
    active = graph.add(
        "BiasGelu", wide, graph.constant(bias, tensors[bias]), output=f"{prefix}.active", domain=MICROSOFT
    )
    narrow = graph.project(active, f"{prefix}.narrow", tensors[f"{prefix}.output.dense.weight"])
    return graph.add_and_normalize(
        narrow, middle, tensors, name=f"{prefix}.output.LayerNorm", bias=f"{prefix}.output.dense.bias"
    )


def _attend(graph: _Graph, tensors: Tensors, prefix: str, hidden: str) -> str:
    roles = ("query", "key", "value")
    weights = np.concatenate([tensors[f"{prefix}.{role}.weight"] for role in roles])
    biases = np.concatenate([tensors[f"{prefix}.{role}.bias"] for role in roles])
    together = graph.project(hidden, f"{prefix}.together", weights)
    parts = [f"{prefix}.{role}" for role in roles]
    sizes = graph.constant(f"{prefix}.sizes", np.full(len(roles), DIMENSIONS, dtype=np.int64))
    graph.nodes.append(encode_node("Split", (together, sizes), parts, attributes={"axis": 2}))
    return graph.add(
        "MultiHeadAttention",
        *parts,
        graph.constant(f"{prefix}.bias", biases),
        output=f"{prefix}.heads",
        domain=MICROSOFT,
        attributes={"num_heads": _HEADS},
    )


def _round(values: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Whole numbers of at most 127 and the scale of each row along the last axis."""
    scales = np.abs(values).max(axis=-1, keepdims=True) / np.float32(_LARGEST)
    scales[scales == 0] = 1
    return np.rint(values / scales), scales
