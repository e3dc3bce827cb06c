"""What the sentence model was taught about tools: low-rank changes to its upper layers, learnt offline and shipped."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from toolcrib_semantic.safetensors import read_tensors

ADAPTER_FILE = Path(__file__).with_name("adapter.safetensors")
"""Made by `bench/semantic_training.py`; ORIGIN.md beside it says from what."""


def adapt(tensors: Mapping[str, NDArray[np.float32]], adapter: bytes) -> dict[str, NDArray[np.float32]]:
    """The tensors of the model with the learnt changes added: `weight + up @ down` for every matrix that has them."""
    learnt = read_tensors(adapter)
    adapted = dict(tensors)
    for name in sorted(name.removesuffix(".down") for name in learnt if name.endswith(".down")):
        adapted[f"{name}.weight"] = adapted[f"{name}.weight"] + learnt[f"{name}.up"] @ learnt[f"{name}.down"]
    return adapted
