"""Times on the command line: a date or a date with a time, in UTC unless it says otherwise."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from typing import Final

from toolcrib_core.wording import quoted
from toolcrib_mcp.errors import ConfigError

_LENGTH_OF_A_DATE: Final = 10


def read_time(text: str, option: str, *, end_of_day: bool = False) -> str:
    """A time as records have it; a date alone is its first moment, or the last one.

    Raises:
        ConfigError: It is none.
    """
    try:
        if len(text) <= _LENGTH_OF_A_DATE:
            moment = datetime.combine(date.fromisoformat(text), time.max if end_of_day else time.min, UTC)
        else:
            given = datetime.fromisoformat(text)
            moment = given.replace(tzinfo=UTC) if given.tzinfo is None else given.astimezone(UTC)
    except (ValueError, OverflowError):
        raise ConfigError(
            f"`{option}` is no date or time: {quoted(text)}.", hint="Write it as `2026-01-31` or `2026-01-31T18:00`."
        ) from None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
