"""The policy that a command is about."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from toolcrib_cli.asking import Choice, asked_for
from toolcrib_cli.wiring import Asked
from toolcrib_mcp.policy import Policy, PolicySource, policy_path


@dataclass(frozen=True, kw_only=True)
class ChosenPolicy:
    """A policy, and what it is for."""

    asked: Asked
    policy: Policy
    path: Path | None
    """Where its file lies, or would; None where there is no configuration that it could lie beside."""

    @property
    def file(self) -> Path | None:
        """The file, if there is one."""
        return self.path if self.path is not None and self.path.exists() else None


def chosen_policy(choice: Choice) -> ChosenPolicy:
    """The policy of the catalogue that was chosen; the default one where it has none.

    Raises:
        ConfigError: The configuration or the policy cannot be used.
    """
    asked = asked_for(choice)
    policy = PolicySource.of(asked.config).current()
    return ChosenPolicy(asked=asked, policy=policy, path=policy_path(asked.config))
