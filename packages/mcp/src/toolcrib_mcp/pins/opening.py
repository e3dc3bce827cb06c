"""The pins of a configuration, in the mode that it asks for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from toolcrib_mcp.errors import ConfigError
from toolcrib_mcp.pins.lock_file import LOCK_FILE, read_lock

if TYPE_CHECKING:
    from toolcrib_mcp.config import GatewayConfig
    from toolcrib_mcp.pins.book import PinBook
    from toolcrib_store import Store

PinMode: TypeAlias = Literal["first-use", "locked", "off"]
"""What is trusted: what a server listed first, what the lock file has, or anything."""


def lock_path(config: GatewayConfig) -> Path | None:
    """Where the lock file of a configuration is, or would be; `None` for one that has no file itself."""
    return None if config.path is None else config.path.parent / LOCK_FILE


def pin_mode(config: GatewayConfig) -> PinMode:
    """What the configuration says; without a word of it, `locked` where there is a lock file, else `first-use`."""
    if config.settings.pins is not None:
        return config.settings.pins
    path = lock_path(config)
    # Also a link that leads nowhere was meant to be one.
    return "locked" if path is not None and (path.exists() or path.is_symlink()) else "first-use"


def open_pins(config: GatewayConfig, store: Store) -> PinBook | None:
    """The pins of a configuration in its database, or `None` where they are off for every server.

    Raises:
        ConfigError: The lock file cannot be used, or there is no place for one.
    """
    # Not at the top: it is a database that takes so long to import.
    from toolcrib_mcp.pins.book import PinBook

    mode = pin_mode(config)
    if mode == "off":
        wanted = any(server.pins in {"warn", "enforce"} for server in config.settings.servers.values())
        return PinBook(store, default="off") if wanted else None
    return PinBook(store, lock_file=_lock_of(config, mode))


def check_pins(config: GatewayConfig) -> None:
    """See whether the pins of a configuration can be opened, as far as that can be told without a database.

    Raises:
        ConfigError: The lock file cannot be used, or there is no place for one.
    """
    path = _lock_of(config, pin_mode(config))
    if path is not None:
        read_lock(path)


def _lock_of(config: GatewayConfig, mode: PinMode) -> Path | None:
    if mode != "locked":
        return None
    path = lock_path(config)
    if path is None:
        raise ConfigError(
            "Pins cannot be locked without a configuration file, beside which the lock file lies.",
            hint="Set `pins` to `first-use`, or put the servers into a file.",
            details={"place": "/toolcrib/pins"},
        )
    return path
