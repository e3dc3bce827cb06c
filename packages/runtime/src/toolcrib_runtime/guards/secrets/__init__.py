"""A type that does not show its text, and taking secrets out of what others read."""

from __future__ import annotations

from toolcrib_runtime.guards.secrets.logs import ScrubbingFilter
from toolcrib_runtime.guards.secrets.scrubbing import Scrubber, scrub_exception
from toolcrib_runtime.guards.secrets.secret import REDACTED, Secret

__all__ = ["REDACTED", "Scrubber", "ScrubbingFilter", "Secret", "scrub_exception"]
