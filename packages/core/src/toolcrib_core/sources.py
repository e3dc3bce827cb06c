"""Tool definitions from Python: functions, pydantic models, TypedDicts, dataclasses, and JSON Schemas as they are."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from toolcrib_core.definition import LossyFeature, ToolDefinition, ToolKind, ToolLifecycle
from toolcrib_core.errors import InvalidDefinition
from toolcrib_core.identity import DEFAULT_NAMESPACE
from toolcrib_core.risk import ToolRisk
from toolcrib_core.schema.generate import GeneratedSchema
from toolcrib_core.source_readers import Reading, read_class, read_function, read_output

ToolSource: TypeAlias = Callable[..., object] | type | Mapping[str, object]
"""What a definition can be made from."""


def define_tool(
    source: ToolSource,
    *,
    name: str | None = None,
    namespace: str = DEFAULT_NAMESPACE,
    version: str | None = None,
    title: str | None = None,
    description: str | None = None,
    output: object = None,
    tags: Iterable[str] = (),
    examples: Iterable[str] = (),
    input_examples: Iterable[Mapping[str, object]] = (),
    kind: ToolKind = "tool",
    risk: ToolRisk | None = None,
    lifecycle: ToolLifecycle | None = None,
    cost_hint: float = 0.0,
    metadata: Mapping[str, object] | None = None,
    upstream_name: str | None = None,
) -> ToolDefinition:
    """Make a definition from a function, a model class, a TypedDict, a dataclass or a JSON Schema.

    What is not given comes from the source: the name (a class name in snake_case), the description (the docstring up
    to its first section), the descriptions of parameters (`Field(description=…)`, `Annotated[…, "text"]`, then the
    docstring) and, for a function, the output schema (its return annotation; `output=False` leaves it out).
    `output` is a type or a JSON Schema. A JSON Schema is taken as it is and needs a `name`.

    Of a function every parameter becomes a property, except those annotated with `ToolContext`, which the runtime
    fills in, and those bound by a `partial`; one without annotation takes any value. Objects refuse unknown properties
    unless the source says otherwise (`extra="allow"`, `extra_items=…`). What the schemas cannot say is listed in
    `lossy`, with pointers that start with `/inputSchema` or `/outputSchema`.

    Raises:
        InvalidDefinition: The source cannot be a tool, or a type has no JSON form; the message names the parameter.
        CatalogError: The definition breaks the contract, as `ToolDefinition` says.
    """
    reading = _read(source, name)
    final_name = name or reading.name or _refuse_nameless()
    result = _output(output, reading, final_name)
    return ToolDefinition(
        namespace=namespace,
        name=final_name,
        version=version,
        title=title or reading.title,
        description=reading.description if description is None else inspect.cleandoc(description),
        input_schema=reading.input.schema,
        output_schema=result.schema if result and result.schema else None,
        tags=tuple(tags),
        examples=tuple(examples),
        input_examples=tuple(input_examples),
        kind=kind,
        risk=risk or ToolRisk(),
        lifecycle=lifecycle or ToolLifecycle(),
        cost_hint=cost_hint,
        metadata=metadata or {},
        upstream_name=upstream_name,
        lossy=_located(reading.input, "/inputSchema") + _located(result, "/outputSchema"),
    )


def _read(source: ToolSource, name: str | None) -> Reading:
    if isinstance(source, Mapping):
        title, description = (
            text if isinstance(text := source.get(key), str) else "" for key in ("title", "description")
        )
        return Reading(name=None, input=GeneratedSchema(schema=source), title=title or None, description=description)
    if isinstance(source, type):
        return read_class(source)
    if callable(source):
        return read_function(source, name=name)
    raise InvalidDefinition(
        f"A value of type `{type(source).__name__}` cannot become a tool.",
        hint="Use a function, a pydantic model class, a TypedDict, a dataclass or a JSON Schema.",
    )


def _refuse_nameless() -> str:
    raise InvalidDefinition("The source has no name of its own.", hint="Pass `name=`.")


def _output(output: object, reading: Reading, name: str) -> GeneratedSchema | None:
    if output is None:
        return reading.output
    return None if output is False else read_output(output, name=name)


def _located(generated: GeneratedSchema | None, prefix: str) -> tuple[LossyFeature, ...]:
    found = generated.lossy if generated else ()
    return tuple(each.model_copy(update={"pointer": prefix + each.pointer}) for each in found)
