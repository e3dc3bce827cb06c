"""The headers of one request: read once, and refused where two readers would read them differently."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from toolcrib_mcp.front.http.replies import Refusal

_SINGLE: Final = frozenset(
    {b"host", b"origin", b"authorization", b"content-type", b"content-length", b"mcp-session-id"}
)


class Headers:
    """Header lines by their names, which ASGI gives in small letters."""

    __slots__ = ("_lines", "repeated")

    def __init__(self, lines: Iterable[tuple[bytes, bytes]]) -> None:
        listed = list(lines)
        self._lines = dict(listed)
        self.repeated: frozenset[bytes] = frozenset()
        """The names that came more than once."""
        if len(self._lines) != len(listed):
            self._fold(listed)

    def get(self, name: bytes) -> str | None:
        """The value of a header, without the spaces around it; `None` if it did not come."""
        value = self._lines.get(name)
        return None if value is None else value.strip().decode("latin-1")

    def names(self) -> Iterable[bytes]:
        """The names that came."""
        return self._lines.keys()

    def accepts(self, kind: bytes) -> bool:
        """Whether the client takes this kind of content, by name or by a pattern."""
        wanted = self._lines.get(b"accept")
        if wanted is None:
            return False
        kinds = [each.split(b";", 1)[0].strip() for each in wanted.lower().split(b",")]
        return kind in kinds or b"*/*" in kinds or kind.split(b"/")[0] + b"/*" in kinds

    def is_json(self) -> bool:
        """Whether the body is said to be JSON."""
        kind = self._lines.get(b"content-type", b"")
        return kind.split(b";", 1)[0].strip().lower() == b"application/json"

    def _fold(self, lines: list[tuple[bytes, bytes]]) -> None:
        seen: dict[bytes, bytes] = {}
        repeated: set[bytes] = set()
        for name, value in lines:
            if name in seen:
                repeated.add(name)
            seen[name] = seen[name] + b", " + value if name in seen else value
        if repeated & _SINGLE:
            raise Refusal(400, f"The header `{min(repeated & _SINGLE).decode()}` came more than once.")
        self._lines = seen
        self.repeated = frozenset(repeated)
