"""What a Python source says about a tool: its name, prose, input and output."""

from __future__ import annotations

import collections.abc
import dataclasses
import functools
import inspect
import re
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar, get_args, get_origin

from pydantic import BaseModel, Field, TypeAdapter
from pydantic.errors import PydanticErrorMixin, PydanticUndefinedAnnotation
from pydantic_core import CoreSchema, PydanticOmit, SchemaError

from toolcrib_core.definition import LossyFeature
from toolcrib_core.docstrings import ParsedDocstring, parse_docstring
from toolcrib_core.errors import InvalidDefinition
from toolcrib_core.json_values import thaw
from toolcrib_core.schema.generate import GeneratedSchema, generate_object_schema, generate_schema
from toolcrib_core.signatures import AnyFunction, FunctionSignature, is_typed_dict, read_signature, source_text

_CAMEL_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NO_VALUE = (None, type(None), Any, object, inspect.Signature.empty, typing.Never, typing.NoReturn)
_STREAMS = (
    collections.abc.AsyncGenerator,
    collections.abc.AsyncIterable,
    collections.abc.AsyncIterator,
    collections.abc.Generator,
    collections.abc.Iterator,
)
# All that pydantic raises while it reads a type: its own errors are RuntimeErrors, and constraints that do not fit a
# type come as TypeError or ValueError.
_UNREADABLE = (RuntimeError, TypeError, ValueError, NameError, SchemaError, PydanticOmit)
_HINTS = {
    "typed-dict-version": "Before Python 3.12, take `TypedDict` from `typing_extensions`.",
    "class-not-fully-defined": "Define the missing type at module level, then call `model_rebuild()`.",
}

