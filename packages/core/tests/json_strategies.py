"""Hypothesis strategies for JSON values, for schemas, and for values that have a chance to satisfy them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

MAX_SAFE_INTEGER = 2**53 - 1

URIS = {
    "draft-04": "http://json-schema.org/draft-04/schema#",
    "draft-06": "http://json-schema.org/draft-06/schema#",
    "draft-07": "http://json-schema.org/draft-07/schema#",
    "2019-09": "https://json-schema.org/draft/2019-09/schema",
    "2020-12": "https://json-schema.org/draft/2020-12/schema",
}
DIALECTS = tuple(URIS)
"""Oldest first."""

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
    """Schemas of a dialect, whose references lead to what `documents` adds."""
    return st.recursive(_leaf_schemas(dialect), lambda inner: _compound_schemas(inner, dialect), max_leaves=8)


@st.composite
def documents(draw: st.DrawFn, dialect: str) -> dict[str, Any]:
    """A whole schema whose references lead somewhere."""
    root = draw(schemas(dialect).filter(lambda each: isinstance(each, dict)))
    # Definitions refer to nothing, so that no reference comes back to itself.
    plain = _leaf_schemas(dialect, with_references=False)
    definitions = draw(st.fixed_dictionaries({"one": plain, "two": plain}))
    declared = {} if dialect == "2020-12" else {"$schema": URIS[dialect]}
    return {**declared, **root, _definitions(dialect): definitions}


def _definitions(dialect: str) -> str:
    return "$defs" if dialect in {"2019-09", "2020-12"} else "definitions"


def _is_since(dialect: str, first: str) -> bool:
    return DIALECTS.index(dialect) >= DIALECTS.index(first)


def _leaf_schemas(dialect: str, *, with_references: bool = True) -> st.SearchStrategy[Any]:
    small = st.integers(0, 3)
    types = st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])
    is_since_06 = _is_since(dialect, "draft-06")
    assertions = st.fixed_dictionaries(
        {},
        optional={
            "type": types | st.lists(types, min_size=1, max_size=2, unique=True),
            "enum": st.lists(plain_scalars, min_size=1, max_size=3, unique_by=repr),
            **({"const": plain_scalars, "exclusiveMaximum": small} if is_since_06 else {"maximum": small}),
            "minimum": small,
            "multipleOf": st.sampled_from([1, 2, 0.5]),
            "minLength": small,
            "maxLength": small,
            "pattern": st.sampled_from(["^a", "b$", "^(a+)+$"]),
            "minItems": small,
            "maxItems": small,
            "uniqueItems": st.booleans(),
            "minProperties": small,
            "maxProperties": small,
            "required": st.lists(names, min_size=0 if is_since_06 else 1, max_size=2, unique=True),
        },
    )
    some = assertions.map(lambda each: dict(list(each.items())[:3]))
    if not is_since_06:
        some = st.builds(_with_exclusive_bounds, some, st.sets(st.sampled_from(["Minimum", "Maximum"])))
    if not with_references:
        return some
    references = st.sampled_from(["one", "two"]).map(lambda each: {"$ref": f"#/{_definitions(dialect)}/{each}"})
    return some | references | st.booleans() if is_since_06 else some | references


def _with_exclusive_bounds(schema: dict[str, Any], bounds: set[str]) -> dict[str, Any]:
    return schema | {f"exclusive{each}": True for each in sorted(bounds) if each.lower() in schema}


def _compound_schemas(inner: st.SearchStrategy[Any], dialect: str) -> st.SearchStrategy[Any]:
    several = st.lists(inner, min_size=1, max_size=3)
    common = {
        "properties": st.dictionaries(names, inner, max_size=3),
        "patternProperties": st.dictionaries(st.sampled_from(["^a", "b"]), inner, max_size=2),
        "additionalProperties": inner,
        "allOf": several,
        "anyOf": several,
        "oneOf": several,
        "not": inner,
    }
    if _is_since(dialect, "draft-06"):
        common |= {"propertyNames": inner, "contains": inner}
    if _is_since(dialect, "draft-07"):
        common |= {"if": inner, "then": inner, "else": inner}
    # The reference implementation fails on `additionalItems` beside `items: true`.
    items = {"items": inner.filter(lambda each: isinstance(each, dict)) | several, "additionalItems": inner}
    needed = st.lists(names, min_size=0 if _is_since(dialect, "draft-06") else 1, max_size=2, unique=True)
    old = {
        **items,
        "dependencies": st.dictionaries(names, inner | needed, max_size=2),
        "$ref": st.just("#/definitions/one"),
    }
    new = {
        # Of 2019-09, the reference implementation gets `unevaluatedItems` wrong.
        **({"items": inner, "prefixItems": several, "unevaluatedItems": inner} if dialect == "2020-12" else items),
        "dependentSchemas": st.dictionaries(names, inner, max_size=2),
        "dependentRequired": st.dictionaries(names, st.lists(names, max_size=2, unique=True), max_size=2),
        "unevaluatedProperties": inner,
        "minContains": st.integers(0, 2),
        "maxContains": st.integers(0, 2),
    }
    return st.fixed_dictionaries({}, optional={**common, **(new if _is_since(dialect, "2019-09") else old)}).map(
        lambda each: dict(list(each.items())[-3:])
    )
