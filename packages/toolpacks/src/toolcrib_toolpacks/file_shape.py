"""Whether a document has the shape of a pack: every key known, every value of its kind, and all faults at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

import orjson
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails

from toolcrib_core.schema.pointers import MISSING, look_up
from toolcrib_core.wording import kind_of, listed, nearest, quoted
from toolcrib_toolpacks.model import Caps, EnvRules, Execution, Section, Templating, ToolpackFile
from toolcrib_toolpacks.yaml_reading import KeyPath


class ShapeFault(NamedTuple):
    """One thing that is wrong with the shape, at a path of the document."""

    path: KeyPath
    code: str
    message: str


class Parts(NamedTuple):
    """The parts of a pack that other checks look at; None for one that is not well formed."""

    whole: ToolpackFile | None
    execution: Execution | None
    caps: Caps | None
    env: EnvRules | None
    templating: Templating | None


_SECTIONS: Final[Mapping[str, Any]] = {
    "": ToolpackFile,
    "execution": Execution,
    "caps": Caps,
    "env": EnvRules,
    "templating": Templating,
}
_TYPES: Final = {
    "string_type": "text",
    "bool_type": "`true` or `false`",
    "int_type": "an integer",
    "int_from_float": "an integer",
    "float_type": "a number",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}
_PATTERNS: Final = {
    "id": ("bad-id", "must be dotted lower-case segments, as in `weather.forecast`; `_` and `-` may stand inside one"),
    "module": ("bad-module", "must name a function of a module, as in `package.module:function`"),
}
_KEY: Final = "[key]"


def check_shape(value: Mapping[str, Any]) -> tuple[Parts, list[ShapeFault]]:
    """The parts of a document that are well formed, and what is wrong with the others."""
    try:
        whole: ToolpackFile = _read("", value)
    except ValidationError as failure:
        faults = list(_faults(value, failure.errors(include_url=False, include_input=False)))
        return _sections(value), faults
    return Parts(whole, whole.execution, whole.caps, whole.env, whole.templating), []


@cache
def _adapter(name: str) -> TypeAdapter[Any]:
    return TypeAdapter(_SECTIONS[name])


def _read(name: str, value: object) -> Any:
    # As JSON text: strictness there lets a list be a tuple, and nothing be what it is not.
    return _adapter(name).validate_json(orjson.dumps(value), strict=True, by_alias=True, by_name=False)


def _sections(value: Mapping[str, Any]) -> Parts:
    found: dict[str, Any] = {}
    for name in ("execution", "caps", "env", "templating"):
        found[name] = _section(name, value.get(name, {}))
    return Parts(None, **found)


def _section(name: str, value: Any) -> Any:
    """A section, without the keys that do not belong there; None if that does not mend it."""
    try:
        return _read(name, value)
    except ValidationError as failure:
        errors = failure.errors(include_url=False, include_input=False)
    if any(each["type"] != "extra_forbidden" for each in errors):
        return None
    unknown = {each["loc"][-1] for each in errors}
    try:
        return _read(name, {key: each for key, each in value.items() if key not in unknown})
    except ValidationError:
        return None


def _faults(value: Mapping[str, Any], errors: Sequence[ErrorDetails]) -> Iterator[ShapeFault]:
    found = [(_path_of(each), each) for each in errors]
    # `timeout_ms` or `timoutMs` instead of `timeoutMs` is one mistake, not two.
    respelt = {
        (*path[:-1], _meant(str(path[-1]), _known_keys(value, path[:-1])))
        for path, each in found
        if each["type"] == "extra_forbidden"
    }
    for path, each in found:
        if each["type"] != "missing" or path not in respelt:
            shown = path[:-1] if path[-1] == _KEY else path
            yield ShapeFault(shown, *_described(value, path, each))


def _meant(key: str, known: Sequence[str]) -> str:
    """The key that another one stands for, as far as can be told."""
    return to_camel(key) if to_camel(key) in known else nearest(key, known) or key


def _path_of(error: ErrorDetails) -> KeyPath:
    loc = error["loc"]
    if error["type"].startswith("union_tag"):
        return (*loc, "kind")
    # The kind stands in the path of everything inside an execution.
    return (loc[0], *loc[2:]) if loc[0] == "execution" and len(loc) > 1 else loc


def _described(value: Mapping[str, Any], path: KeyPath, error: ErrorDetails) -> tuple[str, str]:
    kind, context = error["type"], error.get("ctx", {})
    say = _SENTENCES.get(kind)
    if say is not None:
        return say(value, path, context)
    if kind in _TYPES:
        return _wrong_type(value, path, _TYPES[kind])
    return "wrong-value", f"cannot be used: {error['msg'][:1].lower()}{error['msg'][1:]}."


def _wrong_type(value: Mapping[str, Any], path: KeyPath, wanted: str) -> tuple[str, str]:
    given = look_up(value, path)
    if path == ("version",) and isinstance(given, int | float) and not isinstance(given, bool):
        return "version-not-text", 'must be text; put it in quotes, as in `version: "1.10.0"`.'
    advice = " Leave the key out, or give it a value." if given is None else ""
    return "wrong-type", f"must be {wanted}, and is {kind_of(given)}.{advice}"


def _missing(_value: Mapping[str, Any], path: KeyPath, _context: Mapping[str, Any]) -> tuple[str, str]:
    return "missing-key", f"is missing; {'the file' if len(path) == 1 else quoted(str(path[-2]))} needs it."


def _unknown(value: Mapping[str, Any], path: KeyPath, _context: Mapping[str, Any]) -> tuple[str, str]:
    key, known = str(path[-1]), _known_keys(value, path[:-1])
    if key not in known and to_camel(key) in known:
        return "snake-case-key", f"is not a key here; keys are in camelCase: write {quoted(to_camel(key))}."
    meant = nearest(key, known)
    question = f" Did you mean {quoted(meant)}?" if meant else ""
    return "unknown-key", f"is not a key here.{question} Known are {listed(known)}."


def _kind(value: Mapping[str, Any], path: KeyPath, context: Mapping[str, Any]) -> tuple[str, str]:
    given = look_up(value, path)
    if not isinstance(given, str):
        return _no_kind(value, path, context)
    kinds = re.findall(r"'(\w+)'", str(context["expected_tags"]))
    meant = nearest(given, kinds)
    question = f" Did you mean {quoted(meant)}?" if meant else ""
    return "unknown-kind", f"{quoted(given)} is not a kind of execution.{question} Known are {listed(kinds)}."


def _no_kind(value: Mapping[str, Any], path: KeyPath, _context: Mapping[str, Any]) -> tuple[str, str]:
    given = look_up(value, path)
    if given is MISSING:
        return "missing-key", "is missing; it must be `python`, `node`, `php`, `cli` or `http`."
    return "wrong-type", f"must be text, and is {kind_of(given)}."


def _literal(value: Mapping[str, Any], path: KeyPath, context: Mapping[str, Any]) -> tuple[str, str]:
    options = re.findall(r"'([^']*)'", str(context["expected"]))
    given = look_up(value, path)
    if not isinstance(given, str):
        return "wrong-type", f"must be one of {listed(options)}, and is {kind_of(given)}."
    meant = nearest(given, options)
    question = f" Did you mean {quoted(meant)}?" if meant else ""
    return "unknown-value", f"{quoted(given)} is not one of {listed(options)}.{question}"


def _pattern(_value: Mapping[str, Any], path: KeyPath, _context: Mapping[str, Any]) -> tuple[str, str]:
    if path[0] == "env":
        name = path[-2] if path[-1] == _KEY else None
        which = f"{quoted(str(name))} is not the name of a variable: it" if name else "is the name of a variable, and"
        return "bad-variable", f"{which} must have upper-case letters, digits and `_` only, and not start with a digit."
    if path[-1] == _KEY:
        return "bad-header", f"{quoted(str(path[-2]))} is not the name of a header."
    code, message = _PATTERNS[str(path[-1])]
    return code, f"{message}."


def _bound(sentence: str) -> Callable[[Mapping[str, Any], KeyPath, Mapping[str, Any]], tuple[str, str]]:
    def say(_value: Mapping[str, Any], _path: KeyPath, context: Mapping[str, Any]) -> tuple[str, str]:
        limits = (context[key] for key in ("gt", "le", "min_length", "max_length") if key in context)
        return "out-of-bounds", sentence.format(next(limits))

    return say


def _known_keys(value: Mapping[str, Any], path: KeyPath) -> list[str]:
    """The keys of the section at a path."""
    model: Any = ToolpackFile
    if path[:1] == ("execution",):
        kind = look_up(value, ("execution", "kind"))
        model = next(each for each in _kinds() if kind in str(each.model_fields["kind"].annotation))
        path = path[1:]
    for key in path:
        if isinstance(key, str):
            model = _section_at(model, key)
    return [str(field.alias or name) for name, field in model.model_fields.items()]


def _section_at(model: type[BaseModel], key: str) -> type[BaseModel]:
    """The section that a key of another one holds, be it in a list or left out."""
    annotation: Any = next(each.annotation for each in model.model_fields.values() if each.alias == key)
    waiting = [annotation]
    while waiting:
        each = waiting.pop()
        if isinstance(each, type) and issubclass(each, BaseModel):
            return each
        waiting += getattr(each, "__args__", ())
    raise KeyError(key)


def _kinds() -> tuple[type[Section], ...]:
    kinds: tuple[type[Section], ...] = Execution.__origin__.__args__  # type: ignore[attr-defined]  # of an alias
    return kinds


_SENTENCES: Final[Mapping[str, Callable[[Mapping[str, Any], KeyPath, Mapping[str, Any]], tuple[str, str]]]] = {
    "missing": _missing,
    "extra_forbidden": _unknown,
    "union_tag_invalid": _kind,
    "union_tag_not_found": _no_kind,
    "literal_error": _literal,
    "string_pattern_mismatch": _pattern,
    "greater_than": _bound("must be a positive integer; it must be greater than {}."),
    "less_than_equal": _bound("is too large; at most {:,} is allowed."),
    "body_type": lambda *_: ("wrong-type", "must be a template, or a list of names of properties."),
    "string_too_short": _bound("must not be empty."),
    "string_too_long": _bound("is too long; at most {:,} characters are allowed."),
    "too_short": _bound("must not be empty."),
    "too_long": _bound("has too many items; at most {:,} are allowed."),
}
