"""What schemas tell about tools that are put together: whether a value can fit, and what several take and give."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NoReturn

from toolcrib_core import InvalidDefinition, JsonObject, JsonValue, SchemaTooComplex, check_schema
from toolcrib_core.json_values import thaw
from toolcrib_core.schema.compare_facts import type_atoms
from toolcrib_core.schema.rebuilding import with_subschemas
from toolcrib_core.schema.subschemas import subschemas
from toolcrib_core.wording import either, quoted
from toolcrib_runtime.runnable import RunnableTool

# What is only said to a reader.
_PROSE: Final = frozenset({"title", "description", "examples", "deprecated", "$comment"})
# What means something else, or nothing, once the schema is part of another.
_TIED_TO_ITS_ROOT: Final = frozenset({"$ref", "$dynamicRef", "$id", "$anchor", "$dynamicAnchor", "$defs"})


def fed(value: JsonValue, tool: RunnableTool) -> JsonValue:
    """The arguments that a value becomes: an object as it is, anything else as the one parameter if there is one."""
    parameter = None if isinstance(value, dict) else _only_parameter(tool)
    return value if parameter is None else {parameter: value}


def known_to(tool: RunnableTool, arguments: JsonObject) -> JsonObject:
    """Those of the arguments that the tool takes; one that takes any gets them all."""
    if not _is_closed(tool.definition.input_schema):
        return dict(arguments)
    properties = tool.definition.input_schema.get("properties", {})
    return {name: value for name, value in arguments.items() if name in properties}


def same_meaning(one: Any, other: Any) -> bool:
    """Whether two schemas differ at most in what they say to a reader."""
    return bool(_without_prose(one) == _without_prose(other))


def refuse_misfit(before: RunnableTool, after: RunnableTool) -> None:
    """Refuse two tools of which the second can never take what the first gives.

    Raises:
        InvalidDefinition: It is known from their schemas; the message says why.
    """
    given, taken = before.definition.output_schema or {}, after.definition.input_schema
    types = _types(given)
    if types == frozenset({"object"}):
        for why in _object_misfits(given, taken):
            _refuse(before, after, why)
    elif types is not None and "object" not in types:
        parameter = _only_parameter(after)
        if parameter is None:
            _refuse(before, after, f"gives {_kinds(given)}, and the other does not have one parameter to take it")
        if _are_disjoint(given, taken.get("properties", {}).get(parameter)):
            _refuse(before, after, f"gives {_kinds(given)}, and {quoted(parameter)} takes another type")


def merged_input(tools: Sequence[RunnableTool]) -> dict[str, Any]:
    """The input schema of tools that get the same arguments, each those that it knows.

    What a schema says of its arguments together is left to the tool itself.

    Raises:
        InvalidDefinition: They mean different things by one parameter.
    """
    merged: dict[str, Any] = {"type": "object", "properties": {}, "required": [], "$defs": {}}
    for tool in tools:
        schema = thaw(tool.definition.input_schema)
        for part in ("properties", "$defs"):
            for name, meaning in schema.get(part, {}).items():
                if not same_meaning(merged[part].setdefault(name, meaning), meaning):
                    raise InvalidDefinition(
                        f"{quoted(name)} means something else in {quoted(tool.id)} than in the tools before it.",
                        hint="Rename it with `map_input(…, input=…)`.",
                    )
        merged["required"] += [name for name in schema.get("required", ()) if name not in merged["required"]]
    if all(_is_closed(tool.definition.input_schema) for tool in tools):
        merged["additionalProperties"] = False
    return {key: value for key, value in merged.items() if value or key != "$defs"}


def list_of_outputs(tools: Sequence[RunnableTool]) -> dict[str, Any]:
    """The output schema of the list of what these tools give; what cannot be said of an item is left open."""
    outputs = [tool.definition.output_schema or {} for tool in tools]
    items = [{} if _is_tied_to_its_root(each) else each for each in outputs]
    plain = {"type": "array", "minItems": len(items), "maxItems": len(items)}
    detailed = {**plain, "prefixItems": items}
    try:
        check_schema(detailed)
    except SchemaTooComplex:  # lists of lists of lists
        return plain
    return detailed


def refuse_unfed(first: RunnableTool, others: Sequence[RunnableTool]) -> None:
    """Refuse tools that need an argument which the first, whose arguments all of them get, does not have.

    Raises:
        InvalidDefinition: There is such an argument.
    """
    known = first.definition.input_schema
    for other in others:
        needed = other.definition.input_schema.get("required", ())
        missing = [name for name in needed if name not in known.get("properties", {})]
        if missing and _is_closed(known):
            raise InvalidDefinition(
                f"{quoted(other.id)} needs {quoted(missing[0])}, which {quoted(first.id)} does not take.",
                hint="Give both the same arguments with `map_input(…, input=…)`.",
            )


def _object_misfits(given: Mapping[str, Any], taken: Mapping[str, Any]) -> Iterator[str]:
    names, parameters = given.get("properties", {}), taken.get("properties", {})
    always, needed = given.get("required", ()), taken.get("required", ())
    for name in needed:
        if name not in names and _is_closed(given):
            yield f"never gives {quoted(name)}, which the other needs"
    for name in always:
        if name not in parameters and _is_closed(taken):
            yield f"gives {quoted(name)}, which the other does not take"
    for name in dict.fromkeys([*always, *needed]):
        if _are_disjoint(names.get(name), parameters.get(name)):
            yield f"gives {quoted(name)} as {_kinds(names[name])}, and the other takes another type"


def _refuse(before: RunnableTool, after: RunnableTool, why: str) -> NoReturn:
    raise InvalidDefinition(
        f"{quoted(before.id)} does not fit before {quoted(after.id)}: it {why}.",
        hint="Put `map_output` or `map_input` between the two.",
    )


def _only_parameter(tool: RunnableTool) -> str | None:
    properties = list(tool.definition.input_schema.get("properties", {}))
    required = list(tool.definition.input_schema.get("required", ()))
    return required[0] if len(required) == 1 else properties[0] if len(properties) == 1 else None


def _is_closed(schema: Mapping[str, Any]) -> bool:
    return schema.get("additionalProperties", True) is False and "patternProperties" not in schema


def _types(schema: object) -> frozenset[str] | None:
    """The types that a value may have; None where that is not simply said."""
    declared = schema.get("type") if isinstance(schema, Mapping) else None
    return None if declared is None else type_atoms(declared)


def _are_disjoint(one: object, other: object) -> bool:
    types, others = _types(one), _types(other)
    return types is not None and others is not None and types.isdisjoint(others)


def _kinds(schema: Mapping[str, Any]) -> str:
    declared = schema["type"]
    return f"a value of type {either([declared] if isinstance(declared, str) else declared)}"


def _without_prose(schema: Any) -> Any:
    if not isinstance(schema, Mapping):
        return schema
    bare = with_subschemas(schema, lambda inner, _: _without_prose(inner))
    return {key: value for key, value in bare.items() if key not in _PROSE}


def _is_tied_to_its_root(schema: object) -> bool:
    if not isinstance(schema, Mapping):
        return False
    return not _TIED_TO_ITS_ROOT.isdisjoint(schema) or any(_is_tied_to_its_root(each) for _, each in subschemas(schema))
