"""Who is let in, and what they have of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolcrib_mcp.front.http.app import AsgiApp
    from toolcrib_mcp.front.http.settings import Authenticate
    from toolcrib_mcp.personal import PersonalServers


@dataclass(frozen=True, kw_only=True)
class Admission:
    """How clients are told apart; without anything, all of them are the user of this machine."""

    principal: str | None = None
    """Who the client over standard input and output is."""
    authenticate: Authenticate | None = None
    """Tells who a client over HTTP is, by its bearer token; without it nobody has to say."""
    personal: PersonalServers | None = None
    """The servers of one's own, which only the gateway shows."""
    mounts: Mapping[str, AsgiApp] = field(default_factory=dict)
    """Other applications on the same HTTP address, by the beginning of their paths."""


ANYBODY = Admission()
"""Nobody is asked who they are."""
