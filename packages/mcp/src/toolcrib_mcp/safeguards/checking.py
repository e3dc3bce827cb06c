"""Whether safeguards can be opened, as far as their files tell: asked before anything is started."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib_mcp.pins.opening import check_pins
from toolcrib_mcp.policy.source import PolicySource

if TYPE_CHECKING:
    from toolcrib_mcp.config import GatewayConfig


def check_safeguards(config: GatewayConfig) -> None:
    """Read the policy and the lock file of a configuration; no database is opened.

    Raises:
        ConfigError: One of them cannot be used.
    """
    PolicySource.of(config)
    check_pins(config)
