"""Schemas of tools made up by hypothesis, and values that do or nearly do satisfy them."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import strategies as st

_TAME = {"type": "object", "additionalProperties": False}
_NAMES = ("a", "b", "kind", "items", "x-y")
_TEXTS = ("", "v", "w", "2026-01-31", "long text of its own", "ü")
_CONSTANTS = st.sampled_from(["v", "w", 1, 2.5, True, None, "kind"])
_BOUND = st.integers(0, 4)


def _optional(**keywords: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=keywords)


_STRINGS = _optional(
    minLength=_BOUND,
    maxLength=_BOUND,
    pattern=st.sampled_from(["^v", "[a-z]+$", "w"]),
    format=st.sampled_from(["date", "email", "uuid", "made-up"]),
    default=st.sampled_from(["v", ""]),
    description=st.just("Said."),
).map(lambda rest: {"type": "string", **rest})
_NUMBERS = st.builds(
    lambda kind, rest: {"type": kind, **rest},
    st.sampled_from(["number", "integer"]),
    _optional(
        minimum=_BOUND,
        maximum=_BOUND,
        exclusiveMinimum=_BOUND,
        exclusiveMaximum=_BOUND,
        multipleOf=st.sampled_from([1, 2, 0.5]),
        default=_BOUND,
    ),
)
_VALUES = st.one_of(
    st.lists(_CONSTANTS, min_size=1, max_size=3, unique_by=lambda each: (type(each), each)).map(lambda v: {"enum": v}),
    _CONSTANTS.map(lambda value: {"const": value}),
    st.just({"enum": ["v", "w"], "type": "string"}),
)
_SIMPLE = st.one_of(
    _STRINGS,
    _STRINGS,
    _NUMBERS,
    _VALUES,
    st.sampled_from(
        [
            {"type": "boolean"},
            {"type": "null"},
            {"type": ["string", "null"]},
            {"type": ["integer", "string"], "minimum": 1, "maxLength": 2},
            {},
            True,
            False,
            {"type": "object"},
            {"type": "array"},
            {"minLength": 2},
            {"$ref": "#/$defs/D"},
            {"$ref": "#/$defs/D", "description": "Beside."},
            {"$ref": "#/$defs/R"},
            {"not": {"type": "string"}},
            {"nullable": True, "type": "string"},
        ]
    ),
)


def _objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(
        lambda said, properties, required, rest: {
            **said,
            **({"properties": properties} if properties is not None else {}),
            **({"required": required} if required else {}),
            **rest,
        },
        st.sampled_from([_TAME, _TAME, _TAME, {"type": "object"}, {"type": ["object", "null"]}, {}]),
        st.one_of(st.none(), *[st.dictionaries(st.sampled_from(_NAMES), inner, max_size=3)] * 4),
        st.lists(st.sampled_from(_NAMES[:3]), max_size=2, unique=True),
        _rare(
            {
                "additionalProperties": st.one_of(st.just(False), st.just(False), st.just(True), inner),  # noqa: FBT003
                "patternProperties": st.dictionaries(st.sampled_from(["^x-", "^a"]), inner, min_size=1, max_size=1),
                "minProperties": _BOUND,
                "maxProperties": _BOUND,
                "propertyNames": st.just({"maxLength": 3}),
                "dependentRequired": st.just({"a": ["b"]}),
                "dependentSchemas": st.builds(lambda schema: {"b": {"properties": {"a": schema}}}, inner),
                "if": st.just({"required": ["a"]}),
                "then": st.just({"required": ["b"]}),
                "not": st.just({"required": ["kind"]}),
                "anyOf": st.lists(
                    st.sampled_from([{"required": ["a"]}, {"required": ["b"]}, _BRANCH, _CLOSED]),
                    min_size=1,
                    max_size=2,
                ),
                "oneOf": st.lists(
                    st.sampled_from([{"required": ["a"]}, {"required": ["b"]}, _BRANCH]), min_size=1, max_size=2
                ),
                "allOf": st.lists(
                    st.sampled_from([{"required": ["a"]}, _BRANCH, _CLOSED, {"$ref": "#/$defs/D"}]),
                    min_size=1,
                    max_size=2,
                ),
                "unevaluatedProperties": st.just(False),  # noqa: FBT003
            },
        ),
    )


_BRANCH = {"properties": {"kind": {"const": "v"}, "b": {"type": "integer"}}, "required": ["kind"]}
_CLOSED = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False}


def _arrays(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(
        lambda rest, rare: {"type": "array", **rest, **rare},
        _optional(items=inner, minItems=_BOUND, maxItems=_BOUND),
        _rare(
            {
                "prefixItems": st.lists(inner, min_size=1, max_size=2),
                "uniqueItems": st.just(True),  # noqa: FBT003
                "contains": inner,
                "maxContains": _BOUND,
                "unevaluatedItems": st.just(False),  # noqa: FBT003
            }
        ),
    )


def _unions(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(
        lambda keyword, branches, rest: {keyword: branches, **rest},
        st.sampled_from(["anyOf", "anyOf", "oneOf", "allOf"]),
        st.lists(inner, min_size=1, max_size=3),
        _rare(
            {
                "description": st.just("A choice."),
                "type": st.sampled_from(["string", "object"]),
                "if": inner,
                "else": inner,
            }
        ),
    )


def _rare(keywords: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """Nothing most of the time, else one or two of the keywords."""
    some = st.lists(st.sampled_from(sorted(keywords)), min_size=1, max_size=2, unique=True).flatmap(
        lambda names: st.fixed_dictionaries({name: keywords[name] for name in names})
    )
    return st.one_of(st.just({}), st.just({}), some)


_INNER = st.recursive(_SIMPLE, lambda inner: st.one_of(_objects(inner), _arrays(inner), _unions(inner)), max_leaves=6)
_DEFINITIONS = st.builds(
    lambda plain, value: {
        "D": plain,
        "R": {"type": "object", "properties": {"next": {"$ref": "#/$defs/R"}, "value": value}, "required": ["value"]},
    },
    _INNER,
    _SIMPLE,
)


def _rooted(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    return {**schema, "type": "object", "$defs": definitions}


input_schemas: st.SearchStrategy[dict[str, Any]] = st.builds(_rooted, _objects(_INNER), _DEFINITIONS)
"""Input schemas of tools: mostly tame, with every keyword of draft 2020-12 now and then."""


class Values:
    """Makes values for a schema: likely ones, and near misses."""

    def __init__(self, root: dict[str, Any], seed: int) -> None:
        self._root = root
        self._random = random.Random(seed)

    def some(self, number: int) -> list[dict[str, Any]]:
        """Objects that probably satisfy the schema, and as many that differ from one in a place."""
        made = [self._object(self._root, 0) for _ in range(number)]
        return made + [changed for each in made if isinstance(changed := self._changed(each), dict)]

    def _value(self, schema: Any, depth: int) -> Any:
        if not isinstance(schema, dict) or depth > 6:
            return self._random.choice(["v", 1, None, {}, [], True])
        if "$ref" in schema:
            name = schema["$ref"].rsplit("/", 1)[-1]
            return self._value(self._root.get("$defs", {}).get(name, self._root), depth + 1)
        if "const" in schema or "enum" in schema:
            return self._random.choice(schema.get("enum", [schema.get("const")]))
        for keyword in ("anyOf", "oneOf", "allOf"):
            if keyword in schema and "properties" not in schema:
                return self._value(self._random.choice(schema[keyword]), depth + 1)
        return self._of_type(schema, depth)

    def _of_type(self, schema: dict[str, Any], depth: int) -> Any:
        kind = schema.get("type", "object" if "properties" in schema else "string")
        if isinstance(kind, list):
            kind = self._random.choice(kind)
        if kind in {"object", "array"}:
            return self._object(schema, depth) if kind == "object" else self._list(schema, depth)
        low = schema.get("minimum", schema.get("exclusiveMinimum", 0))
        options: dict[str, list[Any]] = {
            "number": [low, low + 1, low + 2, 0.5],
            "integer": [low, low + 1, low + 2, 3],
            "boolean": [True, False],
            "null": [None],
        }
        return self._random.choice(options.get(kind, list(_TEXTS)))

    def _object(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        made: dict[str, Any] = {}
        parts: list[Any] = [schema]
        for keyword in ("anyOf", "oneOf", "allOf"):
            parts += self._random.sample(schema.get(keyword, []), k=min(1, len(schema.get(keyword, []))))
        for part in parts:
            if not isinstance(part, dict):
                continue
            required = part.get("required", ())
            for name, inner in part.get("properties", {}).items():
                if name in required or self._random.random() < 0.5:
                    made.setdefault(name, self._value(inner, depth + 1))
            for name in required:
                made.setdefault(name, self._value({}, depth + 1))
        if self._random.random() < 0.25 and schema.get("additionalProperties") is not False:
            made[self._random.choice(["x-1", "a", "other"])] = self._value(
                schema.get("additionalProperties", {}), depth + 1
            )
        return made

    def _list(self, schema: dict[str, Any], depth: int) -> list[Any]:
        prefix = [self._value(each, depth + 1) for each in schema.get("prefixItems", ())]
        more = self._random.randint(schema.get("minItems", 0), schema.get("minItems", 0) + 2)
        return prefix + [self._value(schema.get("items", {}), depth + 1) for _ in range(more)]

    def _changed(self, value: Any) -> Any:
        if isinstance(value, dict):
            changed = dict(value)
            if changed and self._random.random() < 0.7:
                name = self._random.choice(list(changed))
                match self._random.randint(0, 2):
                    case 0:
                        del changed[name]
                    case 1:
                        changed[name] = self._random.choice([None, "", 7, {}, [], -1.5])
                    case _:
                        changed[name] = self._changed(changed[name])
            else:
                changed[self._random.choice(_NAMES)] = self._value({}, 9)
            return changed
        if isinstance(value, list):
            return [*value, self._random.choice(["v", 1, None])] if self._random.random() < 0.5 else value[1:]
        return self._random.choice([None, "v", 5, "another", False])
