"""`PolicySource`: the policy of a configuration as it is now; an edit counts within a second."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from toolcrib_core import ToolError
from toolcrib_core.wording import quoted
from toolcrib_mcp.errors import ConfigError
from toolcrib_mcp.policy.answers import MemoryAnswers, SharedAnswers
from toolcrib_mcp.policy.files import file_state
from toolcrib_mcp.policy.reading import POLICY_FILE, read_policy
from toolcrib_mcp.policy.rules import Policy
from toolcrib_runtime.clock import SYSTEM_CLOCK

if TYPE_CHECKING:
    from toolcrib_mcp.config import GatewayConfig
    from toolcrib_mcp.policy.answers import Answer, Answers
    from toolcrib_runtime.clock import Clock

LOOK_EVERY: Final = 1.0
"""Seconds between two looks at the file."""

_logger = logging.getLogger("toolcrib.mcp")


class PolicySource:
    """A policy file, read again when it has changed, with the answers that people gave.

    Without a file, or before there is one, it is the default policy. An edit that cannot be used changes nothing, nor
    does the removal of the policy file: the policy before counts on, and the log says so once.
    """

    def __init__(
        self,
        path: Path | None = None,
        *,
        required: bool = False,
        answers: Answers | None = None,
        client_asks: bool = False,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """Read the file.

        Raises:
            ConfigError: It cannot be used; or it is `required`, and not there.
        """
        self.path = path
        self.answers = MemoryAnswers() if answers is None else answers
        self._client_asks = client_asks
        self._clock = clock
        self._looked_at = clock.monotonic()
        self._state = file_state(path)
        there = path is not None and (required or self._state is not None)
        self._rules = read_policy(path) if there and path is not None else Policy()
        self._known: tuple[Answer, ...] = ()
        self._policy = self._joined()

    @classmethod
    def fixed(cls, policy: Policy) -> Self:
        """A policy without a file, which stays as it is."""
        source = cls()
        source._rules = source._policy = policy
        return source

    @classmethod
    def of(cls, config: GatewayConfig, *, answers: Answers | None = None, clock: Clock = SYSTEM_CLOCK) -> Self:
        """The policy of a configuration.

        Raises:
            ConfigError: As the constructor; a file that the configuration names is required.
        """
        settings = config.settings
        return cls(
            policy_path(config),
            required=settings.policy is not None,
            answers=answers,
            client_asks=settings.approvals == "client",
            clock=clock,
        )

    def current(self) -> Policy:
        """The policy as it is now."""
        now = self._clock.monotonic()
        if self.path is not None and now - self._looked_at >= LOOK_EVERY:
            self._looked_at = now
            self._look(self.path)
        known = self._known
        if self._answers_now() is not known:
            self._policy = self._joined()
        return self._policy

    async def latest(self) -> Policy:
        """As `current`; the event loop does not wait for a database that the answers are in."""
        if isinstance(self.answers, SharedAnswers) and self.answers.is_due():
            return await asyncio.to_thread(self.current)
        return self.current()

    def _joined(self) -> Policy:
        return self._rules.answering(self._answers_now(), client_asks=self._client_asks)

    def _answers_now(self) -> tuple[Answer, ...]:
        try:
            self._known = self.answers.current()
        except ToolError as failure:
            _logger.warning("the remembered answers cannot be read; those before are kept: %s", failure.message)
        return self._known

    def _look(self, path: Path) -> None:
        state = file_state(path)
        if state == self._state:
            return
        self._state = state
        if state is None:
            _logger.warning("the policy %s is gone; the rules that it had are kept", quoted(path.name))
            return
        try:
            self._rules = read_policy(path)
        except ConfigError as failure:
            _logger.warning(
                "the policy %s was changed and cannot be used; the rules before are kept: %s",
                quoted(path.name),
                failure.message,
            )
            return
        self._policy = self._joined()
        _logger.info("the policy %s was changed and counts from now on", quoted(path.name))


def policy_path(config: GatewayConfig) -> Path | None:
    """Where the policy of a configuration lies, or would: beside it unless it says otherwise."""
    beside = None if config.path is None else config.path.parent
    if config.settings.policy is not None:
        named = Path(config.settings.policy).expanduser()
        return named if beside is None else beside / named
    return None if beside is None else beside / POLICY_FILE
