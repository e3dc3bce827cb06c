"""The policy that a command is about, and the answers that are remembered beside it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from toolcrib_cli.asking import Choice, asked_for
from toolcrib_cli.shared_database import shared_database
from toolcrib_cli.wiring import Asked
from toolcrib_mcp.policy import AnswerFile, Policy, PolicySource, policy_path

if TYPE_CHECKING:
    from toolcrib_mcp.policy import Answers


@dataclass(frozen=True, kw_only=True)
class ChosenPolicy:
    """A policy, and what it is for."""

    asked: Asked
    policy: Policy
    path: Path | None
    """Where its file lies, or would; None where there is no configuration that it could lie beside."""
    answers_path: Path | None = None
    """Where remembered answers lie, or would; None where replicas share them in a database."""

    @property
    def file(self) -> Path | None:
        """The file, if there is one."""
        return self.path if self.path is not None and self.path.exists() else None


def chosen_policy(choice: Choice) -> ChosenPolicy:
    """The policy of the catalogue that was chosen; the default one where it has none.

    Raises:
        ConfigError: The configuration, the policy or the remembered answers cannot be used.
        StoreError: The database that replicas share cannot be opened.
    """
    asked = asked_for(choice)
    with opened_answers(asked) as answers:
        policy = PolicySource.of(asked.config, answers=answers).current()
    path = answers.path if isinstance(answers, AnswerFile) else None
    return ChosenPolicy(asked=asked, policy=policy, path=policy_path(asked.config), answers_path=path)


@contextmanager
def opened_answers(asked: Asked) -> Iterator[Answers]:
    """Where the answers for a catalogue are remembered, as long as the block lasts.

    Raises:
        ConfigError: They cannot be read.
        StoreError: The database that replicas share cannot be opened.
    """
    from toolcrib_mcp.safeguards.opening import open_answers

    shared = shared_database(asked)
    if shared is None:
        yield open_answers(asked.config, asked.state_dir, None)
        return
    from toolcrib_mcp.shared import SHARED_LINE
    from toolcrib_store import open_store

    with open_store(shared.target, lines=[SHARED_LINE]) as store:
        yield open_answers(asked.config, None, store)
