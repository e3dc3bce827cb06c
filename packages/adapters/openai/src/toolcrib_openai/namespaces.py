"""Tools grouped by namespace, as the Responses API declares and calls them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Self

from toolcrib_core.definition import ToolDefinition
from toolcrib_core.errors import WireNameCollision
from toolcrib_core.identity import DEFAULT_NAMESPACE, ToolIdentity, format_tool_id
from toolcrib_core.json_values import JsonObject
from toolcrib_core.providers.names import ToolNames
from toolcrib_core.wire_names import WireNames
from toolcrib_core.wording import quoted


@dataclass(frozen=True, slots=True)
class Namespaces:
    """What each namespace is called on the wire, and which tool a name in it means; empty when tools stand alone.

    Tools of the namespace `default` stand alone in any case.
    """

    wire: Mapping[str, str] = field(default_factory=dict)
    """The name on the wire, by namespace."""
    descriptions: Mapping[str, str] = field(default_factory=dict)
    """What the model reads of it, by namespace."""
    of_tool: Mapping[str, str] = field(default_factory=dict)
    """The namespace of each tool, by tool id."""
    flat_names: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """The full wire name, by namespace on the wire and name in it."""

    @classmethod
    def of(cls, names: ToolNames, *, wanted: Mapping[str, str] | bool) -> Self:
        """The namespaces of these tools, if they are wanted.

        Raises:
            WireNameCollision: Two tools of one namespace have the same name in it.
        """
        if not wanted and not isinstance(wanted, Mapping):
            return cls()
        of_tool = {each.id: each.namespace for each in names if each.namespace != DEFAULT_NAMESPACE}
        spaces = sorted(set(of_tool.values()))
        ids = {each: format_tool_id(ToolIdentity(name=each)) for each in spaces}
        table = WireNames(ids.values())
        wire = {each: table.encode(ids[each]) for each in spaces}
        said = wanted if isinstance(wanted, Mapping) else {}
        made = cls(
            MappingProxyType(wire),
            MappingProxyType({each: said.get(each) or f"Tools of {each}." for each in spaces}),
            MappingProxyType(of_tool),
        )
        flat: dict[tuple[str, str], str] = {}
        for each in names:
            if each.id in of_tool:
                key = (wire[each.namespace], made.inner_name(each, names))
                if key in flat:
                    raise WireNameCollision(f"Two tools are called {quoted(key[1])} in {quoted(key[0])}.")
                flat[key] = names.wire_name(each)
        return cls(made.wire, made.descriptions, made.of_tool, MappingProxyType(flat))

    def inner_name(self, definition: ToolDefinition, names: ToolNames) -> str:
        """The name of a tool where it is declared: in its namespace, or alone."""
        name = names.wire_name(definition)
        space = self.of_tool.get(definition.id)
        return name if space is None else name.removeprefix(f"{self.wire[space]}__") or name

    def flat_name(self, namespace: str, name: str) -> str:
        """The full wire name of a tool that was called by its name in a namespace."""
        return self.flat_names.get((namespace, name), f"{namespace}__{name}" if namespace else name)

    def grouped(self, tools: Mapping[str, JsonObject]) -> list[JsonObject]:
        """The declared tools by id as a request has them: first those that stand alone, then the namespaces."""
        alone = [tool for tool_id, tool in tools.items() if tool_id not in self.of_tool]
        groups: dict[str, list[JsonObject]] = {}
        for tool_id, tool in tools.items():
            if tool_id in self.of_tool:
                groups.setdefault(self.of_tool[tool_id], []).append(tool)
        spaces: list[JsonObject] = [
            {
                "type": "namespace",
                "name": self.wire[space],
                "description": self.descriptions[space],
                "tools": [*groups[space]],
            }
            for space in sorted(groups, key=self.wire.__getitem__)
        ]
        return alone + spaces
