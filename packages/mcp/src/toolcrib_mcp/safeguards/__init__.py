"""What every call passes on its way to a server, in whichever mode: pins, policy, limits, approval, audit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib_core.faces import lazy_face

if TYPE_CHECKING:
    from toolcrib_mcp.safeguards.call import GuardedCall
    from toolcrib_mcp.safeguards.checkpoint import Checkpoint
    from toolcrib_mcp.safeguards.opening import Safeguards, open_safeguards

__all__ = ["Checkpoint", "GuardedCall", "Safeguards", "open_safeguards"]

_HOMES = {"Checkpoint": "checkpoint", "GuardedCall": "call", "Safeguards": "opening", "open_safeguards": "opening"}

if not TYPE_CHECKING:  # a checker that saw it would let every misspelt name pass
    __getattr__, __dir__ = lazy_face(__name__, _HOMES)
