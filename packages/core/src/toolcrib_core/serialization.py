"""Definitions and registries as provider-neutral JSON, and back.

The bytes are the same in every process, for every hash seed, Python version and order of registration: keys are in a
fixed order, except that parameters stay in the order their author wrote them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypedDict, cast

import orjson

from toolcrib_core.definition import SCHEMA_VERSION, ToolDefinition, ToolKind
from toolcrib_core.errors import InvalidDefinition, MalformedJson
from toolcrib_core.json_text import parse_json
from toolcrib_core.json_values import JsonObject

if TYPE_CHECKING:
    from toolcrib_core.registry import RegistryView, ToolRegistry


class SerializedWarning(TypedDict):
    """One thing that the definition's source says and its schema cannot."""

    pointer: str
    feature: str
    message: str


class SerializationReport(TypedDict):
    """Whether anything was lost on the way to JSON Schema, and what."""

    lossy: bool
    warnings: list[SerializedWarning]


class _Required(TypedDict):
    schemaVersion: Literal["2020-12"]
    id: str
    namespace: str
    name: str
    description: str
    inputSchema: JsonObject
    tags: list[str]
    examples: list[str]
    inputExamples: list[JsonObject]
    kind: ToolKind
    risk: JsonObject
    lifecycle: JsonObject
    costHint: float
    metadata: JsonObject
    serialization: SerializationReport


class SerializedToolDefinition(_Required, total=False):
    """A definition as plain JSON; keys that are absent were never set."""

    version: str
    title: str
    outputSchema: JsonObject
    upstreamName: str


class SerializedRegistry(TypedDict):
    """All tools of a registry, ascending by id, and its aliases."""

    schemaVersion: Literal["2020-12"]
    tools: list[SerializedToolDefinition]
    aliases: dict[str, str]


def serialize_tool_definition(definition: ToolDefinition) -> SerializedToolDefinition:
    """The definition as plain JSON that the caller may change."""
    return cast("SerializedToolDefinition", orjson.loads(definition.wire_json))


def serialize_registry(registry: RegistryView) -> SerializedRegistry:
    """Every tool and alias of a registry as plain JSON."""
    return cast("SerializedRegistry", orjson.loads(registry_json(registry)))


def registry_json(registry: RegistryView) -> bytes:
    """`serialize_registry` as deterministic bytes."""
    snapshot = registry.snapshot()
    return orjson.dumps(
        {
            "schemaVersion": SCHEMA_VERSION,
            "tools": [orjson.Fragment(definition.wire_json) for definition in snapshot.list()],
            "aliases": snapshot.aliases(),
        }
    )


def deserialize_tool_definition(data: Mapping[str, Any] | str | bytes) -> ToolDefinition:
    """Read what `serialize_tool_definition` wrote, from the object or from its JSON text.

    Raises:
        InvalidDefinition: A key is unknown, missing or wrong, the schema version is another, or `id` is not the id of
            what the rest describes.
        MalformedJson: The text is not JSON.
        NotJson: The only fault is a value that is not JSON.
        SchemaError: The only fault is a schema that cannot be used.
    """
    fields = _as_object(data)
    _check_schema_version(fields)
    report = fields.pop("serialization", None) or {}
    stated_id = fields.pop("id", None)
    definition = ToolDefinition(**fields, lossy=_warnings_of(report))
    if stated_id is not None and stated_id != definition.id:
        raise InvalidDefinition(
            f"The definition says it is `{stated_id}`, but its content is that of `{definition.id}`.",
            hint="Leave `id` out, or serialize the definition again after changing it.",
        )
    return definition


def deserialize_registry(data: Mapping[str, Any] | str | bytes) -> ToolRegistry:
    """Read what `serialize_registry` wrote: all of it, or nothing.

    The order of registration is not written down, since the bytes must not depend on it; the tools count as registered
    in the order of their ids, which only matters between versions that are not SemVer.

    Raises:
        ToolError: What `deserialize_tool_definition`, `register` and `add_alias` raise.
    """
    from toolcrib_core.registry import create_registry  # the registry serializes itself through this module

    fields = _as_object(data)
    _check_schema_version(fields)
    unknown = sorted(set(fields) - {"tools", "aliases"})
    if unknown:
        raise InvalidDefinition(f"A serialized registry has no key `{unknown[0]}`.")
    tools = [deserialize_tool_definition(each) for each in fields.get("tools", [])]
    return create_registry(tools, aliases=fields.get("aliases"))


def _as_object(data: Mapping[str, Any] | str | bytes) -> dict[str, Any]:
    value = parse_json(data) if isinstance(data, str | bytes) else data
    if not isinstance(value, Mapping):
        raise MalformedJson("A serialized definition is a JSON object.")
    return dict(value)


def _check_schema_version(fields: dict[str, Any]) -> None:
    version = fields.pop("schemaVersion", SCHEMA_VERSION)
    if version != SCHEMA_VERSION:
        raise InvalidDefinition(
            f"`schemaVersion` is `{version}`.", hint=f"Only JSON Schema `{SCHEMA_VERSION}` can be read."
        )


def _warnings_of(report: object) -> Any:
    if not isinstance(report, Mapping) or set(report) - {"lossy", "warnings"}:
        raise InvalidDefinition("`serialization` must be an object with `lossy` and `warnings`.")
    return report.get("warnings", ())
