"""What is wrong with a value, in one sentence each: the place, what is allowed, what was found instead.

The sentences go to the model that made the value, and into logs. They never hold the value itself, which may be a
secret; they name its kind and size, and the property names in it. Everything else they show comes from the schema.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

import orjson
from jsonschema_rs import ValidationError, ValidationErrorKind, Validator

from toolcrib_core.schema.pointers import MISSING, look_up, pointer_from
from toolcrib_core.wording import MAX_SHOWN, count, either, kind_of, listed, nearest, quoted

_MAX_BRANCH_SENTENCES = 3

_NAMES: Final = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "an integer",
    "null": "null",
    "number": "a number",
    "object": "an object",
    "string": "a string",
}

Say: TypeAlias = "Callable[[ValidationError, Subject, Any], Sentence]"


@dataclass(frozen=True, kw_only=True)
class Violation:
    """One place where a value does not satisfy its schema."""

    pointer: str
    keyword: str
    message: str
    schema_pointer: str = ""
    expected: object = None
    did_you_mean: str | None = None

    def to_dict(self) -> dict[str, object]:
        """The violation as JSON, with the keys that travel on the wire."""
        data: dict[str, object] = {"pointer": self.pointer, "keyword": self.keyword, "message": self.message}
        data["schemaPointer"] = self.schema_pointer
        if self.expected is not None:
            data["expected"] = self.expected
        if self.did_you_mean is not None:
            data["didYouMean"] = self.did_you_mean
        return data


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What a sentence is about: the arguments or output of a tool, or a part of it."""

    what: str
    """`arguments`, `output` or another plain word for the whole value."""
    tool: str | None = None
    pointer: str = ""
    suggests: bool = True
    """Whether to look for the name or option that was meant, which costs up to 2 ms."""

    @property
    def place(self) -> str:
        """The part, as the first words of a sentence."""
        if self.pointer:
            return quoted(self.pointer)
        return f"The {self.what} of {quoted(self.tool)}" if self.tool else f"The {self.what}"

    @property
    def taker(self) -> str | None:
        """The tool that was called, if the sentence is about its arguments as a whole."""
        if self.pointer or self.what != "arguments":
            return None
        return quoted(self.tool) if self.tool else "The tool"


@dataclass(frozen=True, kw_only=True)
class Sentence:
    """The words for one violation, and what it says in data."""

    text: str
    expected: object = None
    did_you_mean: str | None = None


def describe(
    error: ValidationError, *, schema: Mapping[str, Any], what: str, tool: str | None = None, suggests: bool = True
) -> Violation:
    """The violation that an error of the validation engine stands for; `schema` is the whole schema it broke."""
    pointer = pointer_from(error.instance_path)
    sentence = _sentence(error, Subject(what=what, tool=tool, pointer=pointer, suggests=suggests), schema)
    return Violation(
        pointer=pointer,
        keyword=keyword_of(error),
        message=sentence.text,
        schema_pointer=pointer_from(error.schema_path),
        expected=sentence.expected,
        did_you_mean=sentence.did_you_mean,
    )


def first_error(engine: Validator, value: object) -> list[ValidationError]:
    """The first error alone: the engine finds all of them, each with a copy of its place, before it lists any."""
    try:
        engine.validate(value)
    except ValidationError as error:
        return [error]
    return []


def keyword_of(error: ValidationError) -> str:
    """The schema keyword that was broken; `false` where the schema is just `false`."""
    last = str(error.schema_path[-1]) if error.schema_path else ""
    match error.kind:
        case ValidationErrorKind.Required() | ValidationErrorKind.Contains():
            return last
        case ValidationErrorKind.FalseSchema():
            return last if last == "propertyNames" and not _is_property_name(error) else "false"
    return error.kind.name


def _sentence(error: ValidationError, about: Subject, schema: Mapping[str, Any]) -> Sentence:
    say = _SENTENCES.get(type(error.kind))
    if say is not None:
        return say(error, about, schema)
    return Sentence(text=f"{about.place} does not satisfy {quoted(keyword_of(error))}.")


def _type(error: ValidationError, about: Subject, _: Any) -> Sentence:
    types = error.kind.value
    allowed = either([_NAMES.get(each, each) for each in types])
    return Sentence(text=f"{about.place} must be {allowed}, not {kind_of(error.instance)}.", expected=types)


