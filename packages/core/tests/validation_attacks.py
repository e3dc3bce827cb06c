"""Schemas and arguments that once took seconds or gigabytes to validate, for tests and for bench/validation.py."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Final, TypeAlias

Attack: TypeAlias = tuple[str, dict[str, Any], dict[str, Any]]


def _wrong_texts(options: int) -> Attack:
    rule = {"items": {"enum": [f"value-{at}" for at in range(options)]}}
    return f"enum of {options:,}, 490 KB of wrong texts", {"properties": {"a": rule}}, {"a": ["wrong"] * 60_000}


def _numbers() -> Attack:
    rule = {"items": {"enum": list(range(200))}}
    return "enum of 200 numbers, 99,000 items", {"properties": {"a": rule}}, {"a": [199.0] * 99_000}


def _repetition(pattern: str) -> Attack:
    return f"`{pattern}`, 20 KB", {"properties": {"a": {"pattern": pattern}}}, {"a": "a" * 20_000 + "!"}


def _deep_alternatives() -> Attack:
    rule: dict[str, Any] = {"type": "string"}
    for _ in range(12):
        rule = {"anyOf": [rule, {"type": "null"}]}
    return "12 anyOf in each other, 90,000 items", {"properties": {"a": {"items": rule}}}, {"a": [1] * 90_000}


def _missing_names() -> Attack:
    schema = {"required": [f"k{at}" for at in range(2_000)]}
    return "2,000 missing names, 90,000 values", schema, {"a": list(range(90_000))}


def _copies_for_alternatives() -> Attack:
    schema = {"anyOf": [{"required": [f"k{at}"]} for at in range(200)]}
    return "200 alternatives, 90,000 values", schema, {"a": list(range(90_000))}


def _unique_items() -> Attack:
    return "900 times uniqueItems", {"properties": {"a": {"allOf": [{"uniqueItems": True}] * 900}}}, _numbers()[2]


def _similar_options() -> Attack:
    letters = "abcdefghijklmnopqrstuvwxyz" * 5
    options = ["".join(random.Random(at).sample(letters, 100)) for at in range(400)]
    schema = {"properties": {"a": {"items": {"enum": options}}}}
    return "400 similar options of 100 letters", schema, {"a": [options[0][1:]] * 1_000}


ATTACKS: Final[tuple[Callable[[], Attack], ...]] = (
    lambda: _wrong_texts(249),
    lambda: _wrong_texts(18_000),
    _numbers,
    lambda: _repetition("^((a{0,100}){0,100})*$"),
    lambda: _repetition(r"^(\w{0,60}-){0,60}$"),
    _deep_alternatives,
    _missing_names,
    _copies_for_alternatives,
    _unique_items,
    _similar_options,
)
