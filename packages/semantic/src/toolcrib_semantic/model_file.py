"""The prepared model on disk: made once from the installed weights, checked on every start, rebuilt when damaged."""

from __future__ import annotations

import hashlib
import logging
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

_log = logging.getLogger(__name__)

_CHECKSUM_BYTES = hashlib.sha256().digest_size
# The prepared model has 23 MB; a file far beyond that is not ours, and is not read into memory.
_MAX_BYTES = 64_000_000


def load_or_build(path: Path, build: Callable[[], bytes]) -> bytes:
    """The prepared model at `path`, built and kept there when it is absent or damaged.

    Processes that start together may all build it; each replaces the file as a whole, with the same bytes. Where the
    folder cannot be written to, the model is built in memory, and again on the next start.
    """
    kept = _read(path)
    if kept is not None:
        return kept
    _log.info("Preparing the sentence model; this happens once and takes a few seconds.")
    built = build()
    _keep(path, built)
    return built


def _read(path: Path) -> bytes | None:
    try:
        if path.stat().st_size > _MAX_BYTES:
            return None
        content = path.read_bytes()
    except OSError:
        return None
    model, checksum = content[:-_CHECKSUM_BYTES], content[-_CHECKSUM_BYTES:]
    if hashlib.sha256(model).digest() != checksum:
        _log.warning("The prepared sentence model `%s` is damaged and is built again.", path.name)
        return None
    return model


def _keep(path: Path, model: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(model + hashlib.sha256(model).digest())
            Path(temporary).replace(path)
        except OSError:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as failure:
        _log.warning("The prepared sentence model cannot be kept (%s): it is built on every start.", failure.strerror)
