"""Records of a log as lines that nobody else can write: neither a line of their own, nor an order to a terminal."""

from __future__ import annotations

import logging
from typing import Final

from toolcrib_cli.screen import visible

FORMAT: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class LineFormatter(logging.Formatter):
    """One record, one line: what a server or a client said can neither begin another one nor move the cursor.

    A traceback is many lines, each of them indented, so that none can be taken for a record.
    """

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  # as logging calls it
        """The line of a record."""
        return visible(super().formatMessage(record), keeping="")

    def format(self, record: logging.LogRecord) -> str:
        """The line, and below it what belongs to it."""
        first, *rest = super().format(record).split("\n")
        return "\n".join([first, *(f"  {visible(line)}" for line in rest)])


def write_plain_lines() -> None:
    """Let records that no handler takes be lines of this kind, too; Python writes warnings to standard error then."""
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(LineFormatter())
