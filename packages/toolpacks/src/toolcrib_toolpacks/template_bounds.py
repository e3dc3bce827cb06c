"""What bounds a template while it runs: a budget of steps and time, and the size of what it makes.

Every loop, call, filter and operator spends steps of one budget, which also watches the time. What would become large
is refused before it is made, and every value that is made is measured, so that no single step takes long.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from string import Formatter
from typing import Any, Final, TypeAlias

from jinja2 import Undefined
from jinja2.utils import Cycler

from toolcrib_core.wording import count, kind_of
from toolcrib_toolpacks.errors import TemplateError

Clock: TypeAlias = Callable[[], float]

MAX_STEPS: Final = 100_000
"""How often a template may loop, call, filter and compute in one rendering."""

MAX_SECONDS: Final = 1.0
"""The processor time of one rendering."""

MAX_CHARACTERS: Final = 1024 * 1024
"""What a value may have on the way; a text that is rendered may have less."""

_MAX_BITS = 4_096
_MAX_PRECISION = 300
_WIDE = re.compile(r"\d{5}")


class _Budget:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._latest = clock() + MAX_SECONDS
        self._steps = MAX_STEPS

    def spend(self, steps: int = 1) -> None:
        self._steps -= steps
        if self._steps < 0:
            raise TemplateError(
                f"A template does more than {count(MAX_STEPS, 'step')}, and was stopped.",
                hint="Loop over less, or do the work in the tool.",
            )
        if self._clock() > self._latest:
            raise TemplateError(
                f"A template takes longer than {MAX_SECONDS:g} s, and was stopped.",
                hint="Do the work in the tool.",
            )


_BUDGET: ContextVar[_Budget] = ContextVar("template_budget")


def spend(steps: int = 1) -> None:
    """Take steps of the budget of this rendering.

    Raises:
        TemplateError: There are none left, or its time is over.
    """
    _BUDGET.get().spend(steps)


@contextmanager
def bounded(clock: Clock = time.thread_time) -> Iterator[None]:
    """Everything that templates do within it shares one budget of steps and time."""
    token = _BUDGET.set(_Budget(clock))
    try:
        yield
    finally:
        _BUDGET.reset(token)


def too_long(limit: int) -> TemplateError:
    """The error of a text that is too long."""
    return TemplateError(
        f"A template would become longer than {count(limit, 'character')}.",
        hint="Pass large values through the input of the program, not through its command line.",
    )


def settled(value: object) -> object:
    """A value that was made: what comes one by one as a list, and nothing larger than a template may hold."""
    if isinstance(value, Iterator) and not isinstance(value, Cycler):
        value = list(looped(value))
    characters, waiting = 0, [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            characters += len(one)
            if characters > MAX_CHARACTERS:
                raise too_long(MAX_CHARACTERS)
        elif isinstance(one, list | tuple | Mapping):
            # What stands in two places is counted twice, as whatever reads it meets it twice.
            spend(len(one))
            waiting += [*one, *one.values()] if isinstance(one, Mapping) else one
        elif isinstance(one, int) and one.bit_length() > _MAX_BITS:
            raise TemplateError("A template computes a number that is too large.")
    return value


def looped(values: Any) -> Iterator[object]:
    """The items of a list, the keys of an object or the characters of a text, each for a step of the budget."""
    if isinstance(values, Undefined):
        str(values)
    if not isinstance(values, Iterable):
        raise TemplateError(f"A template loops over {kind_of(values)}, and can loop over lists, objects and text.")
    for each in values:
        spend()
        yield each


def check_size(characters: int) -> None:
    """Refuse to make a text of so many characters."""
    if characters > MAX_CHARACTERS:
        raise too_long(MAX_CHARACTERS)


def check_operator(operator: str, left: object, right: object) -> None:
    """Refuse what an operator would make too large."""
    if operator == "*":
        for many, times in ((left, right), (right, left)):
            if isinstance(many, str) and isinstance(times, int):
                check_size(len(many) * times)
            elif isinstance(many, list | tuple) and isinstance(times, int):
                spend(max(0, len(many) * times))
    elif operator == "%" and isinstance(left, str):
        _check_format(left, right)
    elif (
        operator == "**" and isinstance(left, int) and isinstance(right, int) and left.bit_length() * right > _MAX_BITS
    ):
        raise TemplateError("A template computes a number that is too large.")


def _check_format(text: str, *args: object, **named: object) -> None:
    given = [*args, *named.values()]
    parts = [each for one in given for each in (one if isinstance(one, list | tuple) else [one])]
    wide = max((len(each) for each in parts if isinstance(each, str)), default=0)
    if _WIDE.search(text) or re.search(r"%[^a-zA-Z%]*\*", text):
        raise TemplateError("A template formats a value wider than 9,999 characters, or by a width that is a value.")
    check_size(len(text) + text.count("%") * wide)


def check_fields(text: str, args: tuple[object, ...]) -> None:
    """Refuse what `str.format` would make too large."""
    fields = [spec or "" for _, _, spec, _ in Formatter().parse(text)]
    if any("{" in spec or _WIDE.search(spec) for spec in fields):
        raise TemplateError("A template formats a value wider than 9,999 characters, or by a width that is a value.")
    check_size(len(text) + len(fields) * max((len(each) for each in args if isinstance(each, str)), default=0))


def _check_width(text: str, width: int = 80, *_: object) -> None:
    check_size(max(len(text), width))


def _check_indent(text: str, width: int | str = 4, *_: object, **_named: object) -> None:
    check_size(len(text) + len(text.splitlines()) * (width if isinstance(width, int) else len(width)))


def _check_replace(text: str, old: object, new: object, *_: object, **_named: object) -> None:
    check_size(len(text) + text.count(str(old)) * len(str(new)))


def _check_wrap(text: str, *args: object, **named: object) -> None:
    check_size(len(text) * max([1, *(len(each) for each in (*args, *named.values()) if isinstance(each, str))]))


def _check_count(_values: object, number: int, *_: object, **_named: object) -> None:
    spend(max(0, number))


def _check_precision(_value: object, precision: int = 0, *_: object, **_named: object) -> None:
    if abs(precision) > _MAX_PRECISION:
        raise TemplateError(f"A template rounds to more than {_MAX_PRECISION} digits.")


def _check_sum(_values: object, _attribute: object = None, start: object = 0, **_named: object) -> None:
    if not isinstance(start, int | float):
        raise TemplateError("A template sums up something other than numbers.")


CHECKS: Final[Mapping[str, Callable[..., None]]] = {
    "batch": _check_count,
    "center": _check_width,
    "format": _check_format,
    "indent": _check_indent,
    "ljust": _check_width,
    "replace": _check_replace,
    "rjust": _check_width,
    "round": _check_precision,
    "slice": _check_count,
    "sum": _check_sum,
    "truncate": _check_wrap,
    "wordwrap": _check_wrap,
    "zfill": _check_width,
}
"""What filters and methods of these names would make is measured before; both take their arguments alike."""
