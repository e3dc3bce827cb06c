"""What tools may reach over the network beyond public hosts by https: whoever runs them grants it, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from toolcrib_core.wording import listed
from toolcrib_mcp.errors import ConfigError
from toolcrib_runtime.guards.net import NetGrant

REACHES: Final = ("http", "loopback", "private")
"""The words that there are."""


def read_reach(environ: Mapping[str, str], variable: str) -> tuple[str, ...]:
    """The words of a variable, with blanks or commas between them.

    Raises:
        ConfigError: One of them is not known.
    """
    words = words_of(environ.get(variable, ""))
    unknown = [each for each in words if each not in REACHES]
    if unknown:
        raise ConfigError(
            f"${variable} allows {listed(unknown)}, which there is not.", hint=f"Known are {listed(REACHES)}."
        )
    return words


def net_grant(reach: Sequence[str]) -> NetGrant:
    """What these words grant."""
    return NetGrant(allow_http="http" in reach, allow_loopback="loopback" in reach, allow_private="private" in reach)


def words_of(text: str) -> tuple[str, ...]:
    """The words of a text, with blanks or commas between them."""
    return tuple(text.replace(",", " ").split())
