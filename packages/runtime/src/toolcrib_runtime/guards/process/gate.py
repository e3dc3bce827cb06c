"""How many child processes may be alive at once."""

from __future__ import annotations

import asyncio


class ProcessGate:
    """Lets so many children live at once, and the others wait in the order they came."""

    def __init__(self, limit: int) -> None:
        if limit < 1:
            raise ValueError("A gate needs room for at least one process.")
        self.limit = limit
        self._places = asyncio.Semaphore(limit)
        self._alive = 0

    @property
    def alive(self) -> int:
        """How many children are alive now."""
        return self._alive

    async def enter(self) -> None:
        """Wait for a place and take it."""
        await self._places.acquire()
        self._alive += 1

    def leave(self) -> None:
        """Give a place back."""
        self._alive -= 1
        self._places.release()
