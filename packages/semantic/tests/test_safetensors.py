from __future__ import annotations

import json

import numpy as np
import pytest

from toolcrib_semantic.safetensors import read_tensors, write_half_precision


def test_tensors_come_back_as_float32_to_half_precision() -> None:
    tensors = {"up": np.array([[0.5, -1.25]], dtype=np.float32), "down": np.array([3.0], dtype=np.float32)}

    read = read_tensors(write_half_precision(tensors))

    assert {name: values.dtype for name, values in read.items()} == {"up": np.float32, "down": np.float32}
    assert {name: values.tolist() for name, values in read.items()} == {"up": [[0.5, -1.25]], "down": [3.0]}


def test_the_same_tensors_give_the_same_bytes_in_any_order() -> None:
    one = {"a": np.zeros(2, dtype=np.float32), "b": np.ones(1, dtype=np.float32)}
    other = dict(reversed(one.items()))

    assert write_half_precision(one) == write_half_precision(other)


def test_tensors_of_other_types_are_left_out() -> None:
    header = json.dumps({"ids": {"dtype": "I64", "shape": [1], "data_offsets": [0, 8]}, "__metadata__": {}}).encode()

    assert read_tensors(len(header).to_bytes(8, "little") + header + bytes(8)) == {}


@pytest.mark.parametrize("content", [b"", b"\xff" * 64], ids=["empty", "a header without end"])
def test_what_is_not_a_safetensors_file_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"header|Expecting"):
        read_tensors(content)
