"""Gates: so many at a time, first come first served, and one user's thousand calls not before another's first."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Hashable

from toolcrib_runtime.policy.bounds import check_whole


class FairGate:
    """Lets at most `limit` through at a time.

    Those who wait with the same key go in the order they came; different keys take turns, so that a thousand calls of
    one user hold up another's single call by one turn. Entering, leaving and being cancelled each cost the same,
    however many wait. It works from any number of event loops and threads: tools that run in a worker thread may call
    others from there.
    """

    __slots__ = ("_free", "_lock", "_queues")

    def __init__(self, limit: int) -> None:
        """Set how many go through at a time.

        Raises:
            ValueError: It is not a whole number from 1 upwards.
        """
        check_whole("limit", limit, least=1)
        self._free = limit
        # Ordered dicts, because they lose a first or a middle item in constant time; a deque or a plain dict does not.
        self._queues: OrderedDict[Hashable, OrderedDict[_Waiter, None]] = OrderedDict()
        # Reentrant, because the interpreter may finalize a forgotten waiter in the midst of any of these methods.
        self._lock = threading.RLock()

    def try_acquire(self) -> bool:
        """Go through if that is possible at once; whether it was."""
        with self._lock:
            # Whenever a place is free nobody waits for it: `release` hands it on.
            if not self._free:
                return False
            self._free -= 1
            return True

    async def acquire(self, key: Hashable = None) -> None:
        """Go through, waiting for the turn of this key if need be; each must `release` afterwards."""
        if self.try_acquire():
            return
        waiter = _Waiter(asyncio.get_running_loop().create_future())
        with self._lock:
            self._queues.setdefault(key, OrderedDict())[waiter] = None
            self._hand_out()
        try:
            await waiter.future
        except BaseException:
            self._leave(key, waiter)
            raise

    def release(self) -> None:
        """Let the next one through."""
        with self._lock:
            self._free += 1
            self._hand_out()

    def _hand_out(self) -> None:
        while self._free and self._queues:
            waiter = self._next()
            waiter.has_place = _woken(waiter.future)
            if waiter.has_place:
                self._free -= 1

    def _next(self) -> _Waiter:
        key, queue = next(iter(self._queues.items()))
        waiter, _ = queue.popitem(last=False)
        if queue:
            self._queues.move_to_end(key)
        else:
            del self._queues[key]
        return waiter

    def _leave(self, key: Hashable, waiter: _Waiter) -> None:
        """Give up waiting; or the place, if it came in the very moment of the cancellation."""
        with self._lock:
            if waiter.has_place:
                self.release()
                return
            queue = self._queues.get(key, OrderedDict())
            if waiter in queue:
                del queue[waiter]
                if not queue:
                    del self._queues[key]


class GateFamily:
    """Gates by name, each there only while somebody uses it: a hundred thousand users leave nothing behind."""

    __slots__ = ("_lock", "_members")

    def __init__(self) -> None:
        self._lock = threading.RLock()  # reentrant for the same reason as that of a gate
        self._members: dict[Hashable, _Member] = {}

    def __len__(self) -> int:
        return len(self._members)

    def borrow(self, name: Hashable, limit: int) -> FairGate:
        """The gate of that name, for all who use it now; `give_back` it, whether gone through or not.

        Raises:
            ValueError: The limit is not a whole number from 1 upwards.
        """
        with self._lock:
            member = self._members.get(name)
            if member is None:
                member = self._members[name] = _Member(FairGate(limit))
            member.users += 1
            return member.gate

    def give_back(self, name: Hashable) -> None:
        """Use it no longer."""
        with self._lock:
            member = self._members[name]
            member.users -= 1
            if not member.users:
                del self._members[name]


class _Member:
    __slots__ = ("gate", "users")

    def __init__(self, gate: FairGate) -> None:
        self.gate = gate
        self.users = 0


class _Waiter:
    __slots__ = ("future", "has_place")

    def __init__(self, future: asyncio.Future[None]) -> None:
        self.future = future
        self.has_place = False


def _woken(future: asyncio.Future[None]) -> bool:
    """Whether somebody still waits for the future, and has been told."""
    if future.done():
        return False
    try:
        # Threadsafe even on the same loop: there it costs a microsecond more, and only those pay it who had to wait.
        future.get_loop().call_soon_threadsafe(_resolve, future)
    except RuntimeError:
        return False  # its loop is closed
    return True


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
