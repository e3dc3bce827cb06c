"""The calls that the runtime is measured with, and how: CPU-time ratios of awaited work, within one running loop.

The peers' environments read this file too, so it needs nothing but pydantic, which all of them have.
"""

from __future__ import annotations

import gc
import json
import statistics
import time
import types
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from pydantic import BaseModel, TypeAdapter
from ratios import cpu_seconds
from typing_extensions import TypedDict

Work: TypeAlias = Callable[[], Awaitable[object]]

ANSWER = "ok"
_GRAIN = 0.02  # seconds of CPU that one measurement takes at least


class Address(TypedDict):
    """Where an order goes."""

    street: str
    city: str
    postcode: str
    country: str


class Line(TypedDict):
    """One line of an order."""

    sku: str
    quantity: int
    price: float


class AddressModel(BaseModel):
    """The same as `Address`, for a function that wants objects."""

    street: str
    city: str
    postcode: str
    country: str


class LineModel(BaseModel):
    """The same as `Line`, for a function that wants objects."""

    sku: str
    quantity: int
    price: float


async def forecast(city: str, days: int) -> str:
    """Say what the weather will be.

    Args:
        city: Where.
        days: For how many days.
    """
    del city, days
    return ANSWER


async def place_order(customer: str, address: Address, lines: list[Line], note: str) -> str:
    """Order goods for a customer.

    Args:
        customer: The number of the customer.
        address: Where the goods go.
        lines: What is ordered.
        note: What the driver should know.
    """
    del customer, address, lines, note
    return ANSWER


async def place_modelled_order(customer: str, address: AddressModel, lines: list[LineModel], note: str) -> str:
    """Order goods for a customer.

    Args:
        customer: The number of the customer.
        address: Where the goods go.
        lines: What is ordered.
        note: What the driver should know.
    """
    del customer, address, lines, note
    return ANSWER


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A function, and the text of a call of it as a model writes it."""

    function: Callable[..., Awaitable[str]]
    text: str
    what: str

    def floor(self) -> Awaitable[str]:
        """The least that a call can be: parse and await, nothing checked."""
        return self.function(**json.loads(self.text))


_ORDER = json.dumps(
    {
        "customer": "c-20418",
        "address": {"street": "Storgata 12", "city": "Oslo", "postcode": "0184", "country": "NO"},
        "lines": [
            {"sku": "TEA-ASSAM-250", "quantity": 2, "price": 8.9},
            {"sku": "MUG-BLUE-03", "quantity": 4, "price": 12.5},
            {"sku": "KETTLE-1L", "quantity": 1, "price": 39.0},
        ],
        "note": "Please ring twice, the bell is weak. Leave it with the neighbour at number 14 if nobody opens.",
    }
)

SAMPLES = {
    "small": Sample(function=forecast, text='{"city": "Oslo", "days": 3}', what="two scalars"),
    "order": Sample(function=place_order, text=_ORDER, what="order"),
    "models": Sample(function=place_modelled_order, text=_ORDER, what="order as models"),
}


async def awaited_cpu_seconds(work: Work, *, repeat: int = 1) -> float:
    """The CPU time of awaiting `work` so many times, with the garbage collector out of the way."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        start = time.process_time()
        for _ in range(repeat):
            await work()
        return time.process_time() - start
    finally:
        if collecting:
            gc.enable()


async def times_dearer(ours: Work, floor: Work, *, rounds: int) -> float:
    """How many floors one of ours costs: the median over interleaved rounds."""
    our_repeat, floor_repeat = await _repeats_for(ours), await _repeats_for(floor)
    ratios = []
    for _ in range(rounds):
        least = await awaited_cpu_seconds(floor, repeat=floor_repeat) / floor_repeat
        ratios.append(await awaited_cpu_seconds(ours, repeat=our_repeat) / our_repeat / least)
    return statistics.median(ratios)


def making_ratio(make: Callable[[Any], object], *, floor: Callable[[Any], object], count: int, rounds: int) -> float:
    """How many floors it costs to make a tool of a function: the median over interleaved rounds of new functions."""
    ratios = []
    for _ in range(rounds):
        least = cpu_seconds(partial(_apply, floor, _distinct_functions(count)))
        ratios.append(cpu_seconds(partial(_apply, make, _distinct_functions(count))) / least)
    return statistics.median(ratios)


def pydantic_schema(function: Any) -> object:
    """The floor for making a tool: a validator of the arguments, and their JSON Schema."""
    return TypeAdapter(function).json_schema()


def _apply(make: Callable[[Any], object], functions: list[types.FunctionType]) -> None:
    for function in functions:
        make(function)


async def _repeats_for(work: Work) -> int:
    repeat = 1
    while (taken := await awaited_cpu_seconds(work, repeat=repeat)) < _GRAIN:
        repeat = max(repeat * 2, int(repeat * _GRAIN / max(taken, 1e-6)))
    return repeat


def _distinct_functions(count: int) -> list[types.FunctionType]:
    """Functions that nobody has seen before, so that nothing about them can be remembered."""
    originals: list[Any] = [sample.function for sample in SAMPLES.values()]
    made = []
    for number in range(count):
        original = originals[number % len(originals)]
        copy = types.FunctionType(original.__code__, original.__globals__, f"{original.__name__}_{number}")
        copy.__doc__, copy.__annotations__ = original.__doc__, dict(original.__annotations__)
        copy.__module__ = original.__module__
        made.append(copy)
    return made
