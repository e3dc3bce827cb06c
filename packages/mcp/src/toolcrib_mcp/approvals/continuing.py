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
        if "requestState" not in params and "inputResponses" not in params:
            return False
        key = _key(call, params.get("requestState"))
        with self._lock:
            until = self._until.pop(key, None)
        return until is not None and self._now() < until


def _key(call: GuardedCall, state: object) -> str:
    # Not the version of the policy: rules that changed meanwhile are asked before, and this call was let in.
    told = None if not isinstance(state, str) else hashlib.sha256(state.encode(errors="surrogatepass")).hexdigest()
    return digest([call.tool.tool_id, call.tool.digest, call.arguments_digest, call.principal, told])
