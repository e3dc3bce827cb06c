"""How many calls run at a time: of a key, of a tool, and of a toolbox."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Literal, TypeAlias

from toolcrib_core import JsonValue
from toolcrib_runtime.policy.bounds import check_whole
from toolcrib_runtime.policy.gates import FairGate, GateFamily

if TYPE_CHECKING:
    from toolcrib_runtime.invocation import Invocation, Proceed
    from toolcrib_runtime.runnable import RunnableTool

_Kind: TypeAlias = Literal["key", "tool", "toolbox"]


class ConcurrencyStage:
    """Has calls wait until it is their turn.

    The narrowest gate comes first, so that calls which wait for a busy tool do not hold places of the toolbox. At each
    gate the keys take turns; the key of a call is its user, unless a function says otherwise. Calls without a user
    count as those of one.

    A step of a composed tool waits only for its own tool: its place in the toolbox is that of the call it belongs to.
    """

    __slots__ = ("_key", "_key_limit", "_keys", "_seats", "_toolbox", "_tools")

    def __init__(
        self,
        *,
        toolbox_limit: int | None = None,
        key_limit: int | None = None,
        key: Callable[[Invocation], str] | None = None,
    ) -> None:
        """Set the limits, beside those that tools have themselves; None is no limit.

        Raises:
            ValueError: A limit is not a whole number from 1 upwards; the message names it.
        """
        if key_limit is not None:
            check_whole("key_limit", key_limit, least=1)
        self._toolbox = None if toolbox_limit is None else FairGate(toolbox_limit)
        self._key_limit = key_limit
        self._key = key
        self._keys = GateFamily()
        self._tools = GateFamily()
        self._seats: dict[Invocation, _Seat] = {}

    def concerns(self, tool: RunnableTool) -> bool:
        """Whether calls of this tool can have to wait.

        Raises:
            ValueError: The tool's own limit is not a whole number from 1 upwards.
        """
        if tool.concurrency is not None:
            check_whole("concurrency", tool.concurrency, least=1)
        return not (self._toolbox is None and self._key_limit is None and tool.concurrency is None)

    async def __call__(self, invocation: Invocation, proceed: Proceed, /) -> JsonValue:
        """Proceed when there is room; a call that is cancelled meanwhile leaves the queue at once."""
        key = invocation.principal if self._key is None else self._key(invocation)
        doors = self._doors(invocation, key)
        try:
            for door in doors:
                if not door.try_pass():
                    await self._queue(invocation, door, key)
            return await proceed(invocation)
        finally:
            for door in reversed(doors):
                door.leave()
            self._seats.pop(invocation, None)

    def _doors(self, invocation: Invocation, key: Hashable) -> list[_Door]:
        """The gates that the call has to go through, narrowest first."""
        doors: list[_Door] = []
        tool, is_step = invocation.tool, invocation.parent is not None
        if self._key_limit is not None and not is_step:
            doors.append(_Door("key", self._keys.borrow(key, self._key_limit), self._keys, key))
        if tool.concurrency is not None and not _is_within_itself(invocation):
            doors.append(_Door("tool", self._tools.borrow(tool.id, tool.concurrency), self._tools, tool.id))
        if self._toolbox is not None and not is_step:
            seat = self._seats[invocation] = _Seat(self._toolbox)
            doors.append(seat)
        return doors

    async def _queue(self, invocation: Invocation, door: _Door, key: Hashable) -> None:
        invocation.emit("queued", gate=door.kind)
        clock = invocation.clock
        since = clock.monotonic()
        try:
            seat = self._seats.get(_outermost(invocation)) if invocation.parent is not None else None
            if seat is None:
                await door.wait(key)
            else:
                await seat.lend_while_waiting(door, key)
        finally:
            invocation.queued += clock.monotonic() - since


class _Door:
    """A gate on the way of one call, and whether the call went through."""

    __slots__ = ("_family", "_name", "gate", "kind", "passed")

    def __init__(self, kind: _Kind, gate: FairGate, family: GateFamily | None = None, name: Hashable = None) -> None:
        self.kind = kind
        self.gate = gate
        self.passed = False
        self._family = family
        self._name = name

    def try_pass(self) -> bool:
        self.passed = self.gate.try_acquire()
        return self.passed

    async def wait(self, key: Hashable) -> None:
        await self.gate.acquire(key)
        self.passed = True

    def leave(self) -> None:
        if self.passed:
            self.passed = False
            self.gate.release()
        if self._family is not None:
            self._family.give_back(self._name)


class _Seat(_Door):
    """The place of one call in the toolbox.

    While a step of the call waits for its tool, somebody else has the place. Otherwise all places could be held by
    calls that wait for a tool, whose only turn is held by a call that waits for a place.
    """

    __slots__ = ("_has_left", "_is_coming_back", "_lock", "_steps_waiting")

    def __init__(self, gate: FairGate) -> None:
        super().__init__("toolbox", gate)
        self._lock = threading.Lock()  # steps may wait in another thread than the call
        self._steps_waiting = 0
        self._is_coming_back = False
        self._has_left = False

    async def lend_while_waiting(self, door: _Door, key: Hashable) -> None:
        self._lend()
        try:
            await door.wait(key)
        finally:
            with self._lock:
                self._steps_waiting -= 1
        await self._come_back(key)

    def leave(self) -> None:
        with self._lock:
            self._has_left = True
            super().leave()

    def _lend(self) -> None:
        with self._lock:
            self._steps_waiting += 1
            if self.passed:
                self.passed = False
                self.gate.release()

    async def _come_back(self, key: Hashable) -> None:
        """Have the place again, unless another step waits or is about to have it."""
        if self._steps_waiting or self._is_coming_back or self.passed:
            return
        self._is_coming_back = True
        try:
            await self.gate.acquire(key)
        finally:
            self._is_coming_back = False
        with self._lock:
            self.passed = not self._has_left and not self._steps_waiting
            if not self.passed:
                self.gate.release()


def _outermost(invocation: Invocation) -> Invocation:
    while invocation.parent is not None:
        invocation = invocation.parent
    return invocation


def _is_within_itself(invocation: Invocation) -> bool:
    """Whether the call is a step, however deep, of a call of the same tool, which would wait for itself."""
    outer = invocation.parent
    while outer is not None and outer.tool.id != invocation.tool.id:
        outer = outer.parent
    return outer is not None
