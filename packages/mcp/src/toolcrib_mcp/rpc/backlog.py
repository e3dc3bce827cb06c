"""What waits for a listener that is slower than the server: bounded in number and in bytes."""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

from toolcrib_mcp.rpc.codec import encode_message


class Item(NamedTuple):
    """One notification, and its size as JSON."""

    method: str
    params: dict[str, Any]
    size: int


class Backlog:
    """Notifications in the order they came."""

    def __init__(self, *, max_items: int, max_bytes: int) -> None:
        self._items: deque[Item] = deque()
        self._bytes = 0
        self._max_items = max_items
        self._max_bytes = max_bytes

    def __len__(self) -> int:
        return len(self._items)

    def append(self, method: str, params: dict[str, Any], *, share: float = 1.0) -> bool:
        """Take it, unless this share of the room is full; whether it was taken. An empty backlog takes anything."""
        return self._take(Item(method, params, _size(params)), share)

    def replace_oldest(self, method: str, params: dict[str, Any]) -> int:
        """Take it in any case, and give the number of those that had to go for it."""
        item, dropped = Item(method, params, _size(params)), 0
        while not self._take(item, 1.0):
            self.popleft()
            dropped += 1
        return dropped

    def popleft(self) -> Item:
        """The one that has waited longest."""
        item = self._items.popleft()
        self._bytes -= item.size
        return item

    def _take(self, item: Item, share: float) -> bool:
        full = len(self._items) >= share * self._max_items or self._bytes + item.size > share * self._max_bytes
        if full and self._items:
            return False
        self._items.append(item)
        self._bytes += item.size
        return True


def _size(params: dict[str, Any]) -> int:
    return len(encode_message(params))
