"""How a person fills in a form that asks whether a call may run: once, whatever else is offered."""

from __future__ import annotations

from typing import Any


def approve(schema: dict[str, Any]) -> dict[str, Any]:
    filled = {}
    for name, field in schema["properties"].items():
        offered = field.get("enum") or [each["const"] for each in field.get("oneOf", ())]
        filled[name] = next((each for each in offered if "once" in each), offered[0]) if offered else True
    return filled
