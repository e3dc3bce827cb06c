"""Definitions from tools that were written for one vendor."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from toolcrib_core.definition import ToolDefinition
from toolcrib_core.errors import InvalidDefinition
from toolcrib_core.identity import DEFAULT_NAMESPACE
from toolcrib_core.schema.relax import relax_patterns
from toolcrib_core.wording import kind_of


class ImportedTools(NamedTuple):
    """Definitions, and what their vendor's tools said that a definition has no place for."""

    definitions: tuple[ToolDefinition, ...]
    unsaid: tuple[str, ...] = ()
    """A sentence for each thing that was left out."""


def imported_definition(
    name: object,
    *,
    description: object = None,
    input_schema: object = None,
    output_schema: object = None,
    input_examples: Iterable[Mapping[str, Any]] = (),
    namespace: str | None = None,
) -> ToolDefinition:
    """The definition of a vendor's tool.

    Without a `namespace` it is what stands before the first `__` of the name, as in the names that are exported here;
    a name without one belongs to the namespace `default`. Patterns that cannot be matched in bounded time are left out,
    and `lossy` says so.

    Raises:
        InvalidDefinition: The name is missing or not text.
        CatalogError: The rest breaks the contract, as `ToolDefinition` says.
    """
    if not isinstance(name, str) or not name:
        raise InvalidDefinition(f"A tool needs a name, and this one has {kind_of(name)}.")
    before, joint, after = name.partition("__")
    # With a third underscore there is no telling on which side it belongs.
    is_split = namespace is None and bool(before and joint and after) and not after.startswith("_")
    schema, lossy = relax_patterns(_object(input_schema), pointer="/inputSchema")
    output, more = (
        (None, ()) if output_schema is None else relax_patterns(_object(output_schema), pointer="/outputSchema")
    )
    return ToolDefinition(
        namespace=before if is_split else namespace or DEFAULT_NAMESPACE,
        name=after if is_split else name,
        description=description if isinstance(description, str) else "",
        input_schema=schema or {"type": "object", "properties": {}},
        output_schema=output,
        input_examples=tuple(input_examples),
        lossy=(*lossy, *more),
    )


def _object(schema: object) -> Mapping[str, Any]:
    if schema is None or isinstance(schema, Mapping):
        return schema or {}
    raise InvalidDefinition(f"A schema is a JSON object, and this one is {kind_of(schema)}.")
