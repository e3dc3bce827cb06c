"""The demo's `time` server: now, time zones, durations and calendars."""

from __future__ import annotations

import calendar
from datetime import datetime, timedelta
from typing import Annotated, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from pydantic import Field

from toolcrib_core.wording import nearest
from toolcrib_runtime import tool

_Zone = Annotated[str, Field(description="A time zone, as in `Europe/Oslo` or `UTC`.", max_length=64)]
_Moment = Annotated[str, Field(description="A date and time in ISO 8601, as in `2026-05-17T09:30`.", max_length=64)]

# Where the name of an area differs from those of others: of 600 zones, the nearest 200 are compared.
_AREA: Final = 4


@tool(effects="read", tags=["time"])
def now(timezone: _Zone = "UTC") -> dict[str, str | int]:
    """Tell the current date and time in a time zone."""
    moment = datetime.now(_zone(timezone))
    return {"time": moment.isoformat(timespec="seconds"), "weekday": f"{moment:%A}", "week": moment.isocalendar().week}


@tool(effects="none", tags=["time"])
def convert_time(time: _Moment, from_timezone: _Zone, to_timezone: _Zone) -> dict[str, str]:
    """Convert a date and time from one time zone to another."""
    there = _moment(time).replace(tzinfo=_zone(from_timezone)).astimezone(_zone(to_timezone))
    return {"time": there.isoformat(timespec="seconds"), "weekday": f"{there:%A}"}


@tool(effects="none", tags=["time"])
def time_between(start: _Moment, end: _Moment) -> dict[str, float | int]:
    """Tell how much time lies between two moments, in days, hours, minutes and seconds."""
    seconds = (_moment(end) - _moment(start)).total_seconds()
    return {"days": seconds / 86_400, "hours": seconds / 3_600, "minutes": seconds / 60, "seconds": int(seconds)}


@tool(effects="none", tags=["time"])
def add_time(
    start: _Moment,
    days: Annotated[int, Field(ge=-100_000, le=100_000)] = 0,
    hours: Annotated[int, Field(ge=-100_000, le=100_000)] = 0,
    minutes: Annotated[int, Field(ge=-100_000, le=100_000)] = 0,
) -> dict[str, str]:
    """Add days, hours and minutes to a moment; negative numbers go back."""
    try:
        moment = _moment(start) + timedelta(days=days, hours=hours, minutes=minutes)
    except OverflowError:
        raise ValueError("the result lies outside the years 1 to 9999") from None
    return {"time": moment.isoformat(timespec="seconds"), "weekday": f"{moment:%A}"}


@tool(effects="none", tags=["time"])
def month_calendar(
    year: Annotated[int, Field(ge=1, le=9999)], month: Annotated[int, Field(ge=1, le=12)]
) -> dict[str, list[list[int]]]:
    """Show the weeks of a month, Monday first; 0 is a day of another month."""
    return {"weeks": calendar.Calendar().monthdayscalendar(year, month)}


TOOLS = (now, convert_time, time_between, add_time, month_calendar)


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        near = nearest(name, sorted(available_timezones(), key=lambda each: each[:_AREA] != name[:_AREA]))
        hint = f"; did you mean `{near}`?" if near else ", as in `Europe/Oslo`"
        raise ValueError(f"there is no time zone of this name{hint}") from None


def _moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text).replace(tzinfo=None)
    except ValueError:
        raise ValueError("a moment is written in ISO 8601, as in `2026-05-17T09:30`") from None
