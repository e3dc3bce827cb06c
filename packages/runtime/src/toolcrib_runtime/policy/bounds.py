"""Checks of the numbers that a policy is set to, so that a slip shows where it was made."""

from __future__ import annotations

import math


def check_whole(name: str, value: object, *, least: int) -> None:
    """Refuse what is not a whole number from `least` upwards.

    Raises:
        ValueError: It is not; the message names the setting.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"`{name}` must be a whole number, {least} or more")


def check_number(name: str, value: object, *, least: float) -> None:
    """Refuse what is not a finite number from `least` upwards.

    Raises:
        ValueError: It is not; the message names the setting.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < least:
        raise ValueError(f"`{name}` must be a finite number, {least:g} or more")
