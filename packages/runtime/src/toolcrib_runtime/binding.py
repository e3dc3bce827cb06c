"""How the arguments of a call reach the function behind a tool."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias, Union, Unpack, cast, get_args, get_origin

from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ArgsKwargs

from toolcrib_core import InvalidArguments, InvalidDefinition, ToolContext
from toolcrib_core.json_values import pointer_join
from toolcrib_core.signatures import FunctionSignature, read_signature
from toolcrib_core.wording import count, listed, quoted

Handler: TypeAlias = Callable[..., object]
"""A function that does a tool's work: plain or async, or a generator of chunks of either kind."""

Convert: TypeAlias = Callable[[dict[str, Any]], Mapping[str, Any]]

_PLAIN_TYPES = frozenset({Any, object, str, bool, None, type(None), list, dict})
_ALL_AT_ONCE = "arguments"


@dataclass(frozen=True, slots=True)
class Binding:
    """A handler, and how to call it with validated arguments."""

    handler: Handler
    context_parameters: tuple[str, ...] = ()
    convert: Convert | None = None
    """From JSON to the types that the handler asks for; None where JSON is what it asks for."""
    integers: tuple[str, ...] = ()
    """The parameters that JSON may fill with `5.0`, and that ask for 5."""

    def call(self, keywords: Mapping[str, Any], context: ToolContext | None) -> object:
        """Call the handler with what `keywords` gave."""
        if not self.context_parameters:
            return self.handler(**keywords)
        return self.handler(**keywords, **dict.fromkeys(self.context_parameters, context))

    def keywords(self, arguments: dict[str, Any]) -> Mapping[str, Any]:
        """The arguments in the handler's own types.

        Raises:
            InvalidArguments: These types refuse them.
        """
        return arguments if self.convert is None else self.convert(arguments)


def bind_function(function: Handler, *, name: str) -> Binding:
    """For a function whose parameters are the properties of the input schema."""
    signature = read_signature(function, name=name)
    integers = tuple(each.name for each in signature.parameters if _is_integer(each))
    others = [each for each in signature.parameters if each.name not in integers]
    if signature.keyword_dict is None and all(map(_is_plain_parameter, others)):
        return Binding(function, signature.context_parameters, integers=integers)
    return Binding(function, signature.context_parameters, _by_types(signature, name))


def bind_model(model: type, handler: Handler, *, name: str) -> Binding:
    """For a handler that takes the arguments as one object of this class."""
    signature = read_signature(handler, name=name)
    adapter: TypeAdapter[Any] = TypeAdapter(model)
    parameter = _only_parameter(signature, name)

    def convert(arguments: dict[str, Any]) -> Mapping[str, Any]:
        try:
            return {parameter: adapter.validate_python(arguments)}
        except ValidationError as failure:
            raise _refused(failure, name) from None

    return Binding(handler, signature.context_parameters, convert)


def bind_described(handler: Handler, *, name: str, properties: Mapping[str, object]) -> Binding:
    """For a handler beside a ready schema: by keyword, or all at once if its only parameter is called `arguments`."""
    parameters = _parameters(handler, name)
    context = tuple(each.name for each in parameters if _is_context(each, handler))
    others = [each for each in parameters if each.name not in context]
    if [each.name for each in others] == [_ALL_AT_ONCE] and _ALL_AT_ONCE not in properties:
        return Binding(handler, context, whole)
    if any(each.kind is inspect.Parameter.VAR_KEYWORD for each in others):
        return Binding(handler, context)
    names = [each.name for each in others]
    for each in properties:
        if each not in names:
            raise InvalidDefinition(
                f"The handler of {quoted(name)} has no parameter {quoted(each)}, which is a property of its schema.",
                hint="Name its parameters as the properties, or take them all as one `arguments`.",
            )
    return Binding(handler, context, _by_name(names, name))


def whole(arguments: dict[str, Any]) -> Mapping[str, Any]:
    """All arguments as one, for a handler whose only parameter is called `arguments`."""
    return {_ALL_AT_ONCE: arguments}


def _by_name(names: list[str], tool: str) -> Convert:
    """The arguments themselves, unless an open schema let one through that the handler does not take."""
    known = frozenset(names)

    def convert(arguments: dict[str, Any]) -> Mapping[str, Any]:
        if arguments.keys() <= known:
            return arguments
        unknown = listed(each for each in arguments if each not in known)
        message = f"{quoted(tool)} got an argument it does not know: {unknown}. Allowed: {listed(names)}."
        violation = {"pointer": "", "keyword": "additionalProperties", "message": message, "expected": names}
        raise InvalidArguments(message, hint="Leave out what it does not know.", details={"violations": [violation]})

    return convert