_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What a source says about itself; a name or output that it does not have is None."""

    name: str | None
    input: GeneratedSchema
    output: GeneratedSchema | None = None
    title: str | None = None
    description: str = ""


def read_class(source: type) -> Reading:
    """Read a pydantic model class, a TypedDict or a dataclass as the arguments of a tool.

    Raises:
        InvalidDefinition: The class is none of these, or a type in it has no JSON form.
    """
    if not (issubclass(source, BaseModel) or dataclasses.is_dataclass(source) or is_typed_dict(source)):
        raise InvalidDefinition(
            f"The class `{source.__name__}` does not describe arguments.",
            hint="Use a pydantic model, a TypedDict or a dataclass, or pass a function or a bound method.",
        )
    generated = _generated(source, "validation", f"The class `{source.__name__}`")
    doc = parse_docstring(_own_docstring(source))
    schema = thaw(generated.schema)
    title = schema.pop("title", None)
    schema.pop("description", None)
    return Reading(
        name=_snake_case(source.__name__),
        title=title,
        description=doc.description,
        input=dataclasses.replace(generated, schema=_described(schema, doc.parameters)),
    )


def read_function(source: AnyFunction, *, name: str | None) -> Reading:
    """Read a function, a bound method, a callable object or a partial; `name` replaces its own.

    Raises:
        InvalidDefinition: It cannot be called by name, or a parameter's type has no JSON form.
    """
    own_name = _function_name(source)
    shown = name or own_name or "<lambda>"
    signature = read_signature(source, name=shown)
    doc = parse_docstring(_own_docstring(source))
    return Reading(
        name=own_name,
        description=doc.description,
        input=_read_parameters(signature, doc, shown),
        output=_read_return(signature.returns, doc),
    )


def read_output(output: object, *, name: str) -> GeneratedSchema:
    """Read a type, or a JSON Schema as it is, as the result of a tool.

    Raises:
        InvalidDefinition: The type has no JSON form.
    """
    if isinstance(output, Mapping):
        return GeneratedSchema(schema=output)
    return _generated(output, "serialization", _typed(f"The output of `{name}`", output))


def _read_parameters(signature: FunctionSignature, doc: ParsedDocstring, name: str) -> GeneratedSchema:
    parts: dict[str, object] = {}
    for each in signature.parameters:
        hint = _with_description(each.annotation, doc.parameters.get(each.name))
        call = _call_with(each.replace(annotation=hint, kind=inspect.Parameter.KEYWORD_ONLY))
        parts[_typed(f"Parameter `{each.name}` of `{name}`", each.annotation)] = call
    if signature.keyword_dict is not None:
        parts[_typed(f"A keyword of `{name}`", signature.keyword_dict)] = signature.keyword_dict
    cores = {subject: _core_schema(source, subject) for subject, source in parts.items()}
    try:
        generated = generate_object_schema(list(cores.values()))
    except _UNREADABLE as failure:
        culprits = (subject for subject, core in cores.items() if not _has_json_form(core))
        raise _refusal(failure, next(culprits, f"The arguments of `{name}`, of which one")) from None
    return dataclasses.replace(generated, schema=_described(thaw(generated.schema), doc.parameters))


def _read_return(hint: object, doc: ParsedDocstring) -> GeneratedSchema | None:
    if any(hint is each for each in _NO_VALUE) or get_origin(hint) in _STREAMS:
        return None
    try:
        generated = _generated(hint, "serialization", "The result")
    except InvalidDefinition:
        message = f"A result of type `{source_text(hint)}` has no JSON form; there is no output schema."
        return GeneratedSchema(schema={}, lossy=(LossyFeature(pointer="", feature="arbitrary-type", message=message),))
    if doc.returns and generated.schema and "description" not in generated.schema:
        return dataclasses.replace(generated, schema={**generated.schema, "description": doc.returns})
    return generated


def _generated(source: object, mode: typing.Literal["validation", "serialization"], subject: str) -> GeneratedSchema:
    core = _core_schema(source, subject)
    return _or_refuse(lambda: generate_schema(core, mode=mode), subject)


def _core_schema(source: Any, subject: str) -> CoreSchema:
    adapter: TypeAdapter[Any] = _or_refuse(lambda: TypeAdapter(source), subject)
    return _or_refuse(lambda: adapter.core_schema, subject)


def _has_json_form(core: CoreSchema) -> bool:
    try:
        generate_object_schema([core])
    except _UNREADABLE:
        return False
    return True


def _or_refuse(build: Callable[[], _T], subject: str) -> _T:
    try:
        return build()
    except _UNREADABLE as failure:
        raise _refusal(failure, subject) from None


def _refusal(failure: BaseException, subject: str) -> InvalidDefinition:
    code = failure.code if isinstance(failure, PydanticErrorMixin) else None
    if isinstance(failure, PydanticUndefinedAnnotation) or code == "class-not-fully-defined":
        problem = "refers to a type that is not defined"
    elif isinstance(failure, PydanticErrorMixin | PydanticOmit):
        problem = "has no JSON form"
    else:
        problem = "has a constraint that does not fit it"
    hint = _HINTS.get(code or "", "Use types that JSON can carry: text, numbers, booleans, lists, dicts, models.")
    return InvalidDefinition(f"{subject} {problem}.", hint=hint)


def _typed(what: str, hint: object) -> str:
    return f"{what} has type `{source_text(hint)}`, which"


def _call_with(parameter: inspect.Parameter) -> AnyFunction:
    """A function with this one parameter, so that pydantic reads defaults, aliases and fields as it does for any."""

    def call(**_: object) -> None: ...

    call.__dict__["__signature__"] = inspect.Signature([parameter])
    call.__annotations__ = {parameter.name: parameter.annotation}
    return call


def _with_description(hint: Any, documented: str | None) -> Any:
    metadata = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    said = (each if isinstance(each, str) else getattr(each, "documentation", None) for each in metadata)
    text = next((each for each in said if isinstance(each, str)), documented)
    if not text:
        return hint
    bare = get_args(hint)[0] if metadata else hint
    annotated: Any = Annotated
    # First, so that a description in the author's own `Field` wins.
    return annotated[(bare, Field(description=text), *metadata)]


def _described(schema: dict[str, Any], texts: Mapping[str, str]) -> dict[str, Any]:
    for name, each in schema.get("properties", {}).items():
        if name in texts and isinstance(each, dict):
            each.setdefault("description", texts[name])
    return schema


def _function_name(source: object) -> str | None:
    while isinstance(source, functools.partial):
        source = source.func
    name = getattr(source, "__name__", None) or _snake_case(type(source).__name__)
    return None if name == "<lambda>" else name


def _own_docstring(source: object) -> str | None:
    while isinstance(source, functools.partial):
        source = source.func
    if isinstance(source, type):
        text = source.__doc__
        generated = dataclasses.is_dataclass(source) and (text or "").startswith(f"{source.__name__}(")
        return None if generated else text
    if inspect.isroutine(source):
        return source.__doc__
    return type(source).__doc__ or type(source).__call__.__doc__


def _snake_case(name: str) -> str:
    return _CAMEL_HUMP.sub("_", name).lower()
