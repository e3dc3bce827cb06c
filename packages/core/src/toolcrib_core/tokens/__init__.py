"""Exact token counts (cl100k_base), offline: the vocabulary ships with the package and loads on first use."""

from __future__ import annotations

from functools import lru_cache

from toolcrib_core.tokens.vocabulary import encoding

__all__ = ["count_tokens", "split_tokens"]

# A rendered card is about 300 characters. Longer text is counted afresh each time, so the memo stays below 32 MB.
_MEMO_ENTRIES = 8192
_MEMO_MAX_LENGTH = 1024


def count_tokens(text: str) -> int:
    """The number of cl100k_base tokens in the text, special-token spellings counted as the plain text they are.

    Raises:
        VocabularyError: The shipped vocabulary is missing or damaged; there is no estimate to fall back on.
    """
    return _count_once(text) if len(text) <= _MEMO_MAX_LENGTH else _count(text)


def split_tokens(text: str) -> list[bytes]:
    """The UTF-8 bytes of each token, in order; a token may end inside a character.

    Raises:
        VocabularyError: The shipped vocabulary is missing or damaged.
    """
    cl100k = encoding()
    return cl100k.decode_tokens_bytes(cl100k.encode_ordinary(text))


def _count(text: str) -> int:
    return len(encoding().encode_ordinary(text))


_count_once = lru_cache(maxsize=_MEMO_ENTRIES)(_count)