def _only_parameter(signature: FunctionSignature, name: str) -> str:
    needed = [each.name for each in signature.parameters if each.default is inspect.Parameter.empty]
    if len(needed) > 1 or not signature.parameters:
        raise InvalidDefinition(
            f"The handler of {quoted(name)} must take one object, and has {count(len(needed), 'open parameter')}.",
            hint="Give it one parameter for the object, and if it needs it one of type `RuntimeToolContext`.",
        )
    return needed[0] if needed else signature.parameters[0].name


def _parameters(handler: Handler, name: str) -> list[inspect.Parameter]:
    """What the handler can be called with, without what a partial has bound by name: that is the application's."""
    try:
        parameters = inspect.signature(handler).parameters.values()
    except (TypeError, ValueError):
        raise InvalidDefinition(
            f"The handler of {quoted(name)} has no signature that can be read.", hint="Wrap it in a Python function."
        ) from None
    bound = handler.keywords if isinstance(handler, functools.partial) else {}
    return [each for each in parameters if each.name not in bound]


def _is_context(parameter: inspect.Parameter, handler: Handler) -> bool:
    probe = types.FunctionType((lambda: None).__code__, _globals_of(handler))
    only = inspect.Signature([parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)])
    probe.__dict__["__signature__"] = only
    return bool(read_signature(probe, name="handler").context_parameters)


def _globals_of(handler: Any) -> dict[str, Any]:
    """Where the annotations of a function, a method, a partial or a callable object are to be looked up."""
    while isinstance(handler, functools.partial):
        handler = handler.func
    function = handler if inspect.isroutine(handler) else type(handler).__call__
    found: dict[str, Any] = getattr(inspect.unwrap(function), "__globals__", {})
    return found


def _is_integer(parameter: inspect.Parameter) -> bool:
    """Whether it is a plain `int`, or nothing: the one JSON type that has two spellings, 5 and 5.0."""
    parts = get_args(parameter.annotation) or (parameter.annotation,)
    is_union = get_origin(parameter.annotation) in {Union, types.UnionType, None}
    return is_union and int in parts and {int, type(None)}.issuperset(parts) and _has_plain_default(parameter)


def _has_plain_default(parameter: inspect.Parameter) -> bool:
    return not isinstance(parameter.default, FieldInfo)


def _is_plain_parameter(parameter: inspect.Parameter) -> bool:
    return _has_plain_default(parameter) and _is_plain(parameter.annotation)


def _is_plain(hint: Any) -> bool:
    """Whether a JSON value that satisfies the schema of the type is of the type already."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin in {Union, types.UnionType, list, dict}:
        return all(map(_is_plain, parts))
    if origin is Annotated:
        return _is_plain(parts[0]) and all(isinstance(each, str) for each in parts[1:])
    if origin is Literal:
        return all(isinstance(each, str | int | bool | None) for each in parts)
    return hint in _PLAIN_TYPES


def _by_types(signature: FunctionSignature, name: str) -> Convert:
    """Let pydantic read defaults, aliases and types, as it did for the schema."""

    def collect(**keywords: object) -> Mapping[str, Any]:
        return keywords

    parameters = list(signature.parameters)
    annotations = {each.name: each.annotation for each in parameters}
    if signature.keyword_dict is not None:
        unpack: Any = Unpack
        options = "_".join(("options", *annotations))  # no parameter has that name
        annotations[options] = unpack[signature.keyword_dict]
        parameters.append(inspect.Parameter(options, inspect.Parameter.VAR_KEYWORD, annotation=annotations[options]))
    collect.__dict__["__signature__"] = inspect.Signature(
        [each if each.kind is inspect.Parameter.VAR_KEYWORD else _keyword_only(each) for each in parameters]
    )
    collect.__annotations__ = annotations
    adapter: TypeAdapter[Any] = TypeAdapter(cast("Any", collect))
    validate = adapter.validator.validate_python

    def convert(arguments: dict[str, Any]) -> Mapping[str, Any]:
        try:
            converted: Mapping[str, Any] = validate(ArgsKwargs((), arguments))
        except ValidationError as failure:
            raise _refused(failure, name) from None
        return converted

    return convert


def _keyword_only(parameter: inspect.Parameter) -> inspect.Parameter:
    return parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)


def _refused(failure: ValidationError, name: str) -> InvalidArguments:
    found = failure.errors(include_url=False, include_input=False, include_context=False)
    violations = [
        {"pointer": functools.reduce(pointer_join, each["loc"], ""), "message": each["msg"]} for each in found
    ]
    places = "; ".join(f"`{each['pointer'] or '/'}`: {each['message']}" for each in violations)
    return InvalidArguments(
        f"The arguments of `{name}` are not usable: {places}.",
        hint="Correct every place listed, and nothing else.",
        details={"violations": violations},
    )
