"""What a list of numbers looks like."""

from __future__ import annotations

import statistics
from typing import Any


def describe(numbers: list[float]) -> dict[str, Any]:
    """Count, sum, mean, median, bounds, standard deviation and quartiles."""
    many = len(numbers) > 1
    quartiles = statistics.quantiles(numbers, n=4) if many else [numbers[0]] * 3
    return {
        "count": len(numbers),
        "sum": float(sum(numbers)),
        "mean": float(statistics.fmean(numbers)),
        "median": float(statistics.median(numbers)),
        "min": float(min(numbers)),
        "max": float(max(numbers)),
        "deviation": round(statistics.stdev(numbers), 4) if many else 0.0,
        "quartiles": [round(float(each), 4) for each in quartiles],
    }