def _required(error: ValidationError, about: Subject, schema: Any) -> Sentence:
    missing = error.kind.value
    if keyword_of(error) == "dependentRequired":
        rules = look_up(schema, error.schema_path)
        present = [key for key, names in rules.items() if missing in names] if isinstance(rules, dict) else []
        given = [key for key in present if isinstance(error.instance, dict) and key in error.instance]
        return Sentence(
            text=f"{about.place} needs {quoted(missing)} wherever it has {listed(given)}.", expected=missing
        )
    if about.taker:
        return Sentence(text=f"{about.taker} needs the argument {quoted(missing)}, which is missing.", expected=missing)
    return Sentence(text=f"{about.place} needs {quoted(missing)}, which is missing.", expected=missing)


def _unknown_properties(error: ValidationError, about: Subject, schema: Any) -> Sentence:
    unknown: list[str] = error.kind.value
    allowed, patterns = _allowed_names(look_up(schema, error.schema_path[:-1]))
    one, many, verb = ("an argument", "arguments", "got") if about.taker else ("a property", "properties", "has")
    number = one if len(unknown) == 1 else f"{len(unknown)} {many}"
    text = f"{about.taker or about.place} {verb} {number} it does not know: {listed(unknown)}."
    meant = nearest(unknown[0], allowed) if about.suggests and len(unknown) == 1 else None
    if meant:
        text += f" Did you mean {quoted(meant)}?"
    if allowed:
        text += f" Allowed: {listed(allowed)}."
    if patterns:
        text += f" Also allowed: names that match {listed(patterns)}."
    return Sentence(text=text, expected=allowed[:MAX_SHOWN] or None, did_you_mean=meant)


def _allowed_names(schema: Any) -> tuple[list[str], list[str]]:
    if schema is MISSING or not isinstance(schema, dict):
        return [], []
    properties, patterns = schema.get("properties"), schema.get("patternProperties")
    return (list(properties) if isinstance(properties, dict) else []), (list(patterns) if patterns else [])


def _enum(error: ValidationError, about: Subject, _: Any) -> Sentence:
    options = error.kind.value
    texts = [each for each in options if isinstance(each, str)]
    meant = nearest(error.instance, texts) if about.suggests and isinstance(error.instance, str) else None
    suggestion = f" Did you mean {quoted(meant)}?" if meant else ""
    return Sentence(
        text=f"{about.place} must be one of {listed(map(_shown, options))}, not {_other(error.instance)}.{suggestion}",
        expected=options[:MAX_SHOWN],
        did_you_mean=meant,
    )


def _const(error: ValidationError, about: Subject, _: Any) -> Sentence:
    expected = error.kind.value
    return Sentence(text=f"{about.place} must be {quoted(_shown(expected))}.", expected=expected)


def _limit(words: str, noun: tuple[str, str] | None = None) -> Say:
    """A sentence about a bound: of the value itself, or of how many of something it has."""

    def say(error: ValidationError, about: Subject, _: Any) -> Sentence:
        limit = error.kind.value
        if noun is None:
            return Sentence(text=f"{about.place} must be {words} {limit}.", expected=limit)
        found = len(error.instance) if isinstance(error.instance, (str, list, dict)) else 0
        text = f"{about.place} must have {words} {count(limit, *noun)}, but has {found:,}."
        return Sentence(text=text, expected=limit)

    return say


def _multiple_of(error: ValidationError, about: Subject, _: Any) -> Sentence:
    step = error.kind.value
    return Sentence(text=f"{about.place} must be a multiple of {step}.", expected=step)


def _pattern(error: ValidationError, about: Subject, _: Any) -> Sentence:
    pattern = error.kind.value
    return Sentence(text=f"{about.place} must match the pattern {quoted(pattern)}.", expected=pattern)


def _unique_items(_: ValidationError, about: Subject, __: Any) -> Sentence:
    return Sentence(text=f"{about.place} must not hold the same item twice.")


def _contains(error: ValidationError, about: Subject, schema: Any) -> Sentence:
    holder = look_up(schema, error.schema_path[:-1])
    rules = holder if isinstance(holder, dict) else {}
    if keyword_of(error) == "maxContains":
        words = f"at most {count(rules.get('maxContains', 1), 'item')}"
    else:
        words = f"at least {count(rules.get('minContains', 1), 'item')}"
    return Sentence(text=f"{about.place} must hold {words} of the kind that its schema asks for.")


def _not(_: ValidationError, about: Subject, __: Any) -> Sentence:
    return Sentence(text=f"{about.place} is of a form that is excluded.")


def _false(error: ValidationError, about: Subject, _: Any) -> Sentence:
    if keyword_of(error) == "propertyNames":
        return Sentence(text=f"{about.place} must have no properties.")
    return Sentence(text=f"{about.place} must not be given.")


