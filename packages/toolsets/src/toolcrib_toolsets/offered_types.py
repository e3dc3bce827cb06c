"""`ToolsetTypes`: the types that there are, and the switch of each that counts for everybody."""

from __future__ import annotations

import asyncio

from toolcrib_core import ToolDefinition
from toolcrib_store import Store
from toolcrib_toolsets.contract import AppToolsetConfig, ToolsetDefinition, ToolsetWithTools
from toolcrib_toolsets.scopes import Scopes, refuse_out_of_scope
from toolcrib_toolsets.switches import Switches
from toolcrib_toolsets.types.kinds import ToolsetKinds


class ToolsetTypes:
    """What a service offers, whoever asks."""

    def __init__(self, store: Store, kinds: ToolsetKinds) -> None:
        self.kinds = kinds
        self._switches = Switches(store)

    def list_toolset_types(self) -> list[ToolsetDefinition]:
        """All types, by name."""
        return [kind.definition for kind in self.kinds]

    def list_all_tool_definitions(self) -> list[ToolDefinition]:
        """The tools of all types that are known without an instance, by type."""
        return [tool for each in self.list_toolset_types() for tool in each.tools]

    def get_toolset_type(self, toolset_type: str) -> ToolsetDefinition | None:
        """A type, if there is one of that name."""
        kind = self.kinds.get(toolset_type)
        return None if kind is None else kind.definition

    def validate_toolset_type(self, toolset_type: str) -> None:
        """Take a type that there is.

        Raises:
            InvalidToolsetType: There is none of that name.
        """
        self.kinds.known(toolset_type)

    async def is_type_enabled(self, toolset_type: str) -> bool:
        """Whether a type is switched on for everybody; one that nobody has switched on is not.

        Raises:
            StoreError: The database failed.
        """
        config = await self.get_app_toolset_config(toolset_type)
        return config is not None and config.enabled

    async def get_app_toolset_config(self, toolset_id: str) -> AppToolsetConfig | None:
        """The switch of a type.

        Raises:
            StoreError: The database failed.
        """
        return await asyncio.to_thread(self._switches.get, toolset_id)

    async def set_app_toolset_enabled(
        self, toolset_id: str, *, enabled: bool, updated_by: str, scopes: Scopes = None
    ) -> AppToolsetConfig:
        """Switch a type on or off for everybody; calls under way end as they would.

        Raises:
            InvalidToolsetType: There is no such type.
            TypeOutOfScope: The access token does not reach it.
        """
        self.validate_toolset_type(toolset_id)
        refuse_out_of_scope(toolset_id, scopes)
        return await asyncio.to_thread(self._switches.move, toolset_id, enabled=enabled, by=updated_by)

    async def list_app_toolset_configs(self) -> list[AppToolsetConfig]:
        """The switches of all types that there are.

        Raises:
            StoreError: The database failed.
        """
        switches = await asyncio.to_thread(self._switches.all)
        return [each for name, each in switches.items() if self.kinds.get(name) is not None]

    async def list_types_with_tools(self) -> list[ToolsetWithTools]:
        """All types with their switches and tools, for administrators.

        Raises:
            StoreError: The database failed.
        """
        switches = await asyncio.to_thread(self._switches.all)
        return [
            ToolsetWithTools(
                toolset_id=each.toolset_id,
                name=each.name,
                description=each.description,
                app_enabled=each.toolset_id in switches and switches[each.toolset_id].enabled,
                tools=each.tools,
            )
            for each in self.list_toolset_types()
        ]
