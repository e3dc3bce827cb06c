"""Looking into definitions and registries, for people and reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from toolcrib_core.definition import ToolDefinition
from toolcrib_core.errors import QueryError
from toolcrib_core.json_values import JsonObject, JsonValue
from toolcrib_core.serialization import serialize_tool_definition

if TYPE_CHECKING:
    from toolcrib_core.registry import RegistryView

InspectionLevel: TypeAlias = Literal["summary", "standard", "full"]

_LEVELS: tuple[InspectionLevel, ...] = ("summary", "standard", "full")


def inspect(subject: ToolDefinition | RegistryView, *, level: InspectionLevel = "standard") -> JsonObject:
    """What there is to know about a definition or a registry, as JSON the caller may keep and change.

    `summary` names the tool; `standard` adds its parameters, risk, lifecycle and digests; `full` adds everything that
    serialization writes. A registry gives its counts and each tool at that level.

    Raises:
        QueryError: The level is unknown.
    """
    if level not in _LEVELS:
        raise QueryError(f"`{level}` is not a level of inspection.", hint="Use `summary`, `standard` or `full`.")
    if isinstance(subject, ToolDefinition):
        return _inspect_definition(subject, level)
    definitions = subject.list()
    tools: list[JsonValue] = [_inspect_definition(definition, level) for definition in definitions]
    return {"counts": _counts(definitions), "tools": tools}


def _inspect_definition(definition: ToolDefinition, level: InspectionLevel) -> JsonObject:
    report: JsonObject = {
        "id": definition.id,
        "title": definition.title,
        "description": definition.description,
        "tags": list(definition.tags),
        "deprecated": definition.lifecycle.deprecated,
    }
    if level == "summary":
        return report
    report |= {
        "kind": definition.kind,
        "parameters": _parameters(definition.input_schema),
        "hasOutputSchema": definition.output_schema is not None,
        "risk": definition.risk.model_dump(mode="json", by_alias=True),
        "lifecycle": definition.lifecycle.model_dump(mode="json", by_alias=True, exclude_none=True),
        "digests": {"shape": definition.shape_digest, "prose": definition.prose_digest},
        "lossy": bool(definition.lossy),
    }
    if level == "full":
        serialized: Any = serialize_tool_definition(definition)
        report["definition"] = serialized
    return report


def _parameters(schema: dict[str, Any]) -> JsonObject:
    required = schema.get("required", [])
    return {
        name: {"type": _type_name(each), "required": name in required}
        for name, each in schema.get("properties", {}).items()
    }


def _type_name(schema: Any) -> str:
    if not isinstance(schema, dict):
        return "any" if schema else "nothing"
    stated = schema.get("type")
    if isinstance(stated, list):
        return " | ".join(stated)
    if stated is not None:
        return str(stated)
    if "enum" in schema or "const" in schema:
        return "enum"
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            return " | ".join(dict.fromkeys(_type_name(each) for each in schema[keyword]))
    return str(schema["$ref"]).rsplit("/", 1)[-1] if "$ref" in schema else "any"


def _counts(definitions: tuple[ToolDefinition, ...]) -> JsonObject:
    return {
        "tools": len(definitions),
        "namespaces": len({each.namespace for each in definitions}),
        "deprecated": sum(each.lifecycle.deprecated for each in definitions),
        "withOutputSchema": sum(each.output_schema is not None for each in definitions),
        "withTags": sum(bool(each.tags) for each in definitions),
        "lossy": sum(bool(each.lossy) for each in definitions),
    }
