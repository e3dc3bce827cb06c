"""Pages of a long list: the following page is of the same list, whatever has changed in the meantime."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from toolcrib_mcp.front.envelope import INVALID_PARAMS
from toolcrib_mcp.rpc import RpcError

PAGE_SIZE: Final = 1_000
"""Entries of one page; a list that has no more comes whole."""

MAX_KEPT: Final = 16
"""Lists that are kept for their following pages; beyond that the oldest are forgotten."""


@dataclass(frozen=True, kw_only=True)
class _Kept:
    member: str
    items: Sequence[Any]
    meta: Mapping[str, Any]


class Pages:
    """Cuts lists into pages, and keeps those that are not read to their end."""

    def __init__(self, *, size: int = PAGE_SIZE) -> None:
        self._size = size
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    def first(self, member: str, items: Sequence[Any], *, meta: Mapping[str, Any]) -> dict[str, Any]:
        """The first page of a list; `member` is what the result calls its entries, `meta` is on every page."""
        kept = _Kept(member=member, items=items, meta=meta)
        if len(items) <= self._size:
            return self._page(kept, "", 0)
        token = secrets.token_urlsafe(12)
        self._kept[token] = kept
        if len(self._kept) > MAX_KEPT:
            self._kept.popitem(last=False)
        return self._page(kept, token, 0)

    def following(self, member: str, cursor: object) -> dict[str, Any]:
        """The page that a cursor leads to.

        Raises:
            RpcError: It leads nowhere, or no longer.
        """
        token, _, start = cursor.partition(".") if isinstance(cursor, str) else ("", "", "")
        kept = self._kept.get(token)
        at = int(start) if start.isdecimal() and start.isascii() and len(start) < len(str(10**9)) else 0
        if kept is None or kept.member != member or not 0 < at < len(kept.items):
            raise RpcError(INVALID_PARAMS, "The cursor leads nowhere, or no longer; read the list from its beginning.")
        self._kept.move_to_end(token)
        return self._page(kept, token, at)

    def _page(self, kept: _Kept, token: str, at: int) -> dict[str, Any]:
        end = at + self._size
        page: dict[str, Any] = {kept.member: list(kept.items[at:end])}
        if end < len(kept.items):
            page["nextCursor"] = f"{token}.{end}"
        if kept.meta:
            page["_meta"] = dict(kept.meta)
        return page
