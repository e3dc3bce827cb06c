"""Writes ONNX files: the few message types our graph needs, as the protobuf bytes they are.

The `onnx` package would do it too, at the price of 20 MB and a protobuf runtime for something done once per machine.
Field numbers are those of `onnx.proto3`, which never change.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Attribute: TypeAlias = "int | float | tuple[int, ...]"

MICROSOFT = "com.microsoft"
"""The domain of the fused and quantised operators of onnxruntime."""

_IR_VERSION = 8
_OPSET = 17
_DATA_TYPES = {"float32": 1, "uint8": 2, "int8": 3, "int64": 7}
_FLOAT, _INT, _INTS = 1, 2, 7


def encode_node(
    operator: str,
    inputs: Sequence[str],
    outputs: Sequence[str],
    *,
    domain: str = "",
    attributes: Mapping[str, Attribute] | None = None,
) -> bytes:
    """One operation of the graph (`NodeProto`)."""
    return b"".join(
        (
            *(_block(1, name) for name in inputs),
            *(_block(2, name) for name in outputs),
            _block(4, operator),
            *(_block(5, _attribute(name, value)) for name, value in (attributes or {}).items()),
            _block(7, domain),
        )
    )


def encode_tensor(name: str, values: NDArray[Any]) -> bytes:
    """One constant of the graph (`TensorProto`)."""
    little = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
    dimensions = b"".join(_number(1, size) for size in values.shape)
    return dimensions + _number(2, _DATA_TYPES[values.dtype.name]) + _block(8, name) + _block(9, little.tobytes())


def encode_port(name: str, data_type: str, shape: Sequence[int | str]) -> bytes:
    """One input or output of the graph (`ValueInfoProto`); a dimension that is a name may vary."""
    sizes = (_block(1, _block(2, size) if isinstance(size, str) else _number(1, size)) for size in shape)
    tensor_type = _number(1, _DATA_TYPES[data_type]) + _block(2, b"".join(sizes))
    return _block(1, name) + _block(2, _block(1, tensor_type))


def encode_model(
    *, nodes: Iterable[bytes], tensors: Iterable[bytes], inputs: Iterable[bytes], outputs: Iterable[bytes]
) -> bytes:
    """The whole file (`ModelProto`)."""
    graph = b"".join(
        (
            *(_block(1, node) for node in nodes),
            _block(2, "sentence-model"),
            *(_block(5, tensor) for tensor in tensors),
            *(_block(11, port) for port in inputs),
            *(_block(12, port) for port in outputs),
        )
    )
    operators = _block(8, _number(2, _OPSET)) + _block(8, _block(1, MICROSOFT) + _number(2, 1))
    return _number(1, _IR_VERSION) + operators + _block(7, graph)


def _attribute(name: str, value: Attribute) -> bytes:
    match value:
        case float():
            return _block(1, name) + _varint(2 << 3 | 5) + struct.pack("<f", value) + _number(20, _FLOAT)
        case int():
            return _block(1, name) + _number(3, value) + _number(20, _INT)
        case _:
            return _block(1, name) + b"".join(_number(8, each) for each in value) + _number(20, _INTS)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _block(field: int, content: bytes | str) -> bytes:
    data = content.encode() if isinstance(content, str) else content
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    # Negative numbers are written as their 64-bit two's complement.
    rest, encoded = value & (1 << 64) - 1, bytearray()
    while rest >> 7:
        encoded.append(rest & 0x7F | 0x80)
        rest >>= 7
    encoded.append(rest)
    return bytes(encoded)
