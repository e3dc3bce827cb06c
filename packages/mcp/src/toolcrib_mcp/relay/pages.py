"""Pages of a long list: the following page is of the same list, whatever has changed in the meantime.

A cursor names the list by what is in it. Another replica, or this one after a restart, has no list of before: it goes
on with its own, if that has the same entries.
"""

from __future__ import annotations

import hashlib
import re
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

_CURSOR: Final = re.compile(r"([0-9a-f]{16})\.([0-9]{1,9})")
_NAMES: Final = ("name", "uri", "uriTemplate")


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

    def first(
        self, member: str, items: Sequence[Any], *, meta: Mapping[str, Any], cursor: object = None
    ) -> dict[str, Any]:
        """The first page of a list; `member` is what the result calls its entries, `meta` is on every page.

        With a cursor it is the page that this leads to, if it was made for a list of the same entries.

        Raises:
            RpcError: It was not.
        """
        kept = _Kept(member=member, items=items, meta=meta)
        if len(items) <= self._size and cursor is None:
            return self._page(kept, "", 0)
        token = _token(member, items)
        if cursor is not None and (_place(cursor) or ("", 0))[0] != token:
            raise _nowhere()
        self._kept[token] = kept
        if len(self._kept) > MAX_KEPT:
            self._kept.popitem(last=False)
        return self._page(kept, token, 0) if cursor is None else self._following(kept, cursor)

    def following(self, member: str, cursor: object) -> dict[str, Any] | None:
        """The page that a cursor leads to; `None` if its list is not here, but may be had again.

        Raises:
            RpcError: It leads nowhere.
        """
        place = _place(cursor)
        if place is None:
            raise _nowhere()
        kept = self._kept.get(place[0])
        if kept is None or kept.member != member:
            return None
        self._kept.move_to_end(place[0])
        return self._following(kept, cursor)

    def _following(self, kept: _Kept, cursor: object) -> dict[str, Any]:
        token, at = _place(cursor) or ("", 0)
        if not 0 < at < len(kept.items):
            raise _nowhere()
        return self._page(kept, token, at)

    def _page(self, kept: _Kept, token: str, at: int) -> dict[str, Any]:
        end = at + self._size
        page: dict[str, Any] = {kept.member: list(kept.items[at:end])}
        if end < len(kept.items):
            page["nextCursor"] = f"{token}.{end}"
        if kept.meta:
            page["_meta"] = dict(kept.meta)
        return page


def _token(member: str, items: Sequence[Any]) -> str:
    # Of the names alone: it is made for every long list, and a list that says the same in other words will do.
    names = hashlib.sha256(member.encode())
    for each in items:
        said = [each.get(name) for name in _NAMES] if isinstance(each, Mapping) else each
        names.update(repr(said).encode("utf-8", "backslashreplace"))
    return names.hexdigest()[:16]


def _place(cursor: object) -> tuple[str, int] | None:
    form = _CURSOR.fullmatch(cursor) if isinstance(cursor, str) else None
    return None if form is None else (form[1], int(form[2]))


def _nowhere() -> RpcError:
    return RpcError(INVALID_PARAMS, "The cursor leads nowhere, or no longer; read the list from its beginning.")
