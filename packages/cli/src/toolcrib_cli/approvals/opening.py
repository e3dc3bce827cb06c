"""The questions of a configuration, as far as anybody has asked any."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from toolcrib_cli.asking import Choice, asked_for
from toolcrib_core.wording import quoted
from toolcrib_mcp.approvals import APPROVALS_LINE, ApprovalBook, state_key
from toolcrib_mcp.errors import ApprovalNotFound
from toolcrib_mcp.state_files import ARTIFACTS
from toolcrib_store import open_store


@contextmanager
def opened_book(choice: Choice) -> Iterator[ApprovalBook | None]:
    """The questions that wait; `None` where nothing was ever served, and nothing is made there.

    Raises:
        ConfigError: The configuration or the key cannot be used.
        StoreError: The database cannot be opened.
    """
    directory = asked_for(choice, quietly=True).state_dir
    if directory is None or not (directory / ARTIFACTS).is_file():
        yield None
        return
    with open_store(directory / ARTIFACTS, lines=[APPROVALS_LINE]) as store:
        yield ApprovalBook(store, state_key(directory))


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
