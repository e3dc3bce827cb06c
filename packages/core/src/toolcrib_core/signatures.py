"""How a Python function can be called by name: its parameters, evaluated, without those the runtime fills in."""

from __future__ import annotations

import collections.abc
import functools
import inspect
import re
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias, TypeGuard, Union, get_args, get_origin

from toolcrib_core.context import ToolContext
from toolcrib_core.errors import InvalidDefinition

AnyFunction: TypeAlias = Callable[..., object]

_SHOWN_LENGTH = 80
_MODULE_PATH = re.compile(r"(?:[\w<>]+\.)+")
_AWAITABLES = (collections.abc.Awaitable, collections.abc.Coroutine)


@dataclass(frozen=True, kw_only=True)
class FunctionSignature:
    """What a caller may pass to a function, and what comes back."""

    parameters: tuple[inspect.Parameter, ...]
    """Every parameter a model may fill in, in the author's order; annotations are evaluated, a missing one is `Any`."""
    context_parameters: tuple[str, ...]
    """The parameters that take a `ToolContext`."""
    keyword_dict: type | None
    """The TypedDict of `**options: Unpack[Options]`."""
    returns: object
    """The evaluated return annotation without `Awaitable`; `inspect.Signature.empty` where there is none."""


def read_signature(function: AnyFunction, *, name: str) -> FunctionSignature:
    """Read a function, a bound method, a callable object or a partial; `name` is what errors call it.

    Values that a `functools.partial` binds are the application's: they are no parameters any more.

    Raises:
        InvalidDefinition: A parameter cannot be passed by name, or an annotation does not resolve.
    """
    open_parameters, returns = _open_parameters(function, name)
    namespace = getattr(_plain_function(function), "__globals__", {})
    parameters: list[inspect.Parameter] = []
    context: list[str] = []
    keyword_dict: type | None = None
    for parameter in open_parameters:
        hint = _evaluate(parameter.annotation, namespace, f"Parameter `{parameter.name}` of `{name}`")
        if _is_context(hint):
            context.append(parameter.name)
        elif parameter.kind is inspect.Parameter.VAR_KEYWORD:
            keyword_dict = _unpacked(hint, parameter, name)
        else:
            _refuse_if_positional(parameter, name)
            parameters.append(parameter.replace(annotation=hint))
    return FunctionSignature(
        parameters=tuple(parameters),
        context_parameters=tuple(context),
        keyword_dict=keyword_dict,
        returns=_returned(returns, namespace, name),
    )


def is_typed_dict(value: object) -> TypeGuard[type]:
    """Whether it is a TypedDict class, of `typing` or of `typing_extensions`."""
    return isinstance(value, type) and issubclass(value, dict) and hasattr(value, "__required_keys__")


def source_text(annotation: object) -> str:
    """An annotation as an author would write it, without module names, at most 80 characters."""
    text = _MODULE_PATH.sub("", inspect.formatannotation(annotation))
    return text if len(text) <= _SHOWN_LENGTH else f"{text[: _SHOWN_LENGTH - 1]}…"


def _open_parameters(function: AnyFunction, name: str) -> tuple[list[inspect.Parameter], object]:
    try:
        signature = inspect.signature(function)
    except (ValueError, NameError, TypeError):
        raise InvalidDefinition(
            f"The signature of `{name}` cannot be read.",
            hint="Wrap it in a Python function with annotated parameters whose types are defined at module level.",
        ) from None
    parameters = [each for each in signature.parameters.values() if each.name not in _bound_names(function)]
    first = parameters[0] if parameters else None
    if first is not None and first.name in {"self", "cls"} and first.annotation is inspect.Parameter.empty:
        raise InvalidDefinition(
            f"`{name}` is a method without its object: `{first.name}` is open.",
            hint="Pass the bound method, as in `define_tool(service.method)`.",
        )
    return parameters, signature.return_annotation


def _bound_names(function: object) -> set[str]:
    names: set[str] = set()
    while isinstance(function, functools.partial):
        names |= set(function.keywords)
        function = function.func
    return names


def _plain_function(function: object) -> object:
    while isinstance(function, functools.partial):
        function = function.func
    if not isinstance(function, types.FunctionType | types.MethodType):
        function = type(function).__call__ if callable(function) else function
    return inspect.unwrap(typing.cast("AnyFunction", getattr(function, "__func__", function)))


def _evaluate(annotation: object, namespace: dict[str, Any], where: str) -> object:
    if annotation is inspect.Parameter.empty:
        return Any

    def holder() -> None: ...

    holder.__annotations__ = {"it": annotation}
    try:
        return typing.get_type_hints(holder, globalns=namespace, include_extras=True)["it"]
    except NameError as failure:
        raise InvalidDefinition(
            f"{where} has a type that does not resolve: `{failure.name}`.",
            hint="Define or import it at module level, not inside a function and not under `if TYPE_CHECKING`.",
            details={"unresolved": failure.name},
        ) from None
    except (TypeError, SyntaxError, AttributeError):
        raise InvalidDefinition(
            f"{where} has an annotation that is not a type: `{str(annotation)[:_SHOWN_LENGTH]}`.",
            hint="Annotate it with a type.",
        ) from None


def _is_context(hint: object) -> bool:
    if get_origin(hint) in {Union, types.UnionType}:
        return any(map(_is_context, get_args(hint)))
    if get_origin(hint) is Annotated:
        return _is_context(get_args(hint)[0])
    return isinstance(hint, type) and issubclass(hint, ToolContext)


def _unpacked(hint: object, parameter: inspect.Parameter, name: str) -> type:
    # Before Python 3.12 `typing` and `typing_extensions` each have an `Unpack` and a TypedDict of their own.
    if repr(get_origin(hint)).endswith(".Unpack") and is_typed_dict(inner := get_args(hint)[0]):
        return inner
    raise InvalidDefinition(
        f"`{name}` takes any keyword through `**{parameter.name}`, so its arguments cannot be described.",
        hint=f"Name the parameters, write `**{parameter.name}: Unpack[SomeTypedDict]`, or take one `dict`.",
        details={"parameter": parameter.name},
    )


def _refuse_if_positional(parameter: inspect.Parameter, name: str) -> None:
    if parameter.kind in {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.POSITIONAL_ONLY}:
        variadic = parameter.kind is inspect.Parameter.VAR_POSITIONAL
        shown = f"*{parameter.name}" if variadic else parameter.name
        raise InvalidDefinition(
            f"Parameter `{shown}` of `{name}` can only be passed by position; a tool gets its arguments by name.",
            hint=f"Make it a list, as in `{parameter.name}: list[…]`." if variadic else "Remove the `/`.",
            details={"parameter": parameter.name},
        )


def _returned(annotation: object, namespace: dict[str, Any], name: str) -> object:
    if annotation is inspect.Signature.empty:
        return annotation
    hint = _evaluate(annotation, namespace, f"The result of `{name}`")
    return get_args(hint)[-1] if get_origin(hint) in _AWAITABLES else hint
