"""`ConfigWatcher`: a hub serves its configuration as it is in its files; an edit counts within two seconds."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from toolcrib_core.wording import quoted
from toolcrib_mcp.config.loading import SETTINGS_FILE
from toolcrib_mcp.errors import ConfigError
from toolcrib_mcp.hub.servers import LIVE_SETTINGS
from toolcrib_mcp.policy.files import FileState, file_state

if TYPE_CHECKING:
    from toolcrib_mcp.config import GatewayConfig
    from toolcrib_mcp.hub.hub import Hub
    from toolcrib_runtime.clock import Clock

LOOK_EVERY: Final = 0.5
"""Seconds between two looks at the files."""

_logger: Final = logging.getLogger("toolcrib.mcp")


class ConfigWatcher:
    """Has a hub serve what the files of its configuration say, whenever they change.

    A version that cannot be used is refused whole: the last usable one is served on, and the reason is logged once and
    stands in the hub's status until a usable one comes. A file is read a second time after each change, so that one
    that is caught half written, or written twice in one tick of the file system's clock, is not taken for the last.
    """

    def __init__(
        self,
        hub: Hub,
        load: Callable[[], GatewayConfig],
        *,
        served: GatewayConfig,
        prepare: Callable[[GatewayConfig], object] | None = None,
        every: float = LOOK_EVERY,
        clock: Clock,
    ) -> None:
        """Watch the files of the configuration that `load` reads, in a thread; `served` is what it gave at the start.

        `prepare` is called with each usable version before it is served, as for the secrets in it.
        """
        self._hub = hub
        self._load = load
        self._prepare = prepare
        self._every = every
        self._clock = clock
        self._first = self._last = served
        self._seen: tuple[FileState | None, ...] = ()
        self._is_settled = False

    async def run(self) -> None:
        """Look at the files until cancelled."""
        while True:
            await self.look()
            await self._clock.sleep(self._every)

    async def look(self) -> None:
        """Look once, and serve what is there if it has changed."""
        now = self._states()
        if now == self._seen and self._is_settled:
            return
        self._is_settled, self._seen = now == self._seen, now
        try:
            config = await asyncio.to_thread(self._load)
        except ConfigError as failure:
            if self._is_settled:
                self._refuse(failure.message)
            return
        if self._states() != now:
            return  # it was changed while it was read: the next look reads it again
        try:
            await self._take(config)
        except (ConfigError, ValueError) as failure:
            self._refuse(failure.message if isinstance(failure, ConfigError) else str(failure))

    async def _take(self, config: GatewayConfig) -> None:
        if config != self._last:
            self._check_unchanged(config)
            if self._prepare is not None:
                self._prepare(config)
            change = await self._hub.reconfigure(config)
            _logger.info("the configuration was changed: %s", change)
            for warning in config.warnings:
                if warning not in self._last.warnings:
                    _logger.warning("%s", warning)
            self._last = config
        elif self._hub.config_problem is not None:
            _logger.info("the configuration is again as it is served")
        self._hub.config_problem = None
        needed = _changed_for_restart(self._first, config)
        if needed and needed != self._hub.restart_needed:
            _logger.warning("changed settings that count after a restart: %s", ", ".join(needed))
        self._hub.restart_needed = needed

    def _check_unchanged(self, config: GatewayConfig) -> None:
        """See to it that no server loses its place to another one, as to one of the same namespace before it.

        Raises:
            ConfigError: One that is served and did not change could not be served any more.
        """
        for name, reason in config.left_out.items():
            if name in self._hub.servers and config.servers.get(name) == self._last.servers.get(name):
                raise ConfigError(f"The server {quoted(name)}, which did not change, would be left out: {reason}")

    def _refuse(self, reason: str) -> None:
        if reason != self._hub.config_problem:
            _logger.warning("the configuration was changed and cannot be used; the one before is served: %s", reason)
        self._hub.config_problem = reason

    def _states(self) -> tuple[FileState | None, ...]:
        path = self._hub.config.path
        return () if path is None else tuple(map(file_state, (path, path.with_name(SETTINGS_FILE))))


def _changed_for_restart(first: GatewayConfig, now: GatewayConfig) -> tuple[str, ...]:
    """The settings that are not what they were at the start, and that only a start reads."""
    fields = type(first.settings).model_fields
    return tuple(
        field.alias or name
        for name, field in fields.items()
        if name not in LIVE_SETTINGS and getattr(first.settings, name) != getattr(now.settings, name)
    )
