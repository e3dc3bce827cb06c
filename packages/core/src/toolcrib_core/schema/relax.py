"""Schemas of tools that others check too, made usable here by leaving out what cannot be matched in bounded time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolcrib_core.definition import LossyFeature
from toolcrib_core.json_values import pointer_join
from toolcrib_core.schema.patterns import pattern_size
from toolcrib_core.schema.rebuilding import with_subschemas


def relax_patterns(schema: Mapping[str, Any], *, pointer: str = "") -> tuple[dict[str, Any], tuple[LossyFeature, ...]]:
    """The schema without the patterns that the linear-time engine refuses, and what was left out.

    It is for definitions that come from elsewhere, where the real check is done: the result accepts everything that the
    original accepts, and more. `pointer` is where the schema stands, for the report.
    """
    lost: list[LossyFeature] = []
    return _relaxed(schema, pointer, lost), tuple(lost)


def _relaxed(schema: Mapping[str, Any], pointer: str, lost: list[LossyFeature]) -> dict[str, Any]:
    def rebuild(inner: Any, keys: tuple[str | int, ...]) -> Any:
        where = pointer
        for key in keys:
            where = pointer_join(where, key)
        return _relaxed(inner, where, lost) if isinstance(inner, Mapping) else inner

    relaxed = with_subschemas(schema, rebuild)
    pattern = relaxed.get("pattern")
    if isinstance(pattern, str) and pattern_size(pattern) is None:
        del relaxed["pattern"]
        lost.append(_left_out(pointer_join(pointer, "pattern")))
    names: dict[str, Any] = relaxed.get("patternProperties", {})
    unmatchable = [name for name in names if pattern_size(name) is None]
    if unmatchable:
        relaxed["patternProperties"] = {name: names[name] for name in names if name not in unmatchable}
        # What such a name allowed may be any property now: which ones it meant cannot be told.
        relaxed.pop("additionalProperties", None)
        relaxed.pop("unevaluatedProperties", None)
        place = pointer_join(pointer, "patternProperties")
        lost += [_left_out(pointer_join(place, name)) for name in unmatchable]
    return relaxed


def _left_out(pointer: str) -> LossyFeature:
    return LossyFeature(
        pointer=pointer,
        feature="pattern",
        message="A pattern with look-around or back-references is not checked here, only where the tool runs.",
    )
