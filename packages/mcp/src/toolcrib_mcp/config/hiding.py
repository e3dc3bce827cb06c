"""Which texts of a server are secrets: by where they stand, by what they look like, by what stands before them."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from toolcrib_mcp.config.transports import HttpTransport, StdioTransport, Transport
from toolcrib_runtime.guards.secrets import Scrubber
from toolcrib_runtime.guards.secrets.shapes import names_a_secret

_SECRET_PLACES: Final = ("/env/", "/headers/")
_SHAPES: Final = Scrubber()


def hidden_places(transport: Transport[str]) -> frozenset[str]:
    """The places whose own words are secrets: variables, headers, and what looks like a token or a password.

    A URL with a query is one as well, since keys are often given there.
    """
    hidden = {place for place, text in transport.texts() if place.startswith(_SECRET_PLACES) or _looks_secret(text)}
    match transport:
        case StdioTransport(args=args):
            # As in `--api-key VALUE`.
            hidden |= {f"/args/{index}" for index, (flag, _) in enumerate(pairwise(args), start=1) if _is_flag(flag)}
        case HttpTransport(url=url) if "?" in url or "#" in url:
            hidden.add("/url")
    return frozenset(hidden)


def _is_flag(text: str) -> bool:
    return text.startswith("-") and names_a_secret(text.lstrip("-"))


def _looks_secret(text: str) -> bool:
    return _SHAPES.scrub_text(text) != text
