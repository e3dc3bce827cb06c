"""Validation of arguments and results against their schemas: compiled once, every violation at once, nothing fetched.

`format` is an annotation, as draft 2020-12 says; what must hold is said by `pattern`, `enum` and the like. Values are
never coerced: `"3"` is not 3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final, NamedTuple

from jsonschema_rs import ValidationError

from toolcrib_core.errors import ArgumentsTooLarge, InvalidArguments, InvalidOutput
from toolcrib_core.json_text import parse_json
from toolcrib_core.json_values import thaw
from toolcrib_core.schema.compiled import MAX_STEPS, CompiledSchema, Target, compile_schema
from toolcrib_core.schema.limits import INSTANCE_LIMITS, find_limit_fault, find_nul, is_small_json, measure_levels
from toolcrib_core.schema.messages import Violation, describe, first_error
from toolcrib_core.wording import kind_of, quoted

MAX_STEPS_TO_EXPLAIN: Final = 1_200_000
"""How many steps of about 50 ns it may take to say what is wrong. The engine finds all errors before it gives the
first, each with a copy of the value at its place and of the members of its `enum`."""

MAX_VIOLATIONS: Final = 1_000
"""How many violations an error lists at most."""

_MAX_IN_MESSAGE = 10
_MAX_SUGGESTIONS = 50


class Finding:
    """A violation that is put into words only when it is asked for: finding it costs less than describing it."""

    __slots__ = ("_case", "_found", "_suggests")

    def __init__(self, found: Violation | ValidationError, case: _Case, *, suggests: bool = True) -> None:
        self._found = found
        self._case = case
        self._suggests = suggests

    @property
    def violation(self) -> Violation:
        """All there is to say about it."""
        if not isinstance(self._found, Violation):
            case = self._case
            self._found = describe(
                self._found, schema=case.compiled.schema, what=case.what, tool=case.tool, suggests=self._suggests
            )
        return self._found

    @property
    def pointer(self) -> str:
        """The place in the value."""
        return self.violation.pointer

    @property
    def keyword(self) -> str:
        """The schema keyword that was broken."""
        return self.violation.keyword

    @property
    def message(self) -> str:
        """The sentence for the one who made the value."""
        return self.violation.message


def validate_arguments(target: Target, arguments: Mapping[str, Any] | str | bytes) -> dict[str, Any]:
    """The arguments, if a tool may be called with them.

    The target is a definition or a JSON Schema of any dialect since draft-04. Arguments given as JSON text are parsed
    strictly first. A NUL character is refused in an object as it is in JSON text.

    Raises:
        InvalidArguments: `details["violations"]` lists every place, what is allowed there and the likely meaning.
        ArgumentsTooLarge: The arguments are over a bound and were not validated.
        MalformedJson: The text is not JSON.
        SchemaError: The target is a schema that cannot be used.
    """
    compiled = compile_schema(target)
    value = arguments if type(arguments) is dict else _read(arguments)
    if isinstance(value, dict) and _takes(compiled, value, "arguments"):
        return value
    raise _invalid(_Case(compiled, value, "arguments", target))


def iter_violations(target: Target, arguments: Mapping[str, Any] | str | bytes) -> Iterator[Finding]:
    """Every violation of the arguments, at most a thousand.

    Raises:
        ArgumentsTooLarge: The arguments are over a bound and were not validated.
        MalformedJson: The text is not JSON.
        SchemaError: The target is a schema that cannot be used.
    """
    value = arguments if type(arguments) is dict else _read(arguments)
    return iter(_findings(_Case(compile_schema(target), value, "arguments", target)))


def is_valid(target: Target, arguments: Mapping[str, Any]) -> bool:
    """Whether a tool may be called with the arguments; those over a bound are not valid.

    Raises:
        SchemaError: The target is a schema that cannot be used.
    """
    return isinstance(arguments, dict) and _takes(compile_schema(target), arguments, "arguments")


def validate_value(schema: Mapping[str, Any], value: object, *, what: str = "value", tool: str | None = None) -> None:
    """Check any JSON value, such as the output of a tool; `what` is the plain word for it in messages.

    Raises:
        InvalidOutput: The value does not satisfy the schema, and is the `output` of a tool.
        InvalidArguments: The value does not satisfy the schema; the code is `toolbox.invalid-<what>`.
        ArgumentsTooLarge: The value is over a bound and was not validated.
        SchemaError: The schema cannot be used.
    """
    compiled = compile_schema(schema)
    if not _takes(compiled, value, what):
        raise _invalid(_Case(compiled, value, what, tool))


def _takes(compiled: CompiledSchema, value: object, what: str) -> bool:
    # A tool may answer with NUL; only what is sent to one is judged as JSON text is.
    return compiled.accepts(value) and (what != "arguments" or find_nul(value) is None)


class _Case(NamedTuple):
    """One value, what it must satisfy, and whose it is."""

    compiled: CompiledSchema
    value: object
    what: str
    owner: Target | str | None

    @property
    def tool(self) -> str | None:
        if self.owner is None or isinstance(self.owner, str):
            return self.owner
        return None if isinstance(self.owner, Mapping) else f"{self.owner.namespace}:{self.owner.name}"

    @property
    def name(self) -> str:
        return f"The {self.what} of {quoted(self.tool)}" if self.tool else f"The {self.what}"


def _read(arguments: object) -> Any:
    if isinstance(arguments, (str, bytes)):
        return parse_json(arguments)
    return thaw(dict(arguments)) if isinstance(arguments, Mapping) else arguments


def _findings(case: _Case) -> list[Finding]:
    is_small = is_small_json(case.value)
    refusal = _refusal(case, is_small=is_small)
    if refusal is not None:
        return [Finding(refusal, case)]
    engine, work = case.compiled.validator, case.compiled.work
    sizes = measure_levels(case.value)
    if work.steps_to_validate(sizes) > MAX_STEPS:
        raise _too_large(case, "with so many values, so deep, the schema would be applied too often")
    if work.steps_to_explain(sizes) <= MAX_STEPS_TO_EXPLAIN:
        errors = enumerate(islice(engine.iter_errors(case.value), MAX_VIOLATIONS))
        return [Finding(error, case, suggests=at < _MAX_SUGGESTIONS) for at, error in errors]
    if work.steps_to_explain_one(sizes) <= MAX_STEPS_TO_EXPLAIN:
        return [Finding(error, case) for error in first_error(engine, case.value)]
    if case.compiled.accepts(case.value):
        return []
    message = f"The schema of the {case.what} is not satisfied, and has too many alternatives to say where."
    return [Finding(Violation(pointer="", keyword="", message=message), case)]


def _refusal(case: _Case, *, is_small: bool) -> Violation | None:
    """The violation of a value that the engine is not asked about: one that is not JSON, or no object."""
    fault = None if is_small else find_limit_fault(case.value, INSTANCE_LIMITS)
    if fault is not None:
        if fault.over_limit:
            raise _too_large(case, f"at {quoted(fault.pointer or '/')} {fault.reason}")
        message = f"{quoted(fault.pointer or '/')} cannot be used: {fault.reason}."
        return Violation(pointer=fault.pointer, keyword="json", message=message)
    if case.what == "arguments" and not isinstance(case.value, dict):
        message = f"The arguments must be an object, not {kind_of(case.value)}."
        return Violation(pointer="", keyword="type", message=message, expected=["object"])
    place = find_nul(case.value) if case.what == "arguments" else None
    if place is not None:
        message = f"{quoted(place or '/')} cannot be used: it holds a NUL character."
        return Violation(pointer=place, keyword="json", message=message)
    return None


def _invalid(case: _Case) -> InvalidArguments | InvalidOutput:
    violations = sorted(
        (finding.violation for finding in _findings(case)),
        key=lambda each: (each.pointer, each.schema_pointer, each.message),
    )
    shown = " ".join(each.message for each in violations[:_MAX_IN_MESSAGE])
    more = len(violations) - _MAX_IN_MESSAGE
    message = f"{_opening(case, violations)}{shown}{f' And {more:,} more.' if more > 0 else ''}"
    details = {"violations": [each.to_dict() for each in violations]}
    if case.what == "output":
        return InvalidOutput(message, details=details)
    hint = "Correct every place listed, and nothing else."
    return InvalidArguments(message, code=f"toolbox.invalid-{case.what}", hint=hint, details=details)


def _opening(case: _Case, violations: list[Violation]) -> str:
    """The words before the sentences, where these alone would not say whose fault it is."""
    verb = "have" if case.what == "arguments" else "has"
    if len(violations) > 1:
        return f"{case.name} {verb} {len(violations):,} faults. "
    return f"{case.name} {verb} a fault. " if violations[0].pointer else ""


def _too_large(case: _Case, why: str) -> ArgumentsTooLarge:
    return ArgumentsTooLarge(
        f"{case.name} cannot be validated: {why}.",
        code=None if case.what == "arguments" else f"toolbox.{case.what}-too-large",
        hint="Send less at once.",
        details={
            "maxDepth": INSTANCE_LIMITS.max_depth,
            "maxNodes": INSTANCE_LIMITS.max_nodes,
            "maxBytes": INSTANCE_LIMITS.max_bytes,
        },
    )
