"""Checksums of rows: a bit that fell over in a file is noticed, and never given out for what was written."""

from __future__ import annotations

import hashlib
from typing import Final

SEAL_BYTES: Final = 16


def seal(*parts: str | bytes | float | None) -> bytes:
    """The checksum of the parts of a row, each told apart from its neighbours and from other types."""
    whole = hashlib.sha256()
    for part in parts:
        content = part if isinstance(part, bytes) else repr(part).encode(errors="surrogatepass")
        whole.update(f"{type(part).__name__}{len(content)}:".encode())
        whole.update(content)
    return whole.digest()[:SEAL_BYTES]
