"""Serving a configuration: its servers behind one front, until nobody needs it any more; and who does so right now."""

from __future__ import annotations

from toolcrib_mcp.serving.admission import Admission, by_oauth
from toolcrib_mcp.serving.live import Held, LiveStatus, private_directory, read_live
from toolcrib_mcp.serving.running import Mode, serve
from toolcrib_mcp.serving.stopping import StopRequests, stop_signals, unless

__all__ = [
    "Admission",
    "Held",
    "LiveStatus",
    "Mode",
    "StopRequests",
    "by_oauth",
    "private_directory",
    "read_live",
    "serve",
    "stop_signals",
    "unless",
]
