"""Five tools that the provider examples share: a forecast, a contact, a meeting, a conversion, a chart."""

from __future__ import annotations

import base64
from datetime import date
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from toolcrib_core import create_tool_error
from toolcrib_runtime import ToolOutput, create_toolbox, tool

PIXEL = base64.b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de"
        "0000000c4944415478da63f8cfc000000301010018dd8db00000000049454e44ae426082"
    )
).decode()
RATES = {"EUR": 1.0, "NOK": 0.085, "USD": 0.9}


class Contact(BaseModel):
    """One person in the address book."""

    name: str
    email: str
    phone: str | None = None


@tool(effects="read", namespace="weather", version="1.0.0")
def forecast(city: str, days: Annotated[int, Field(ge=1, le=14)] = 3) -> dict[str, float]:
    """The highest temperature of each of the next days.

    Args:
        city: Where, as in `Oslo` or `Oslo, Norway`.
        days: How many days to look ahead.
    """
    return {f"{city}, day {day + 1}": 20.0 + day for day in range(days)}


@tool(effects="read", namespace="people", version="1.0.0")
def find_contact(name: str) -> Contact:
    """Look a person up in the address book."""
    if name.casefold() != "ada":
        raise create_tool_error(
            "tool.people.find_contact.no-such-person",
            "Nobody of that name is in the address book.",
            category="not_found",
            hint="Try `Ada`.",
        )
    return Contact(name="Ada", email="ada@example.org")


@tool(effects="write", namespace="calendar", version="1.0.0", idempotent=True)
def create_meeting(title: str, day: date, with_whom: list[str], room: str | None = None) -> str:
    """Put a meeting into the calendar."""
    return f"{title} on {day:%d %B %Y} with {', '.join(with_whom)}{f' in {room}' if room else ''}"


@tool(effects="none", namespace="money", version="1.0.0")
def convert(amount: float, source: Literal["EUR", "NOK", "USD"], target: Literal["EUR", "NOK", "USD"]) -> float:
    """Convert an amount of money from one currency into another."""
    return round(amount * RATES[source] / RATES[target], 2)


@tool(effects="none", namespace="charts", version="1.0.0")
def plot(values: list[float]) -> ToolOutput:
    """Draw numbers as a line chart."""
    return ToolOutput(
        value={"points": len(values)},
        content=({"type": "image", "data": PIXEL, "mimeType": "image/png"},),
    )


FIVE_TOOLS = (forecast, find_contact, create_meeting, convert, plot)
toolbox = create_toolbox(FIVE_TOOLS)
definitions = [each.definition for each in FIVE_TOOLS]
