"""Definitions for the tests of the registry, made from an id."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from toolcrib_core.definition import ToolDefinition
from toolcrib_core.errors import ToolError
from toolcrib_core.registry import RegistryView


def tool(tool_id: str, *parameters: str, **fields: Any) -> ToolDefinition:
    """A definition with that identity and text parameters of these names."""
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in parameters}}
    return ToolDefinition(identity=tool_id, input_schema=schema, **fields)


def deprecated(tool_id: str, **lifecycle: Any) -> ToolDefinition:
    """A deprecated definition."""
    return tool(tool_id, lifecycle={"deprecated": True, **lifecycle})


def ids(definitions: tuple[ToolDefinition, ...]) -> list[str]:
    """The ids, in the order given."""
    return [definition.id for definition in definitions]


def contents(registry: RegistryView) -> tuple[object, ...]:
    """All that can be seen of a registry, to show that nothing changed."""
    return registry.revision, registry.list(), registry.aliases(), registry.in_order_of_registration()


def refused(kind: type[ToolError], action: Callable[[], object]) -> ToolError:
    """The error of exactly this kind that the action raises."""
    with pytest.raises(kind) as caught:
        action()
    assert type(caught.value) is kind
    return caught.value