def _is_property_name(error: ValidationError) -> bool:
    """Whether the last key of the schema path is the name of a property and not a keyword."""
    return error.schema_path[-2:-1] == ["properties"] and error.instance_path[-1:] == error.schema_path[-1:]


def _unevaluated_items(error: ValidationError, about: Subject, _: Any) -> Sentence:
    extra = len(error.kind.value)
    return Sentence(text=f"{about.place} has {count(extra, 'item')} more than it may have.")


def _property_names(error: ValidationError, about: Subject, schema: Any) -> Sentence:
    inner: ValidationError = error.kind.value
    name = inner.instance if isinstance(inner.instance, str) else ""
    why = _sentence(inner, Subject(what="name"), schema).text
    return Sentence(text=f"{about.place} has the property name {quoted(name)}, which is not allowed. {why}")


def _no_branch(error: ValidationError, about: Subject, schema: Any) -> Sentence:
    branches: list[list[ValidationError]] = error.kind.value
    best = min(range(len(branches)), key=lambda at: _distance(branches[at], error))
    sentences = [_sentence(each, _inside(about, each), schema).text for each in branches[best][:_MAX_BRANCH_SENTENCES]]
    closest = f"The closest is form {best + 1}: {' '.join(sentences)}" if sentences else ""
    return Sentence(text=f"{about.place} fits none of its {len(branches)} allowed forms. {closest}".rstrip())


def _several_branches(error: ValidationError, about: Subject, _: Any) -> Sentence:
    branches = error.kind.value
    fitting = [str(at + 1) for at, errors in enumerate(branches) if not errors]
    return Sentence(
        text=f"{about.place} fits {len(fitting)} of its {len(branches)} allowed forms ({', '.join(fitting)}), "
        "and must fit exactly one."
    )


def _distance(branch: Sequence[ValidationError], parent: ValidationError) -> tuple[bool, int, int]:
    """How far a value is from a branch: another kind of value, then another variant, then the number of faults."""
    is_other_kind = any(
        isinstance(each.kind, ValidationErrorKind.Type) and each.instance_path == parent.instance_path
        for each in branch
    )
    variants = sum(isinstance(each.kind, ValidationErrorKind.Constant | ValidationErrorKind.Enum) for each in branch)
    return (is_other_kind, variants, len(branch))


def _inside(about: Subject, error: ValidationError) -> Subject:
    return replace(about, pointer=pointer_from(error.instance_path))


def _shown(value: object) -> str:
    return value if isinstance(value, str) and value else orjson.dumps(value).decode()


def _other(value: object) -> str:
    return "another one" if isinstance(value, str) else kind_of(value)


_ITEMS = ("item", "items")
_CHARACTERS = ("character", "characters")
_PROPERTIES = ("property", "properties")
_SENTENCES: Final[Mapping[type[ValidationErrorKind], Say]] = {
    ValidationErrorKind.AdditionalProperties: _unknown_properties,
    ValidationErrorKind.AnyOf: _no_branch,
    ValidationErrorKind.Constant: _const,
    ValidationErrorKind.Contains: _contains,
    ValidationErrorKind.Enum: _enum,
    ValidationErrorKind.ExclusiveMaximum: _limit("less than"),
    ValidationErrorKind.ExclusiveMinimum: _limit("greater than"),
    ValidationErrorKind.FalseSchema: _false,
    ValidationErrorKind.MaxItems: _limit("at most", _ITEMS),
    ValidationErrorKind.MaxLength: _limit("at most", _CHARACTERS),
    ValidationErrorKind.MaxProperties: _limit("at most", _PROPERTIES),
    ValidationErrorKind.Maximum: _limit("at most"),
    ValidationErrorKind.MinItems: _limit("at least", _ITEMS),
    ValidationErrorKind.MinLength: _limit("at least", _CHARACTERS),
    ValidationErrorKind.MinProperties: _limit("at least", _PROPERTIES),
    ValidationErrorKind.Minimum: _limit("at least"),
    ValidationErrorKind.MultipleOf: _multiple_of,
    ValidationErrorKind.Not: _not,
    ValidationErrorKind.OneOfMultipleValid: _several_branches,
    ValidationErrorKind.OneOfNotValid: _no_branch,
    ValidationErrorKind.Pattern: _pattern,
    ValidationErrorKind.PropertyNames: _property_names,
    ValidationErrorKind.Required: _required,
    ValidationErrorKind.Type: _type,
    ValidationErrorKind.UnevaluatedItems: _unevaluated_items,
    ValidationErrorKind.UnevaluatedProperties: _unknown_properties,
    ValidationErrorKind.UniqueItems: _unique_items,
}
