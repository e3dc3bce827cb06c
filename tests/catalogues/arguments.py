"""Arguments for a schema: some that it accepts, and some that it refuses. The same schema gives the same ones.

What a schema accepts is judged by the `jsonschema` package, which is none of ours.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from jsonschema.protocols import Validator  # type: ignore[import-untyped]  # it has no types
from jsonschema.validators import Draft202012Validator, validator_for  # type: ignore[import-untyped]  # as above

Json: TypeAlias = dict[str, Any]

# Below it, values hold only what is required: a recursive schema has to end somewhere.
_FULL_DEPTH: Final = 4
_FORMATS: Final = {
    "date-time": "2026-03-01T09:30:00Z",
    "date": "2026-03-01",
    "time": "09:30:00Z",
    "uri": "https://example.org/a",
    "email": "someone@example.org",
    "uuid": "6f1d2c3b-4a59-4e68-9b7a-8c0d1e2f3a4b",
    "ipv4": "192.0.2.7",
    "hostname": "example.org",
}
# What patterns ask for that real servers have; the first that fits is taken.
_SPELLINGS: Final = (
    *_FORMATS.values(),
    *("a", "7", "ABC", "ABC-1", "=A1", "SlicerStyleLight1", "x" * 43),
    *("20260301", "202603010930", "#ffaa00"),
)
_WRONG: Final = ({"not": ["what", "is", "meant"]}, ["not", {"what": "is meant"}], "…", 0.5, -7_777_777_777, None, True)


def oracle_of(schema: Mapping[str, Any]) -> Validator:
    """Judges values by a schema in the dialect that it names."""
    return validator_for(schema, default=Draft202012Validator)(schema)


def valid_arguments(schema: Mapping[str, Any], *, everything: bool) -> Json:
    """Arguments that a schema accepts: with every parameter, or with as few as it takes.

    Raises:
        ValueError: None could be made.
    """
    made = _Maker(schema, everything=everything).value(schema, depth=0)
    accepts = oracle_of(schema).is_valid
    # Some parameters exclude each other: then all but one of them.
    fewer = ({name: value for name, value in made.items() if name != left_out} for left_out in made)
    for arguments in (made, *fewer):
        if accepts(arguments):
            return dict(arguments)
    raise ValueError(f"no arguments could be made for {schema}")


def invalid_arguments(schema: Mapping[str, Any]) -> list[Json]:
    """Arguments that a schema refuses: one without what it takes, one with a wrong value, one with a stray name.

    What it does not refuse is left out; a schema that accepts anything gets none.
    """
    accepts = oracle_of(schema).is_valid
    sorts = (_too_little(schema), _wrong_value(schema), _too_much(schema))
    firsts = (next((made for made in sort if not accepts(made)), None) for sort in sorts)
    return [each for each in firsts if each is not None]


def _too_little(schema: Mapping[str, Any]) -> Iterator[Json]:
    valid = valid_arguments(schema, everything=False)
    for name in reversed(schema.get("required", ())):
        yield {each: value for each, value in valid.items() if each != name}


def _wrong_value(schema: Mapping[str, Any]) -> Iterator[Json]:
    valid = valid_arguments(schema, everything=False)
    for name in reversed(schema.get("properties", {})):
        for wrong in _WRONG:
            yield {**valid, name: wrong}


def _too_much(schema: Mapping[str, Any]) -> Iterator[Json]:
    yield {**valid_arguments(schema, everything=False), "no_such_parameter": 1}


class _Maker:
    """Makes values for the keywords that tools use."""

    def __init__(self, root: Mapping[str, Any], *, everything: bool) -> None:
        self._root = root
        self._everything = everything

    def value(self, schema: Any, *, depth: int) -> Any:
        """A value for a schema."""
        if not isinstance(schema, Mapping):
            return "anything"
        whole = self._whole(schema, deep=depth >= _FULL_DEPTH)
        if "const" in whole:
            return whole["const"]
        if "enum" in whole:
            return whole["enum"][0]
        stated = whole.get("type", "object" if "properties" in whole or depth == 0 else "string")
        kind = stated[0] if isinstance(stated, list) else stated
        return getattr(self, f"_{kind}")(whole, depth + 1)

    def _whole(self, schema: Mapping[str, Any], *, deep: bool) -> Json:
        """The schema with what it refers to, what it is made of, and one of what it may be; the last if deep."""
        whole = dict(schema)
        parts: list[Any] = [self._target(whole.pop("$ref"))] if "$ref" in whole else []
        parts += whole.pop("allOf", ())
        parts += [whole.pop(each)[-1 if deep else 0] for each in ("anyOf", "oneOf") if each in whole]
        for part in (self._whole(each, deep=deep) for each in parts if isinstance(each, Mapping)):
            properties = {**part.get("properties", {}), **whole.get("properties", {})}
            required = [*whole.get("required", ()), *part.get("required", ())]
            whole = {**part, **whole, **({"properties": properties, "required": required} if properties else {})}
        return whole

    def _target(self, reference: str) -> Any:
        place: Any = self._root
        for key in reference.removeprefix("#").split("/")[1:]:
            place = place[key.replace("~1", "/").replace("~0", "~")]
        return place

    def _object(self, schema: Json, depth: int) -> Json:
        required, properties = schema.get("required", ()), schema.get("properties", {})
        more = self._everything and depth < _FULL_DEPTH
        names = [each for each in properties if more or each in required]
        stray = {each: "anything" for each in required if each not in properties}
        return {**{each: self.value(properties[each], depth=depth) for each in names}, **stray}

    def _array(self, schema: Json, depth: int) -> list[Any]:
        more = self._everything and depth < _FULL_DEPTH
        count = max(schema.get("minItems", 0), 1 if more or "contains" in schema else 0)
        first = [self.value(each, depth=depth) for each in schema.get("prefixItems", ())]
        first += [self.value(schema["contains"], depth=depth)] if "contains" in schema else []
        rest = [self.value(schema.get("items", True), depth=depth) for _ in range(count - len(first))]
        return [*first, *rest]

    def _string(self, schema: Json, _: int) -> str:
        least, most = schema.get("minLength", 0), schema.get("maxLength", math.inf)
        if "pattern" in schema:
            fits = (each for each in _SPELLINGS if least <= len(each) <= most and re.search(schema["pattern"], each))
            return next(fits, "no spelling fits")
        text = _FORMATS.get(schema.get("format", ""), "text")
        return text.ljust(least, "x")[: int(min(most, 10_000))]

    def _number(self, schema: Json, _: int) -> float:
        least = schema.get("minimum", schema.get("exclusiveMinimum", 0) + 1)
        return float(min(least, schema.get("maximum", schema.get("exclusiveMaximum", math.inf) - 1)))

    def _integer(self, schema: Json, depth: int) -> int:
        return math.ceil(self._number(schema, depth))

    def _boolean(self, _: Json, __: int) -> bool:
        return True

    def _null(self, _: Json, __: int) -> None:
        return None
