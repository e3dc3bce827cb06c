"""One tool made another: with arguments filled in, values looked at or changed, or tries repeated.

The functions given here run on the event loop: they must be quick, or async.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias, TypedDict, Unpack

from toolcrib_core import (
    InvalidArguments,
    InvalidDefinition,
    JsonValue,
    ToolDefinition,
    ToolRisk,
    define_tool,
    digest,
    validate_arguments,
)
from toolcrib_core.json_values import freeze_object, thaw
from toolcrib_core.wording import listed, nearest, quoted
from toolcrib_runtime.compose.building import Naming, StepWork, compose, need_tools
from toolcrib_runtime.compose.steps import Steps
from toolcrib_runtime.policy.retries import RetryPolicy
from toolcrib_runtime.runnable import RunnableTool

Effect: TypeAlias = Callable[[JsonValue], object | Awaitable[object]]
InputMapper: TypeAlias = Callable[[dict[str, Any]], Mapping[str, Any] | Awaitable[Mapping[str, Any]]]
OutputMapper: TypeAlias = Callable[[JsonValue], object | Awaitable[object]]

# What a schema says of one argument at a time. The rest (`allOf`, `dependentRequired`, `minProperties` …) may count on
# the bound ones, so it is left to the tool itself, which validates all arguments together.
_OF_SINGLE_ARGUMENTS: Final = frozenset(
    {"$schema", "$defs", "type", "properties", "required", "additionalProperties", "patternProperties"}
)


def bind(tool: RunnableTool, values: Mapping[str, JsonValue], **naming: Unpack[Naming]) -> RunnableTool:
    """The tool with some of its arguments filled in: they leave its schema, and no caller can give them.

    A digest of the values is part of the definition, so that an approval for one binding is none for another. A secret
    short enough to be guessed is therefore not to be bound: let the tool take it from `context.values`.

    Raises:
        InvalidDefinition: The tool has no such parameter.
        InvalidArguments: A value is not one that the parameter takes.
    """
    need_tools("bind", (tool,))
    bound = freeze_object(values, "values")
    takes = _without(tool, bound)

    async def work(arguments: dict[str, Any], steps: Steps) -> JsonValue:
        _refuse_bound(tool, bound, arguments)
        return await steps.run(1, {**arguments, **thaw(bound)})

    mark = digest({"tool": tool.definition.digest, "values": bound})[:16]
    return _wrap("bind", tool, work, naming, takes=takes, metadata={"bound": mark})


def tap(tool: RunnableTool, effect: Effect, *, risk: ToolRisk | None = None, **naming: Unpack[Naming]) -> RunnableTool:
    """The tool, with a copy of its value shown to an effect on the way; if the effect fails, the call fails.

    `risk` is what the effect adds to the risk of the tool.
    """
    need_tools("tap", (tool,))

    async def work(arguments: dict[str, Any], steps: Steps) -> JsonValue:
        value = await steps.run(1, arguments)
        await _awaited(effect(thaw(value)))
        return value

    return _wrap("tap", tool, work, naming, by=effect, added_risk=risk)


def retry(tool: RunnableTool, policy: RetryPolicy | None = None, **naming: Unpack[Naming]) -> RunnableTool:
    """The tool, tried again by this policy when it fails in a way that may pass, whatever its toolbox says.

    Raises:
        InvalidDefinition: The tool is neither idempotent nor free of effects: it must never run twice.
    """
    need_tools("retry", (tool,))
    if not tool.repeatable:
        raise InvalidDefinition(
            f"{quoted(tool.id)} may do its work twice if it is tried again.",
            hint='Declare `idempotent=True` or `effects="read"` if that is true of it.',
        )

    async def work(arguments: dict[str, Any], steps: Steps) -> JsonValue:
        return await steps.run(1, arguments)

    return _wrap("retry", tool.replace(retries=policy or RetryPolicy()), work, naming)


def map_input(
    tool: RunnableTool,
    mapper: InputMapper,
    *,
    input: type | Mapping[str, object] | None = None,  # noqa: A002  # what it is
    **naming: Unpack[Naming],
) -> RunnableTool:
    """The tool, with a function that changes its arguments first.

    `input` states what the function takes, as a model, a TypedDict, a dataclass or a JSON Schema; without it, what the
    tool takes is kept. The function gets plain JSON, and what it gives is validated as the tool's arguments.
    """
    need_tools("map_input", (tool,))

    async def work(arguments: dict[str, Any], steps: Steps) -> JsonValue:
        return await steps.run(1, await _awaited(mapper(arguments)))

    takes = tool.definition if input is None else define_tool(input, name=tool.name)
    return _wrap("map_input", tool, work, naming, takes=takes, by=mapper)


def map_output(
    tool: RunnableTool, mapper: OutputMapper, *, output: object = None, **naming: Unpack[Naming]
) -> RunnableTool:
    """The tool, with a function that changes its value.

    `output` states what the function gives, as a type or a JSON Schema; without it, what the tool gives is kept, and a
    value that is not that is an error. `{}` is a schema for any value.
    """
    need_tools("map_output", (tool,))

    async def work(arguments: dict[str, Any], steps: Steps) -> object:
        return await _awaited(mapper(await steps.run(1, arguments)))

    gives = tool.definition if output is None else define_tool({"type": "object"}, name=tool.name, output=output)
    return _wrap("map_output", tool, work, naming, gives=gives, by=mapper)


class _Differences(TypedDict, total=False):
    takes: ToolDefinition
    gives: ToolDefinition
    by: Callable[..., object]
    added_risk: ToolRisk | None
    metadata: Mapping[str, object]


def _wrap(
    verb: str, tool: RunnableTool, work: StepWork, naming: Naming, **differences: Unpack[_Differences]
) -> RunnableTool:
    """A tool that is still the same but for these differences."""
    differences.setdefault("takes", tool.definition)
    differences.setdefault("gives", tool.definition)
    return compose(
        verb,
        (tool,),
        work,
        naming=naming,
        description=tool.definition.description,
        like=tool.definition,
        timeout=tool.timeout,
        **differences,
    )


async def _awaited(value: object) -> object:
    return await value if inspect.isawaitable(value) else value


def _without(tool: RunnableTool, bound: Mapping[str, JsonValue]) -> ToolDefinition:
    """The definition without the bound arguments, which are checked here."""
    whole = tool.definition.input_schema
    schema = {key: value for key, value in whole.items() if key in _OF_SINGLE_ARGUMENTS and key != "required"}
    properties = schema.get("properties", {})
    _refuse_unknown(tool, bound, properties)
    validate_arguments(schema, bound)
    return tool.definition.replace(
        input_schema={
            **schema,
            "properties": {name: each for name, each in properties.items() if name not in bound},
            "required": [name for name in whole.get("required", ()) if name not in bound],
        },
        input_examples=(),
    )


def _refuse_unknown(tool: RunnableTool, bound: Mapping[str, JsonValue], properties: Mapping[str, object]) -> None:
    unknown = [name for name in bound if name not in properties]
    if unknown:
        meant = nearest(unknown[0], properties)
        known = f"It has {listed(properties)}." if properties else "It names none."
        raise InvalidDefinition(
            f"{quoted(tool.id)} has no parameter {listed(unknown)}.",
            hint=f"Did you mean {quoted(meant)}? {known}" if meant else known,
        )


def _refuse_bound(tool: RunnableTool, bound: Mapping[str, JsonValue], arguments: Mapping[str, Any]) -> None:
    given = [name for name in arguments if name in bound]
    if given:
        raise InvalidArguments(
            f"{quoted(tool.name)} has {listed(given)} filled in already, and it cannot be given.", hint="Leave it out."
        )
