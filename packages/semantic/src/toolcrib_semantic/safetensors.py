"""Reads and writes safetensors files: a JSON header and the raw tensors, nothing that could run code."""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

_TYPES = {"F32": "<f4", "F16": "<f2"}
_MAX_HEADER = 1_000_000


def read_tensors(content: bytes) -> dict[str, NDArray[np.float32]]:
    """The floating-point tensors of a file by name, as float32; tensors of other types are left out.

    Raises:
        ValueError: The content is not a safetensors file.
    """
    header_end = 8 + int.from_bytes(content[:8], "little")
    if header_end > min(len(content), _MAX_HEADER):
        raise ValueError("the header is longer than the file or than any model's")
    header = json.loads(content[8:header_end])
    data = memoryview(content)[header_end:]
    return {
        name: _tensor(data[slice(*entry["data_offsets"])], entry)
        for name, entry in header.items()
        if entry.get("dtype") in _TYPES
    }


def write_half_precision(tensors: Mapping[str, NDArray[np.float32]]) -> bytes:
    """A file with these tensors as float16, in the order of their names."""
    header: dict[str, object] = {}
    blobs: list[bytes] = []
    end = 0
    for name in sorted(tensors):
        blob = tensors[name].astype(_TYPES["F16"]).tobytes()
        start, end = end, end + len(blob)
        header[name] = {"dtype": "F16", "shape": list(tensors[name].shape), "data_offsets": [start, end]}
        blobs.append(blob)
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + b"".join(blobs)


def _tensor(data: memoryview, entry: Mapping[str, str | list[int]]) -> NDArray[np.float32]:
    flat = np.frombuffer(data, dtype=_TYPES[str(entry["dtype"])])
    return flat.reshape([int(size) for size in entry["shape"]]).astype(np.float32, copy=False)
