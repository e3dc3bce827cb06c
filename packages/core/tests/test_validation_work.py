"""One validation takes bounded work, whatever the schema and the value; `bench/validation.py` measures the time."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from validation_attacks import ATTACKS, Attack

from toolcrib_core import ArgumentsTooLarge, InvalidArguments, SchemaTooComplex, validate_arguments
from toolcrib_core.schema.check import check_schema
from toolcrib_core.schema.compiled import MAX_STEPS, compile_schema
from toolcrib_core.schema.limits import measure_levels
from toolcrib_core.schema.patterns import pattern_size
from toolcrib_core.wording import nearest

_MEASURED = """
import resource, sys
sys.path.insert(0, sys.argv[1])
from validation_attacks import ATTACKS
from toolcrib_core import ToolError, validate_arguments
_, schema, arguments = ATTACKS[int(sys.argv[2])]()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    validate_arguments(schema, arguments)
except ToolError as error:
    print(error.code)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.fault("K1", "K2")
@pytest.mark.parametrize("at", range(len(ATTACKS)))
def test_an_attack_is_refused_within_64_megabytes(at: int) -> None:
    command = [sys.executable, "-c", _MEASURED, str(Path(__file__).parent), str(at)]

    code, megabytes = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()

    assert code in {"toolbox.invalid-arguments", "toolbox.arguments-too-large"}
    assert int(megabytes) <= 64


@pytest.mark.fault("K1")
@pytest.mark.parametrize("attack", [ATTACKS[0], ATTACKS[1], ATTACKS[6]])
def test_the_first_violation_is_named_where_all_of_them_would_take_too_long(attack: Callable[[], Attack]) -> None:
    _, schema, arguments = attack()

    try:
        validate_arguments(schema, arguments)
    except InvalidArguments as refusal:
        violations: Any = refusal.details["violations"]

    assert len(violations) == 1


@pytest.mark.fault("K2")
@pytest.mark.parametrize(
    ("rule", "value"),
    [
        ({"enum": [at / 2 for at in range(400)]}, [0.25] * 9_000),
        ({"enum": [{"k": [at] * 10} for at in range(100)]}, [{"k": [-1]}] * 9_000),
        ({"const": [0] * 5_000}, [[0] * 5] * 1_000),
        ({"pattern": "^(a|b)*a(a|b){400}$"}, ["ab" * 9] * 5_000),
        ({"propertyNames": {"pattern": "^(a|b)*a(a|b){400}$"}}, [{"ab" * 9: 1}] * 5_000),
        ({"patternProperties": {"^(a|b)*a(a|b){400}$": {}}}, [{"ab" * 9: 1}] * 5_000),
        ({"type": "number", "multipleOf": 0.01, "minimum": 0}, [0.5] * 99_000),
    ],
)
def test_what_makes_the_engine_slow_counts_as_work(rule: dict[str, Any], value: list[Any]) -> None:
    compiled = compile_schema({"items": rule})

    plain = compile_schema({"items": {"type": ["string", "number", "object", "array"]}})

    assert compiled.work.steps_to_validate(measure_levels(value)) > 10 * plain.work.steps_to_validate(
        measure_levels(value)
    )


@pytest.mark.fault("K2")
def test_work_for_one_byte_of_text_bounds_the_work_for_a_value() -> None:
    schema = {"items": {"enum": [1.5, {"a": 1}], "pattern": "^a{1,40}$"}, "uniqueItems": True, "required": ["a"]}
    value = [1.5, "aaa", {"a": [2.5, {"b": "é"}]}, [[[]]], None]
    work = compile_schema(schema).work

    encoded = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()

    assert work.steps_to_validate(measure_levels(value)) <= len(encoded) * work.steps_for_byte


@pytest.mark.fault("K2")
def test_large_values_of_ordinary_schemas_are_validated() -> None:
    schema = {
        "properties": {
            "rows": {"items": {"properties": {"id": {"type": "integer"}, "kind": {"enum": ["a", "b"]}}}},
            "file": {"type": "string", "pattern": "^[A-Za-z0-9+/]*={0,2}$"},
        }
    }

    assert compile_schema(schema).accepts({"rows": [{"id": at, "kind": "a"} for at in range(30_000)]})
    assert compile_schema(schema).accepts({"file": "QUJD" * 250_000})


@pytest.mark.fault("K2")
@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {f"p{at}": {"pattern": f"^x{at}"} for at in range(1_001)}},
        {"properties": {f"p{at}": {"pattern": rf"^\p{{L}}{{1,40}}{at}$"} for at in range(900)}},
    ],
)
def test_too_many_and_too_large_patterns_are_refused_at_registration(schema: dict[str, Any]) -> None:
    with pytest.raises(SchemaTooComplex, match="patterns take too long"):
        check_schema(schema)


@pytest.mark.fault("K2")
def test_a_value_that_takes_too_much_work_is_refused_with_what_to_do() -> None:
    _, schema, arguments = ATTACKS[3]()

    with pytest.raises(ArgumentsTooLarge) as caught:
        validate_arguments(schema, arguments)

    assert compile_schema(schema).work.steps_to_validate(measure_levels(arguments)) > MAX_STEPS
    assert caught.value.hint == "Send less at once."


@pytest.mark.fault("K2")
def test_a_pattern_has_a_size_that_grows_with_its_repetitions() -> None:
    small, large = pattern_size("^a{1,10}$"), pattern_size("^a{1,1000}$")

    assert small is not None
    assert large is not None
    assert small < large
    assert pattern_size(r"^((\p{L}{0,100}){0,100})*$") is None


@pytest.mark.fault("K2")
def test_looking_for_the_nearest_option_ends_after_a_bounded_number_of_comparisons() -> None:
    word = "x" * 100

    assert nearest(word, [*("y" * 100 for _ in range(100)), word + "z"]) is None
    assert nearest("forcast", [*(f"option-{at}" for at in range(100)), "forecast"]) == "forecast"
