"""Pages of a list that may change between them: a cursor names the last id that was served, so nothing shifts."""

from __future__ import annotations

import base64
import binascii
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final, NamedTuple

from toolcrib_mcp.front.envelope import INVALID_PARAMS
from toolcrib_mcp.rpc import RpcError

PAGE_SIZE: Final = 1_000

_MAX_CURSOR = 400
# A cursor of another kind of list, or of another version of this one, is told from ours by it.
_MARK = "t1:"


class Span(NamedTuple):
    """The part of a list that one page has."""

    start: int
    stop: int
    next_cursor: str | None


def page_of(ids: Sequence[str], cursor: object) -> Span:
    """The page after the cursor, or the first one; `ids` is ascending.

    A tool that comes or goes between two pages moves no other one: every tool that is there all the time is seen once.

    Raises:
        RpcError: The cursor is none of ours.
    """
    start = 0 if cursor is None else bisect_right(ids, _last_id(cursor))
    stop = min(start + PAGE_SIZE, len(ids))
    return Span(start, stop, _cursor(ids[stop - 1]) if stop < len(ids) else None)


def _cursor(last_id: str) -> str:
    return base64.urlsafe_b64encode(f"{_MARK}{last_id}".encode()).decode().rstrip("=")


def _last_id(cursor: object) -> str:
    if isinstance(cursor, str) and 0 < len(cursor) <= _MAX_CURSOR and cursor.isascii():
        padded = cursor + "=" * (-len(cursor) % 4)
        try:
            text = base64.b64decode(padded, altchars=b"-_", validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            text = ""
        if text.startswith(_MARK):
            return text.removeprefix(_MARK)
    raise RpcError(INVALID_PARAMS, "The cursor is not one of this list; begin again without one.")
