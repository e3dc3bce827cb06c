"""Calls that were approved and whose server then asked the client something: what follows is still the same call."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Mapping
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from toolcrib_core import digest

if TYPE_CHECKING:
    from toolcrib_mcp.safeguards.call import GuardedCall
    from toolcrib_store import Store

MAX_CONTINUED: Final = 1_024
"""How many such calls are remembered; of more than that, the oldest are asked about again."""


class Continuations:
    """Remembers the states that servers gave with their questions, each for the exact call and for one answer.

    It forgets with the process: then somebody is asked again.
    """

    def __init__(self, *, seconds: float, now: Callable[[], float], limit: int = MAX_CONTINUED) -> None:
        self._seconds = seconds
        self._now = now
        self._limit = limit
        self._until: OrderedDict[str, float] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._until)

    def remember(self, call: GuardedCall, state: object) -> None:
        """The server of an approved call has asked, and gave this `requestState`, or none."""
        key = _key(call, state)
        with self._lock:
            self._until.pop(key, None)
            self._until[key] = self._now() + self._seconds
            while len(self._until) > self._limit:
                self._until.popitem(last=False)

    def take(self, call: GuardedCall, params: Mapping[str, Any]) -> bool:
        """Whether a request answers such a question; if it does, no second one will."""
        key = _key(call, params.get("requestState"))
        with self._lock:
            until = self._until.pop(key, None)
        return until is not None and self._now() < until


class SharedContinuations:
    """The same, in the database that replicas share: the answer may go to any of them, and one takes it."""

    def __init__(self, store: Store, *, seconds: float) -> None:
        # Only now: it has a key of ours, which this package makes.
        from toolcrib_mcp.shared.notes import Notes

        self._notes = Notes(store, kind="continuation")
        self._seconds = seconds

    def remember(self, call: GuardedCall, state: object) -> None:
        """The server of an approved call has asked, and gave this `requestState`, or none.

        Raises:
            StoreError: The database failed.
        """
        self._notes.add(_key(call, state), {"": b""}, seconds=self._seconds)

    def take(self, call: GuardedCall, params: Mapping[str, Any]) -> bool:
        """Whether a request answers such a question; if it does, no second one will.

        Raises:
            StoreError: The database failed.
        """
        return self._notes.take(_key(call, params.get("requestState"))) is not None


def _key(call: GuardedCall, state: object) -> str:
    # Not the version of the policy: rules that changed meanwhile are asked before, and this call was let in.
    told = None if not isinstance(state, str) else hashlib.sha256(state.encode(errors="surrogatepass")).hexdigest()
    return digest([call.tool.tool_id, call.tool.digest, call.arguments_digest, call.principal, told])
