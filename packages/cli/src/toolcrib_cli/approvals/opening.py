"""The questions of a configuration, as far as anybody has asked any."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from toolcrib_cli.asking import Choice, asked_for
from toolcrib_cli.screen import tell
from toolcrib_cli.shared_database import shared_database
from toolcrib_cli.state_directory import remembered_configs, state_root
from toolcrib_core import ToolError
from toolcrib_core.wording import count, listed, quoted
from toolcrib_mcp.approvals import APPROVALS_LINE, ApprovalBook, state_key
from toolcrib_mcp.errors import ApprovalNotFound, ConfigError
from toolcrib_mcp.shared import SHARED_LINE, shared_key
from toolcrib_mcp.state_files import ARTIFACTS
from toolcrib_store import open_store


@contextmanager
def opened_book(choice: Choice) -> Iterator[ApprovalBook | None]:
    """The questions that wait; `None` where nothing was ever served, and nothing is made there.

    Raises:
        ConfigError: The configuration or the key cannot be used.
        MasterKeyUnusable: There is no master key for a database that is shared.
        StoreError: The database cannot be opened.
    """
    asked = asked_for(choice, quietly=True)
    shared = shared_database(asked)
    if shared is not None:
        with open_store(shared.target, lines=[APPROVALS_LINE, SHARED_LINE]) as store:
            yield ApprovalBook(store, shared_key(store, shared.sealed_with))
        return
    directory = asked.state_dir
    if directory is None or not (directory / ARTIFACTS).is_file():
        yield None
        return
    with open_store(directory / ARTIFACTS, lines=[APPROVALS_LINE]) as store:
        yield ApprovalBook(store, state_key(directory))


def choice_with(choice: Choice, approval_id: str) -> Choice:
    """The catalogue that a call with this id waits for: the one that was chosen, else any that was served.

    A client starts `toolcrib serve` somewhere else than where a person types the command that it was told.

    Raises:
        ConfigError: The configuration or the key cannot be used, or the id is that of calls for several.
        StoreError: The database cannot be opened.
    """
    if choice.config is not None or choice.demo or _has(choice, approval_id):
        return choice
    found = [each for each in _others(choice) if _has(each, approval_id)]
    if len(found) > 1:
        raise ConfigError(
            f"Calls of {count(len(found), 'configuration')} wait under the id {quoted(approval_id)}.",
            hint=f"Name one with `--config`: {listed(str(each.config) for each in found)}.",
        )
    for each in found:
        tell(f"The call is for {each.config}.")
        return each
    return choice


def waiting_elsewhere(choice: Choice) -> list[Path]:
    """The configurations with calls that wait, beside the one that was chosen."""
    if choice.config is not None or choice.demo:
        return []
    here = asked_for(choice, quietly=True).path
    return [
        each.config
        for each in _others(choice)
        if each.config is not None and (here is None or each.config != here.resolve()) and _has(each, None)
    ]


def _others(choice: Choice) -> list[Choice]:
    root = state_root(choice.state_dir, environ=os.environ)
    return [replace(choice, config=each) for each in remembered_configs(root)]


def _has(choice: Choice, approval_id: str | None) -> bool:
    """Whether a call with this id waits there, or any does; what cannot be opened has none."""
    with suppress(ToolError), opened_book(choice) as book:
        return book is not None and any(
            approval_id is None or approval_id == each.id or approval_id.upper() == each.name
            for each in book.questions()
        )
    return False


def book_with(book: ApprovalBook | None, approval_id: str) -> ApprovalBook:
    """The book that an id may be in.

    Raises:
        ApprovalNotFound: There is no book.
    """
    if book is None:
        raise ApprovalNotFound(
            f"No call waits under the id {quoted(approval_id)}: nothing was served for this configuration yet.",
            hint="Name the configuration that is served with `--config`.",
        )
    return book
