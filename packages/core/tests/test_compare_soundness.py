"""Verdicts of compatibility held against an independent validator: what is called harmless refuses nothing."""

from __future__ import annotations

import itertools
from typing import Any, TypeAlias

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from referencing import Registry

from toolcrib_core.schema.compare_changes import Where, schema_changes, worst_effect
from toolcrib_core.schema.compare_facts import Node, is_valid_value, json_key, type_of
from toolcrib_core.schema.compare_inclusion import Inclusion
from toolcrib_core.schema.refs import SchemaIndex

Schema: TypeAlias = Any
Pair: TypeAlias = tuple[Schema, Schema]

NAMES = ("a", "b", "ab")
SCALARS: list[Any] = [None, True, False, 0, 1, 1.5, 2, "", "a", "b", "ab"]
FEW: list[Any] = [None, True, 0, 1.5, "a", {}, []]
LISTS = [list(each) for size in (1, 2) for each in itertools.product([None, 1, "a", {"a": 1}], repeat=size)]
PAIRS = [*itertools.combinations(NAMES, 1), *itertools.combinations(NAMES, 2)]
OBJECTS = [dict(zip(names, each, strict=True)) for names in PAIRS for each in itertools.product(FEW, repeat=len(names))]
DEEP: list[Any] = [{"a": each} for each in (*LISTS, *OBJECTS[:30])] + [[each] for each in OBJECTS[:30]]
VALUES = [*SCALARS, [], {}, *LISTS, *OBJECTS, *DEEP]

TYPES = st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])
SMALL = st.integers(0, 2)
WORDS: dict[str, st.SearchStrategy[Any]] = {
    "type": TYPES | st.lists(TYPES, min_size=1, max_size=3, unique=True),
    "enum": st.lists(st.sampled_from(SCALARS), min_size=1, max_size=3, unique_by=json_key),
    "const": st.sampled_from(SCALARS),
    "minimum": st.sampled_from([0, 1, 1.5, 2]),
    "exclusiveMaximum": st.sampled_from([0, 1, 1.5, 2]),
    "multipleOf": st.sampled_from([1, 2, 4, 0.5]),
    "minLength": SMALL,
    "maxLength": SMALL,
    "pattern": st.sampled_from(["^a", "b$"]),
    "minItems": SMALL,
    "maxItems": SMALL,
    "uniqueItems": st.booleans(),
    "minProperties": SMALL,
    "maxProperties": SMALL,
    "required": st.lists(st.sampled_from(NAMES), min_size=1, max_size=2, unique=True),
    "dependentRequired": st.fixed_dictionaries({"a": st.just(["b"])}),
}
BRANCHES = ("anyOf", "oneOf", "allOf")
SINGLES = ("items", "additionalProperties", "propertyNames", "contains", "not", "if")
MAPS = ("properties", "patternProperties", "prefixItems", "dependentSchemas")
REF = {"$ref": "#/$defs/X"}


@st.composite
def schema_pairs(draw: st.DrawFn, depth: int = 2, *, in_place: bool = True) -> Pair:
    """Two schemas that have most of their words in common."""
    if draw(st.integers(0, 9)) == 0:
        either = st.booleans() if in_place else st.sampled_from([True, False, REF])
        return draw(either), draw(either)
    old: dict[str, Any] = {}
    new: dict[str, Any] = {}
    words = [*WORDS, *(BRANCHES + SINGLES + MAPS if depth else ())]
    for word in draw(st.lists(st.sampled_from(words), min_size=1, max_size=3, unique=True)):
        before, after = draw(word_pairs(word, depth))
        fate = draw(st.sampled_from(["same", "same", "same", "changed", "added", "removed"]))
        if fate != "added":
            old[word] = before
        if fate != "removed":
            new[word] = before if fate == "same" else after
    return old, new


@st.composite
def word_pairs(draw: st.DrawFn, word: str, depth: int) -> Pair:
    if word in WORDS:
        return draw(WORDS[word]), draw(WORDS[word])
    inside = schema_pairs(depth - 1, in_place=word in {*BRANCHES, "not", "if", "dependentSchemas"})
    if word in SINGLES:
        return draw(inside)
    pairs = draw(st.lists(inside, min_size=1, max_size=2))
    olds, news = [each[0] for each in pairs], [each[1] for each in pairs]
    if word in {*BRANCHES, "prefixItems"}:
        return olds, news[: draw(st.integers(1, 2))]
    keys = ("^a", "b$") if word == "patternProperties" else ("a", "b")
    return dict(zip(keys, olds, strict=False)), dict(zip(keys, news, strict=False))


@st.composite
def documents(draw: st.DrawFn) -> Pair:
    """Two whole schemas, whose definition may be recursive."""
    (old, new), (old_x, new_x) = draw(schema_pairs(3)), draw(schema_pairs(1))
    whole = [each if isinstance(each, dict) else {"allOf": [each]} for each in (old, new)]
    return {**whole[0], "$defs": {"X": old_x}}, {**whole[1], "$defs": {"X": new_x}}


def accepted(schema: Schema) -> set[int]:
    validator = Draft202012Validator(schema, registry=Registry())
    return {at for at, value in enumerate(VALUES) if validator.is_valid(value)}


generously = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


@pytest.mark.req("AR-6.5")
@pytest.mark.parametrize("where", ["input", "output"])
@generously
@given(pair=documents())
def test_what_is_not_called_breaking_refuses_nothing_that_was_accepted(where: Where, pair: Pair) -> None:
    old, new = pair

    verdict = worst_effect(each.effect for each in schema_changes(old, new, where=where))

    before, after = (accepted(schema) for schema in (pair if where == "input" else reversed(pair)))
    if verdict != "breaking":
        assert before <= after
    if verdict == "compatible":
        assert before == after


@generously
@given(pair=documents())
def test_no_proof_of_emptiness_is_given_for_a_schema_that_has_values(pair: Pair) -> None:
    old, new = (Node(schema, SchemaIndex(schema)) for schema in pair)

    empty = Inclusion().impossible((old, new))

    assert not (empty and accepted(pair[0]) & accepted(pair[1]))


@pytest.mark.parametrize("value", VALUES[:40], ids=repr)
def test_types_and_keys_of_values_agree_with_the_validator(value: object) -> None:
    name = {"fraction": "number"}.get(type_of(value), type_of(value))

    assert is_valid_value({"type": name}, value)
    assert [each for each in VALUES if json_key(each) == json_key(value)] == [value]
