"""Arguments that arrive value by value: `PartialArguments` puts the pieces of one call together."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from toolcrib_core.errors import UnreadableCall
from toolcrib_core.json_values import MAX_DEPTH, JsonObject
from toolcrib_core.providers.fields import text_in
from toolcrib_core.schema.limits import INSTANCE_LIMITS
from toolcrib_core.wording import quoted

_STEP: Final = re.compile(
    r"""\.(?P<name>[^.\[\]]+) | \[(?P<index>[0-9]{1,6})\] | \[(?P<quote>['"])(?P<quoted>.*?)(?P=quote)\]""", re.VERBOSE
)
_MAX_ITEMS: Final = 100_000


class PartialArguments:
    """The arguments of a call, each value at the JSON path that the vendor gives for it."""

    __slots__ = ("_size", "arguments")

    def __init__(self) -> None:
        self.arguments: JsonObject = {}
        self._size = 0

    def add(self, piece: Mapping[str, Any]) -> None:
        """Put one `PartialArg` in its place; text that comes in pieces is joined.

        Raises:
            UnreadableCall: The path leads nowhere, or the arguments are too large.
        """
        path = text_in(piece, "json_path") or text_in(piece, "jsonPath")
        steps = _steps(path)
        value = _value(piece)
        self._size += len(value) if isinstance(value, str) else 1
        if self._size > INSTANCE_LIMITS.max_bytes:
            raise UnreadableCall("The arguments are too long.", hint="Send the call again with less in it.")
        place: Any = self.arguments
        for step, following in zip(steps, [*steps[1:], None], strict=True):
            if following is None:
                _put(place, step, value, path)
            else:
                place = _inner(place, step, following, path)


def _steps(path: str) -> list[str | int]:
    steps: list[str | int] = []
    at = 1 if path.startswith("$") else len(path)
    while at < len(path):
        match = _STEP.match(path, at)
        if match is None:
            raise _lost(path)
        steps.append(int(match["index"]) if match["index"] else match["name"] or match["quoted"] or "")
        at = match.end()
    if not steps or len(steps) > MAX_DEPTH:
        raise _lost(path)
    return steps


def _value(piece: Mapping[str, Any]) -> Any:
    for snake, camel in (
        ("string_value", "stringValue"),
        ("bool_value", "boolValue"),
        ("number_value", "numberValue"),
    ):
        value = piece.get(snake, piece.get(camel))
        if value is not None:
            # Every number comes as a double.
            return int(value) if isinstance(value, float) and value.is_integer() else value
    return None


def _inner(place: Any, step: str | int, following: str | int, path: str) -> Any:
    empty: Any = [] if isinstance(following, int) else {}
    if isinstance(place, dict) and isinstance(step, str):
        return place.setdefault(step, empty)
    if isinstance(place, list) and isinstance(step, int) and step <= len(place) < _MAX_ITEMS:
        if step == len(place):
            place.append(empty)
        return place[step]
    raise _lost(path)


def _put(place: Any, step: str | int, value: Any, path: str) -> None:
    if isinstance(place, dict) and isinstance(step, str):
        known = place.get(step)
        place[step] = known + value if isinstance(known, str) and isinstance(value, str) else value
        return
    if isinstance(place, list) and isinstance(step, int) and step <= len(place) < _MAX_ITEMS:
        if step == len(place):
            place.append(value)
        else:
            known = place[step]
            place[step] = known + value if isinstance(known, str) and isinstance(value, str) else value
        return
    raise _lost(path)


def _lost(path: str) -> UnreadableCall:
    return UnreadableCall(
        f"A piece of the arguments belongs at {quoted(path)}, which leads nowhere; the call was not run.",
        hint="Send the whole call again.",
    )
