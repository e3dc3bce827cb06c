"""Keeping secrets out of logs."""

from __future__ import annotations

import logging
from contextlib import suppress

from toolcrib_runtime.guards.secrets.scrubbing import Scrubber

_STANDARD = frozenset(vars(logging.makeLogRecord({})))
_FORMATTER = logging.Formatter()


class ScrubbingFilter(logging.Filter):
    """Takes secrets out of every record that passes: message, arguments, traceback, stack and extra attributes.

    Add it to handlers, not to loggers: a logger does not filter what comes from those below it. The record itself is
    changed, so that later handlers see no secret either. An exception is turned into its text and then dropped,
    because its attributes may hold what the text no longer does.
    """

    def __init__(self, scrubber: Scrubber) -> None:
        super().__init__()
        self._scrubber = scrubber

    def filter(self, record: logging.LogRecord) -> bool:
        """Scrub the record, and let it pass."""
        record.msg, record.args = self._scrubber.scrub_text(_message(record)), None
        if record.exc_info:
            record.exc_text = record.exc_text or _FORMATTER.formatException(record.exc_info)
            record.exc_info = None
        if record.exc_text:
            record.exc_text = self._scrubber.scrub_text(record.exc_text)
        if record.stack_info:
            record.stack_info = self._scrubber.scrub_text(record.stack_info)
        extras = {name: value for name, value in vars(record).items() if name not in _STANDARD}
        vars(record).update({name: self._scrubber.scrub(value) for name, value in extras.items()})
        return True


def _message(record: logging.LogRecord) -> str:
    with suppress(Exception):  # the arguments may not fit the message, or raise when they are printed
        return record.getMessage()
    return f"{record.msg!s} (its arguments do not fit)"
