"""Hypothesis strategies for JSON values, for schemas, and for values that have a chance to satisfy them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

MAX_SAFE_INTEGER = 2**53 - 1

names = st.sampled_from(["a", "b", "c", "ab"])
texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)
safe_integers = st.integers(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER)
finite_floats = st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | safe_integers | finite_floats | texts


def json_values(
    leaves: st.SearchStrategy[Any] = scalars, keys: st.SearchStrategy[str] = texts
) -> st.SearchStrategy[Any]:
    """Any JSON value, with all its awkward numbers, texts and keys."""
    return st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4), max_leaves=12
    )


# Few names and few values, so that a schema and a value made apart from each other often meet.
plain_scalars = st.none() | st.booleans() | st.integers(-2, 3) | st.sampled_from([0.5, 2.5, "", "a", "b", "ab", "abc"])
instances = json_values(plain_scalars, names)


def schemas(dialect: str) -> st.SearchStrategy[Any]:
    """Schemas of `draft-07` or `2020-12`, whose references lead to what `documents` adds."""
    return st.recursive(_leaf_schemas(dialect), lambda inner: _compound_schemas(inner, dialect), max_leaves=8)


@st.composite
def documents(draw: st.DrawFn, dialect: str) -> dict[str, Any]:
    """A whole schema whose references lead somewhere."""
    root = draw(schemas(dialect).filter(lambda each: isinstance(each, dict)))
    # Definitions refer to nothing, so that no reference comes back to itself.
    plain = _leaf_schemas(dialect, with_references=False)
    definitions = draw(st.fixed_dictionaries({"one": plain, "two": plain}))
    uri = "http://json-schema.org/draft-07/schema#" if dialect == "draft-07" else None
    return {**({"$schema": uri} if uri else {}), **root, _definitions(dialect): definitions}


def _definitions(dialect: str) -> str:
    return "definitions" if dialect == "draft-07" else "$defs"


def _leaf_schemas(dialect: str, *, with_references: bool = True) -> st.SearchStrategy[Any]:
    small = st.integers(0, 3)
    types = st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])
    assertions = st.fixed_dictionaries(
        {},
        optional={
            "type": types | st.lists(types, min_size=1, max_size=2, unique=True),
            "enum": st.lists(plain_scalars, min_size=1, max_size=3, unique_by=repr),
            "const": plain_scalars,
            "minimum": small,
            "exclusiveMaximum": small,
            "multipleOf": st.sampled_from([1, 2, 0.5]),
            "minLength": small,
            "maxLength": small,
            "pattern": st.sampled_from(["^a", "b$", "^(a+)+$"]),
            "minItems": small,
            "maxItems": small,
            "uniqueItems": st.booleans(),
            "minProperties": small,
            "maxProperties": small,
            "required": st.lists(names, max_size=2, unique=True),
        },
    )
    some = assertions.map(lambda each: dict(list(each.items())[:3]))
    if not with_references:
        return some
    references = st.sampled_from(["one", "two"]).map(lambda each: {"$ref": f"#/{_definitions(dialect)}/{each}"})
    return some | references | st.booleans()


def _compound_schemas(inner: st.SearchStrategy[Any], dialect: str) -> st.SearchStrategy[Any]:
    several = st.lists(inner, min_size=1, max_size=3)
    common = {
        "properties": st.dictionaries(names, inner, max_size=3),
        "patternProperties": st.dictionaries(st.sampled_from(["^a", "b"]), inner, max_size=2),
        "additionalProperties": inner,
        "propertyNames": inner,
        "contains": inner,
        "allOf": several,
        "anyOf": several,
        "oneOf": several,
        "not": inner,
        "if": inner,
        "then": inner,
        "else": inner,
    }
    either = st.dictionaries(names, inner | st.lists(names, max_size=2, unique=True), max_size=2)
    old = {
        "items": inner | several,
        "additionalItems": inner,
        "dependencies": either,
        "$ref": st.just("#/definitions/one"),
    }
    new = {
        "items": inner,
        "prefixItems": several,
        "dependentSchemas": st.dictionaries(names, inner, max_size=2),
        "dependentRequired": st.dictionaries(names, st.lists(names, max_size=2, unique=True), max_size=2),
        "unevaluatedProperties": inner,
        "unevaluatedItems": inner,
        "minContains": st.integers(0, 2),
        "maxContains": st.integers(0, 2),
    }
    return st.fixed_dictionaries({}, optional={**common, **(old if dialect == "draft-07" else new)}).map(
        lambda each: dict(list(each.items())[-3:])
    )
