"""Canonical JSON: byte for byte what RFC 8785 says, or refused."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum, StrEnum
from typing import Any
from uuid import UUID

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st
from json_strategies import MAX_SAFE_INTEGER, finite_floats, json_values, names, safe_integers, texts

from toolcrib_core.errors import NotJson
from toolcrib_core.json_values import freeze
from toolcrib_core.schema.canonical import MAX_CANONICAL_DEPTH, canonical_json, digest

UNICODE_NAMES = st.text(
    st.sampled_from(["a", "é", "\ud7ff", "\ue000", "\uffff", "\U00010000", "\U0010ffff"]), max_size=3
)


@dataclass
class Point:
    x: int = 1


class Colour(Enum):
    RED = "red"


class Mixed(str, Enum):  # noqa: UP042  # the older spelling, whose str() is not its value, is what is tested
    RED = "red"


class Level(StrEnum):
    LOW = "low"


def nested(levels: int) -> Any:
    value: Any = 0
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.req("AR-6.1")
@settings(max_examples=200)
@given(json_values())
def test_the_bytes_are_those_of_rfc_8785(value: Any) -> None:
    assert canonical_json(value) == rfc8785.dumps(value)


@pytest.mark.req("AR-6.1")
@settings(max_examples=100)
@given(json_values(texts | safe_integers | st.none(), UNICODE_NAMES))
def test_keys_are_ordered_by_their_utf_16_code_units(value: Any) -> None:
    assert canonical_json(value) == rfc8785.dumps(value)


@pytest.mark.req("AR-6.1")
@settings(max_examples=200)
@given(finite_floats)
def test_floats_are_written_as_javascript_writes_them(value: float) -> None:
    assert canonical_json({"a": value}) == rfc8785.dumps({"a": value})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, b"1"),
        (-0.0, b"0"),
        (1e21, b"1e+21"),
        (1e20, b"100000000000000000000"),
        (1e-7, b"1e-7"),
        (1e-6, b"0.000001"),
        (5e-324, b"5e-324"),
        (1.7976931348623157e308, b"1.7976931348623157e+308"),
        (-1234.5, b"-1234.5"),
        (MAX_SAFE_INTEGER, b"9007199254740991"),
        (-MAX_SAFE_INTEGER, b"-9007199254740991"),
    ],
)
def test_numbers_have_one_text(value: float, text: bytes) -> None:
    assert canonical_json(value) == text
    assert canonical_json([value]) == b"[" + text + b"]"


@pytest.mark.req("AR-6.1")
@settings(max_examples=50)
@given(st.dictionaries(texts, json_values(), max_size=5), st.randoms(use_true_random=False))
def test_the_order_of_keys_changes_nothing(value: dict[str, Any], random: Any) -> None:
    items = list(value.items())
    random.shuffle(items)

    assert canonical_json(dict(items)) == canonical_json(value)


@settings(max_examples=60)
@given(json_values(safe_integers | finite_floats | names, names))
def test_a_frozen_value_has_the_bytes_of_the_plain_one(value: Any) -> None:
    assert canonical_json(freeze(value)) == canonical_json(value)


@pytest.mark.parametrize(
    ("value", "same"),
    [
        ((1, (2.0,)), [1, [2]]),
        ([Colour.RED], ["red"]),
        ([Colour.RED, 0.5], ["red", 0.5]),
        ([Mixed.RED, 0.5], ["red", 0.5]),
        ({Level.LOW: 1, "x": 0.5}, {"low": 1, "x": 0.5}),
        ([True, False, None, 1], [True, False, None, 1]),
    ],
)
def test_tuples_count_as_lists_and_enum_members_as_their_values(value: Any, same: Any) -> None:
    assert canonical_json(value) == rfc8785.dumps(same)


@pytest.mark.req("AR-6.3")
@pytest.mark.parametrize(
    ("value", "pointer"),
    [
        ({"a": [1, float("nan")]}, "/a/1"),
        ({"a": float("inf")}, "/a"),
        ({"a": None, "b": -float("inf")}, "/b"),
        ({"n": MAX_SAFE_INTEGER + 1}, "/n"),
        ({"n": -MAX_SAFE_INTEGER - 1}, "/n"),
        ({"n": 10**400}, "/n"),
        ({"id": UUID(int=1)}, "/id"),
        ({"at": datetime(2026, 1, 1, tzinfo=UTC)}, "/at"),
        ({"p": Point()}, "/p"),
        ({"d": Decimal(1)}, "/d"),
        ({"s": {1}}, "/s"),
        ({"b": b"x"}, "/b"),
        ({"t": "\ud800"}, "/t"),
        ({"a~b": {"c/d": 1j}}, "/a~0b/c~1d"),
        ({"o": {1: 2}}, "/o"),
        ({"o": {Colour.RED: 2}}, "/o"),
        ({"o": {"\udfff": 2}}, "/o"),
        (float("nan"), ""),
        (UUID(int=1), ""),
    ],
)
def test_what_is_not_json_is_refused_with_its_place(value: Any, pointer: str) -> None:
    with pytest.raises(NotJson) as caught:
        canonical_json(value)

    assert caught.value.details["pointer"] == pointer


def test_the_exact_way_stops_at_the_same_depth_as_the_fast_one() -> None:
    deepest = nested(MAX_CANONICAL_DEPTH)

    assert canonical_json(deepest) == b"[" * MAX_CANONICAL_DEPTH + b"0" + b"]" * MAX_CANONICAL_DEPTH
    assert canonical_json([0.5, deepest[0]]).endswith(b"]" * MAX_CANONICAL_DEPTH)
    with pytest.raises(NotJson, match="deeper than 254"):
        canonical_json([deepest])
    with pytest.raises(NotJson, match="deeper than 254"):
        canonical_json([0.5, deepest])


def test_a_value_that_contains_itself_is_refused() -> None:
    value: dict[str, Any] = {}
    value["self"] = value

    with pytest.raises(NotJson, match="contains itself"):
        canonical_json(value)


def test_a_text_that_looks_like_a_uuid_or_a_float_is_text() -> None:
    value = {"id": "123e4567-e89b-42d3-a456-426614174000", "text": ":1.5,null,[2e5", "none": None}

    assert canonical_json(value) == rfc8785.dumps(value)


def test_the_digest_is_the_sha_256_of_the_canonical_bytes() -> None:
    value = {"b": [1.0, "é"], "a": None}

    assert digest(value) == hashlib.sha256(rfc8785.dumps(value)).hexdigest()


def test_a_digest_takes_integers_of_64_bits_digit_by_digit() -> None:
    digests = {digest({"maximum": bound, "a": 0.5}) for bound in (2**63 - 1, 2**63 - 2, 2**64 - 1, -(2**63))}

    assert len(digests) == 4
    with pytest.raises(NotJson, match="beyond -9223372036854775808"):
        digest({"maximum": 2**64})
    with pytest.raises(NotJson):
        canonical_json({"maximum": 2**63 - 1})


@pytest.mark.req("AR-6.1")
def test_every_tool_of_the_catalogues_has_the_bytes_of_rfc_8785(shared_catalog: list[dict[str, Any]]) -> None:
    different = [row["tool"]["name"] for row in shared_catalog if canonical_json(row) != rfc8785.dumps(row)]

    assert different == []


@pytest.mark.req("AR-6.1")
def test_the_digest_is_the_same_in_processes_with_other_hash_seeds() -> None:
    program = "from toolcrib_core.schema.canonical import digest; print(digest({'b': {'y': 1, 'x': 2.5}, 'a': ['é']}))"

    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }

    assert outputs == {digest({"a": ["é"], "b": {"x": 2.5, "y": 1}}) + "\n"}
