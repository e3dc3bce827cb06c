"""JSON values: refused with the path, or frozen for good."""

from __future__ import annotations

import copy
import enum
import json
import pickle
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib_core.errors import NotJson
from toolcrib_core.json_values import FrozenDict, FrozenList, freeze, freeze_object, pointer_join, thaw

_CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\x00")
_scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(_CHARACTERS, max_size=8)
)
json_values = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(_CHARACTERS, max_size=6), inner, max_size=4),
    max_leaves=20,
)


class _Colour(enum.Enum):
    RED = "red"


def _cycle() -> dict[str, Any]:
    value: dict[str, Any] = {"a": []}
    value["a"].append(value)
    return value


def _deep(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.req("AR-6.3")
@given(json_values)
def test_a_frozen_value_equals_the_original_and_serializes_the_same(value: Any) -> None:
    frozen = freeze(value)

    assert frozen == value
    assert json.dumps(frozen) == json.dumps(value)
    assert thaw(frozen) == value


@pytest.mark.req("AR-6.3", "D1-0y")
@pytest.mark.parametrize(
    ("value", "pointer", "reason"),
    [
        ({"when": datetime(2026, 1, 1, tzinfo=UTC)}, "/when", "datetime"),
        ({"nested": {"value": {1, 2}}}, "/nested/value", "set"),
        ({"list": [0, b"x"]}, "/list/1", "bytes"),
        ({"n": float("nan")}, "/n", "nan"),
        ({"n": [float("-inf")]}, "/n/0", "-inf"),
        ({"n": 2**64}, "/n", "64 bits"),
        ({"a": {1: 2}}, "/a", "not text"),
        ({"t": "\ud800"}, "/t", "surrogate"),
        ({"\ud800": 1}, "", "surrogate"),
        ({"t": "a\x00b"}, "/t", "NUL"),
        ({"e": _Colour.RED}, "/e", "_Colour"),
        ({"f": print}, "/f", "builtin_function"),
        ({"a/b~c": {"x": object()}}, "/a~1b~0c/x", "object"),
        (_cycle(), "/a/0", "contains itself"),
        (_deep(300), "/0" * 200, "deeper than 200"),
        (_deep(100_000), "/0" * 200, "deeper than 200"),
    ],
)
def test_what_is_not_json_is_refused_with_its_path(value: Any, pointer: str, reason: str) -> None:
    with pytest.raises(NotJson) as caught:
        freeze(value, "metadata")

    assert caught.value.details["pointer"] == f"metadata{pointer}"
    assert reason in str(caught.value.details["reason"])


@pytest.mark.req("AR-6.3")
def test_the_same_part_used_twice_is_not_a_cycle() -> None:
    part = {"x": 1}

    assert freeze({"a": part, "b": [part, part]}) == {"a": part, "b": [part, part]}


@pytest.mark.req("AR-1.1")
def test_no_method_can_change_a_frozen_value() -> None:
    frozen = freeze({"a": [1, 2], "b": {}})
    changes = [
        lambda: frozen.__setitem__("a", 1),
        lambda: frozen.__delitem__("a"),
        lambda: frozen.update(x=1),
        lambda: frozen.pop("a"),
        lambda: frozen.popitem(),
        lambda: frozen.clear(),
        lambda: frozen.setdefault("z", 1),
        lambda: frozen.__ior__({"x": 1}),
        lambda: frozen["a"].append(3),
        lambda: frozen["a"].extend([3]),
        lambda: frozen["a"].insert(0, 3),
        lambda: frozen["a"].remove(1),
        lambda: frozen["a"].pop(),
        lambda: frozen["a"].clear(),
        lambda: frozen["a"].sort(),
        lambda: frozen["a"].reverse(),
        lambda: frozen["a"].__setitem__(0, 3),
        lambda: frozen["a"].__delitem__(0),
        lambda: frozen["a"].__iadd__([3]),
        lambda: frozen["a"].__imul__(2),
    ]

    for change in changes:
        with pytest.raises(TypeError, match="frozen"):
            change()
    assert frozen == {"a": [1, 2], "b": {}}


def test_frozen_values_hash_by_content_and_survive_copy_and_pickle() -> None:
    frozen = freeze({"a": [1, {"b": None}]})

    assert hash(frozen) == hash(freeze({"a": [1, {"b": None}]}))
    assert isinstance(copy.deepcopy(frozen), FrozenDict)
    revived = pickle.loads(pickle.dumps(frozen))
    assert (type(revived), type(revived["a"])) == (FrozenDict, FrozenList)
    assert orjson.dumps(revived) == orjson.dumps(frozen)


def test_an_object_is_required_where_one_is_asked_for() -> None:
    with pytest.raises(NotJson, match="expected an object"):
        freeze_object([1])  # type: ignore[arg-type]  # on purpose


def test_pointers_escape_slash_and_tilde() -> None:
    assert pointer_join("/a", "b/c~d") == "/a/b~1c~0d"
    assert pointer_join("", 0) == "/0"
