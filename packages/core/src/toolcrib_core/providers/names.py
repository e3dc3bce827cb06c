"""The names of a set of tools on the wire of one vendor, and the way back to their definitions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import MappingProxyType

from toolcrib_core.definition import ToolDefinition
from toolcrib_core.errors import DuplicateTool, UnknownTool
from toolcrib_core.wire_names import MAX_WIRE_NAME_LENGTH, WireNames
from toolcrib_core.wording import quoted


class ToolNames:
    """Definitions by wire name, and wire names by id; see `WireNames` for how a name is made.

    Iterating gives the definitions in ascending order of their wire names: the order in which an adapter writes them,
    so that the bytes of a request do not depend on the order in which tools were registered.

    Raises:
        DuplicateTool: Two different definitions have the same id.
        WireNameCollision: Two ids have the same wire name.
        CatalogError: The prefix is not legal, or leaves too few characters for a name.
    """

    __slots__ = ("_by_id", "_names", "_order")

    def __init__(
        self, definitions: Iterable[ToolDefinition], *, max_length: int = MAX_WIRE_NAME_LENGTH, prefix: str = ""
    ) -> None:
        by_id: dict[str, ToolDefinition] = {}
        for each in definitions:
            if by_id.setdefault(each.id, each) != each:
                raise DuplicateTool(
                    f"{quoted(each.id)} is there twice, with different definitions.",
                    hint="Give one of them another namespace or version.",
                )
        self._names = WireNames(by_id, max_length=max_length, prefix=prefix)
        self._by_id = MappingProxyType(by_id)
        self._order = tuple(sorted(by_id, key=self._names.encode))

    def wire_name(self, tool: ToolDefinition | str) -> str:
        """The name of a definition or id on the wire.

        Raises:
            UnknownTool: The tool is not in the set; the hint has the nearest.
        """
        return self._names.encode(tool if isinstance(tool, str) else tool.id)

    def definition(self, wire_name: str) -> ToolDefinition:
        """The definition behind a name on the wire, given with or without the prefix.

        Raises:
            UnknownTool: No tool has that name; the hint has the nearest.
        """
        return self._by_id[self._names.decode(wire_name)]

    def by_id(self, tool_id: str) -> ToolDefinition:
        """The definition with that id.

        Raises:
            UnknownTool: The tool is not in the set.
        """
        found = self._by_id.get(tool_id)
        if found is None:
            raise UnknownTool(f"{quoted(tool_id)} is not among these tools.", hint="Export it with the others first.")
        return found

    def ids_of(self, tools: Iterable[ToolDefinition | str]) -> set[str]:
        """The ids of definitions or ids.

        Raises:
            UnknownTool: A tool is not in the set.
        """
        return {self.by_id(each if isinstance(each, str) else each.id).id for each in tools}

    def __iter__(self) -> Iterator[ToolDefinition]:
        return (self._by_id[each] for each in self._order)

    def __len__(self) -> int:
        return len(self._by_id)

    def __contains__(self, tool: object) -> bool:
        return (tool.id if isinstance(tool, ToolDefinition) else tool) in self._by_id
