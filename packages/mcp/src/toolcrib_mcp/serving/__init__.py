"""Serving a configuration: its servers behind one front, until nobody needs it any more; and who does so right now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib_core.faces import lazy_face

if TYPE_CHECKING:
    from toolcrib_mcp.serving.admission import Admission, by_oauth
    from toolcrib_mcp.serving.composition import Composition, Entrance, entrance_to
    from toolcrib_mcp.serving.greeting import GreetingFile, Mode, greeting_key
    from toolcrib_mcp.serving.live import Held, LiveStatus, read_live
    from toolcrib_mcp.serving.running import serve, serve_composed
    from toolcrib_mcp.serving.stopping import StopRequests, stop_signals, unless

_HOMES = {
    "Admission": "admission",
    "Held": "live",
    "LiveStatus": "live",
    "Mode": "greeting",
    "GreetingFile": "greeting",
    "greeting_key": "greeting",
    "Composition": "composition",
    "Entrance": "composition",
    "entrance_to": "composition",
    "serve_composed": "running",
    "StopRequests": "stopping",
    "by_oauth": "admission",
    "read_live": "live",
    "serve": "running",
    "stop_signals": "stopping",
    "unless": "stopping",
}

__all__ = [
    "Admission",
    "Composition",
    "Entrance",
    "GreetingFile",
    "Held",
    "LiveStatus",
    "Mode",
    "StopRequests",
    "by_oauth",
    "entrance_to",
    "greeting_key",
    "read_live",
    "serve",
    "serve_composed",
    "stop_signals",
    "unless",
]

if not TYPE_CHECKING:  # a checker that saw it would let every misspelt name pass
    __getattr__, __dir__ = lazy_face(__name__, _HOMES)
