"""Tools made of tools: each is a real one, with a legal name, the risk of its parts, and errors that name the step."""

from __future__ import annotations

from toolcrib_runtime.compose.flow import fallback, parallel, pipe, when
from toolcrib_runtime.compose.wrapping import bind, map_input, map_output, retry, tap

__all__ = ["bind", "fallback", "map_input", "map_output", "parallel", "pipe", "retry", "tap", "when"]
