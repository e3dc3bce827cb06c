"""The shipped cl100k_base vocabulary: checked against its checksum, parsed once, never fetched."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from binascii import a2b_base64
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from toolcrib_core.errors import VocabularyError

if TYPE_CHECKING:
    from tiktoken import Encoding

SHIPPED_FILE = Path(__file__).with_name("cl100k_base.tiktoken.gz")
SHA256 = "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"
"""Of the unpacked file; the one that tiktoken itself pins."""
LONGEST_TOKEN = 128
"""Bytes of the longest token, so a text of more than 128·n bytes has more than n tokens."""

_UNPACKED_SIZE = 1_681_126
# Both as tiktoken defines cl100k_base; they are part of the encoding, not of the vocabulary file.
_PATTERN = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)
_SPECIAL_TOKENS = {
    "<|endoftext|>": 100257,
    "<|fim_prefix|>": 100258,
    "<|fim_middle|>": 100259,
    "<|fim_suffix|>": 100260,
    "<|endofprompt|>": 100276,
}
_loading = Lock()


def encoding() -> Encoding:
    """The cl100k_base encoding, built on the first call and shared by all threads.

    Raises:
        VocabularyError: The shipped file is missing or damaged.
    """
    with _loading:
        return _load_once()


def load_encoding(path: Path) -> Encoding:
    """Build the encoding from a packed vocabulary file.

    tiktoken's own loader is not used: it downloads, obeys an environment variable, and deletes a file it dislikes.

    Raises:
        VocabularyError: The file is missing, damaged, or not the vocabulary whose checksum is pinned here.
    """
    ranks = _parse(_read_checked(path))
    # Importing tiktoken takes about 40 ms, which whoever never counts a token should not pay.
    from tiktoken import Encoding

    return Encoding("cl100k_base", pat_str=_PATTERN, mergeable_ranks=ranks, special_tokens=_SPECIAL_TOKENS)


@cache
def _load_once() -> Encoding:
    return load_encoding(SHIPPED_FILE)


def _read_checked(path: Path) -> bytes:
    try:
        with gzip.open(path) as packed:
            content = packed.read(_UNPACKED_SIZE + 1)
    except FileNotFoundError:
        raise _unusable(path, "missing") from None
    except (OSError, EOFError, zlib.error):
        raise _unusable(path, "damaged: it cannot be unpacked") from None
    if hashlib.sha256(content).hexdigest() != SHA256:
        raise _unusable(path, "damaged: its checksum is wrong")
    return content


def _parse(content: bytes) -> dict[bytes, int]:
    # Lines are `base64 rank` with the ranks counting up from 0, which the checksum guarantees: reading only the first
    # column takes 50 ms where reading both takes 130.
    return {token: rank for rank, token in enumerate(map(a2b_base64, content.split()[::2]))}


def _unusable(path: Path, why: str) -> VocabularyError:
    return VocabularyError(
        f"The token vocabulary `{path.name}` is {why}.",
        hint="Reinstall `toolcrib-core`; tokens are never estimated instead.",
        details={"file": path.name, "reason": why},
    )
