"""A type that does not show its text, and taking secrets out of what others read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib_core.faces import lazy_face

if TYPE_CHECKING:
    from toolcrib_runtime.guards.secrets.logs import ScrubbingFilter
    from toolcrib_runtime.guards.secrets.scrubbing import Scrubber, scrub_exception
    from toolcrib_runtime.guards.secrets.secret import REDACTED, Secret

_HOMES = {
    "REDACTED": "secret",
    "Scrubber": "scrubbing",
    "ScrubbingFilter": "logs",
    "Secret": "secret",
    "scrub_exception": "scrubbing",
}

__all__ = ["REDACTED", "Scrubber", "ScrubbingFilter", "Secret", "scrub_exception"]

if not TYPE_CHECKING:  # a checker that saw it would let every misspelt name pass
    __getattr__, __dir__ = lazy_face(__name__, _HOMES)
