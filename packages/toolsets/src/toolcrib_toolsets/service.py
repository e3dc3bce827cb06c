"""`ToolsetService`: what users may do with their instances; checks come in order, and nothing after one that fails."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pydantic import JsonValue

from toolcrib_core import ToolDefinition, ToolError
from toolcrib_core.wording import quoted, shown
from toolcrib_runtime.guards.secrets import Secret
from toolcrib_store import Store
from toolcrib_toolsets.contract import (
    ApiKeyUpdate,
    AppToolsetConfig,
    SetApiKey,
    Toolset,
    ToolsetExecutionRequest,
    ToolsetExecutionResponse,
    ToolsetState,
    read_api_key,
)
from toolcrib_toolsets.errors import (
    ApiKeyRequired,
    InstanceDisabled,
    InstanceNameExists,
    InstanceNotConfigured,
    InstanceNotFound,
    InstanceNotOwned,
    ToolsetTypeDisabled,
)
from toolcrib_toolsets.hiding import without_key
from toolcrib_toolsets.method_calls import call_method, method_of
from toolcrib_toolsets.names import validate_toolset_description, validate_toolset_name
from toolcrib_toolsets.offered_types import ToolsetTypes
from toolcrib_toolsets.opened import OpenToolsets
from toolcrib_toolsets.rows import ToolsetRow, ToolsetRows, key_needed_again
from toolcrib_toolsets.scopes import Scopes, in_scope, refuse_out_of_scope
from toolcrib_toolsets.sealing import Sealing
from toolcrib_toolsets.types.kinds import Credentials, ToolsetKind, ToolsetKinds


class ToolsetService(ToolsetTypes):
    """Instances, their types and their calls, for any number of users. Close it at the end.

    A foreign instance is `InstanceNotOwned` here; a surface that others see tells it as `InstanceNotFound`.
    """

    def __init__(self, store: Store, sealer: Sealing, kinds: ToolsetKinds) -> None:
        super().__init__(store, kinds)
        self._store = store
        self._rows = ToolsetRows(store, sealer)
        self._opened = OpenToolsets()

    async def aclose(self) -> None:
        """Let go of all that is open for instances."""
        await self._opened.aclose()

    async def list_instances(self, user_id: str, *, scopes: Scopes = None) -> list[Toolset]:
        """The instances of a user that the access token reaches, by name.

        Raises:
            StoreError: The database failed.
        """
        rows = await asyncio.to_thread(self._rows.list_toolsets, user_id)
        return [row.toolset() for row in rows if in_scope(row.toolset_type, scopes)]

    async def get_instance(self, user_id: str, instance_id: str, *, scopes: Scopes = None) -> Toolset:
        """One instance of a user.

        Raises:
            InstanceNotFound: There is none.
            InstanceNotOwned: It is somebody else's.
            TypeOutOfScope: The access token does not reach its type.
        """
        return (await self._owned(user_id, instance_id, scopes)).toolset()

    async def list_states(self, user_id: str, *, scopes: Scopes = None) -> list[ToolsetState]:
        """The instances of a user that the access token reaches, by name, each with its state.

        Raises:
            StoreError: The database failed.
        """
        return await asyncio.to_thread(self._states, user_id, scopes)

    async def has_api_key(self, user_id: str, instance_id: str) -> bool:
        """Whether an instance of a user has a key; all that is ever told about it.

        Raises:
            InstanceNotFound: There is none.
            InstanceNotOwned: It is somebody else's.
        """
        return (await self._owned(user_id, instance_id)).has_api_key

    async def create_instance(
        self,
        user_id: str,
        toolset_type: str,
        name: str,
        *,
        description: str | None = None,
        enabled: bool = True,
        api_key: Secret | None = None,
        settings: Mapping[str, JsonValue] | None = None,
        scopes: Scopes = None,
    ) -> Toolset:
        """Make an instance: name, type, key and settings are checked, then whether the name is free.

        Raises:
            InvalidInstanceName: The name is none.
            InvalidDescription: The description is none.
            InvalidToolsetType: There is no such type.
            TypeOutOfScope: The access token does not reach it.
            ApiKeyRequired: The type needs a key.
            InvalidApiKey: The key is none.
            ToolsetError: The type cannot be set to that.
            InstanceNameExists: The user has one of this name.
        """
        validate_toolset_name(name)
        validate_toolset_description(description or "")
        kind = self.kinds.known(toolset_type)
        refuse_out_of_scope(toolset_type, scopes)
        if api_key is None and kind.definition.requires_api_key:
            raise ApiKeyRequired.of(subject=quoted(toolset_type))
        if api_key is not None:
            read_api_key(api_key.reveal())
        # In a thread: a long document is long to read, and everybody else would wait.
        checked = await asyncio.to_thread(kind.check_settings, settings or {})
        await self._refuse_taken(user_id, name)
        now = self._store.now()
        row = ToolsetRow(
            id=str(uuid.uuid4()),
            user_id=user_id,
            toolset_type=toolset_type,
            name=name,
            description=description,
            settings=checked,
            enabled=enabled,
            sealed=None,
            created_at=now,
            updated_at=now,
        )
        return (await asyncio.to_thread(self._rows.create_toolset, row, api_key)).toolset()

    async def update_instance(
        self,
        user_id: str,
        instance_id: str,
        *,
        name: str,
        description: str | None,
        enabled: bool,
        api_key: ApiKeyUpdate,
        settings: Mapping[str, JsonValue] | None = None,
        scopes: Scopes = None,
    ) -> Toolset:
        """Write all of an instance anew but its type and, unless it is set, its key; without `settings` those stay.

        Raises:
            InstanceNotFound: There is none.
            InstanceNotOwned: It is somebody else's.
            TypeOutOfScope: The access token does not reach its type.
            InvalidInstanceName: The name is none.
            InvalidDescription: The description is none.
            InstanceNameExists: The user has another one of this name.
            InvalidApiKey: The key is none.
            InvalidSettings: The settings are wrong.
            ApiKeyRequired: The key is kept, and the settings would send it to another host, header or parameter.
            SealingError: The key is kept for other settings, and cannot be opened.
        """
        row = await self._owned(user_id, instance_id, scopes)
        validate_toolset_name(name)
        validate_toolset_description(description or "")
        if name != row.name:
            await self._refuse_taken(user_id, name)
        if isinstance(api_key, SetApiKey) and api_key.value is not None:
            read_api_key(api_key.value.reveal())
        if settings is not None:
            kind = self.kinds.known(row.toolset_type)
            settings = await asyncio.to_thread(kind.check_settings, settings)
            if row.has_api_key and not isinstance(api_key, SetApiKey) and settings != row.settings:
                await asyncio.to_thread(_refuse_another_destination, kind, row, settings)
        now = self._store.now()
        changed = replace(row, name=name, description=description, enabled=enabled, updated_at=now)
        written = await asyncio.to_thread(self._rows.update_toolset, changed, api_key, settings=settings)
        if written is None:
            raise _not_found(instance_id)
        if not enabled or settings is not None or isinstance(api_key, SetApiKey):
            await self._opened.forget(instance_id)
        return written.toolset()

    async def delete_instance(self, user_id: str, instance_id: str, *, scopes: Scopes = None) -> None:
        """Delete an instance with its key.

        Raises:
            InstanceNotFound: There is none.
            InstanceNotOwned: It is somebody else's.
            TypeOutOfScope: The access token does not reach its type.
        """
        await self._owned(user_id, instance_id, scopes)
        if not await asyncio.to_thread(self._rows.delete_toolset, instance_id):
            raise _not_found(instance_id)
        await self._opened.forget(instance_id)

    async def instance_tool(
        self, user_id: str, instance_id: str, method: str, *, scopes: Scopes = None
    ) -> tuple[Toolset, ToolDefinition]:
        """An instance that could be called now, and the tool that one of its methods is.

        Raises:
            ToolsetError: As `execute_instance_tool`.
            SealingError: Its key cannot be opened.
        """
        row = await self._owned(user_id, instance_id, scopes)
        kind = await self._usable(row)
        async with self._opened.using(row, kind, await self._credentials(row, kind)) as toolbox:
            return row.toolset(), method_of(toolbox, method, instance=row.name)

    async def execute_instance_tool(
        self,
        user_id: str,
        instance_id: str,
        method: str,
        request: ToolsetExecutionRequest,
        *,
        scopes: Scopes = None,
    ) -> ToolsetExecutionResponse:
        """Call a method of an instance with its key. What the service behind it answers badly is in the response.

        Raises:
            InstanceNotFound: There is none.
            InstanceNotOwned: It is somebody else's.
            TypeOutOfScope: The access token does not reach its type.
            ToolsetTypeDisabled: Its type is switched off for everybody.
            InstanceDisabled: It is switched off.
            InstanceNotConfigured: It has no key, and needs one.
            SealingError: Its key cannot be opened.
            MethodNotFound: It has no such method.
        """
        row = await self._owned(user_id, instance_id, scopes)
        kind = await self._usable(row)
        credentials = await self._credentials(row, kind)
        async with self._opened.using(row, kind, credentials) as toolbox:
            answer = await call_method(toolbox, method, request.params, instance=row.name, owner=user_id)
        return without_key(answer, credentials.api_key)

    async def is_instance_available(self, user_id: str, instance_id: str) -> bool:
        """Whether an instance of the user could be called now: both switches on, and a key where one is needed.

        Raises:
            StoreError: The database failed.
        """
        row = await asyncio.to_thread(self._rows.get_toolset_by_id, instance_id)
        return row is not None and row.user_id == user_id and await self._is_available(row)

    async def available_instances(self, user_id: str, *, scopes: Scopes = None) -> list[Toolset]:
        """The instances of a user that could be called now, by name.

        Raises:
            StoreError: The database failed.
        """
        return [each.toolset for each in await self.list_states(user_id, scopes=scopes) if each.available]

    async def instance_tools(self, user_id: str, instance_id: str) -> Sequence[ToolDefinition]:
        """The tools of an instance, as `<instance>:<method>`; none where it cannot be called now.

        Raises:
            InstanceNotFound: There is none.
            InstanceNotOwned: It is somebody else's.
            ToolError: What it talks to cannot be asked for its tools.
        """
        row = await self._owned(user_id, instance_id)
        if not await self._is_available(row):
            return ()
        kind = self.kinds.known(row.toolset_type)
        async with self._opened.using(row, kind, await self._credentials(row, kind)) as toolbox:
            return tuple(each.model_copy(update={"namespace": row.name}) for each in toolbox.registry.list())

    async def _owned(self, user_id: str, instance_id: str, scopes: Scopes = None) -> ToolsetRow:
        row = await asyncio.to_thread(self._rows.get_toolset_by_id, instance_id)
        if row is None:
            raise _not_found(instance_id)
        if row.user_id != user_id:
            raise InstanceNotOwned.of()
        refuse_out_of_scope(row.toolset_type, scopes)
        return row

    async def _refuse_taken(self, user_id: str, name: str) -> None:
        if await asyncio.to_thread(self._rows.get_toolset_by_name, user_id, name) is not None:
            raise InstanceNameExists.of(name=shown(name))

    async def _usable(self, row: ToolsetRow) -> ToolsetKind:
        kind = self.kinds.known(row.toolset_type)
        if not await self.is_type_enabled(row.toolset_type):
            raise ToolsetTypeDisabled.of(subject=quoted(row.toolset_type))
        if not row.enabled:
            raise InstanceDisabled.of(subject=quoted(row.name))
        return kind

    async def _credentials(self, row: ToolsetRow, kind: ToolsetKind) -> Credentials:
        # In a thread: the seal covers the settings, which may be a long document.
        api_key = await asyncio.to_thread(self._rows.open_key, row)
        if api_key is None and kind.definition.requires_api_key:
            raise InstanceNotConfigured.of(subject=quoted(row.name))
        return Credentials(namespace=row.name, settings=row.settings, api_key=api_key)

    def _states(self, user_id: str, scopes: Scopes) -> list[ToolsetState]:
        switches = self._switches.all()
        return [
            ToolsetState(
                toolset=row.toolset(),
                has_api_key=row.has_api_key,
                available=self._could_be_called(row, switches.get(row.toolset_type)),
            )
            for row in self._rows.list_toolsets(user_id)
            if in_scope(row.toolset_type, scopes)
        ]

    async def _is_available(self, row: ToolsetRow) -> bool:
        return self._could_be_called(row, await self.get_app_toolset_config(row.toolset_type))

    def _could_be_called(self, row: ToolsetRow, switch: AppToolsetConfig | None) -> bool:
        kind = self.kinds.get(row.toolset_type)
        if kind is None or switch is None or not switch.enabled or not row.enabled:
            return False
        return row.has_api_key or not kind.definition.requires_api_key


def _refuse_another_destination(kind: ToolsetKind, row: ToolsetRow, settings: Mapping[str, JsonValue]) -> None:
    try:
        known = kind.key_destinations(row.settings)
    except ToolError:
        # What the key was given for can no longer be read.
        raise key_needed_again(row) from None
    if not kind.key_destinations(settings) <= known:
        raise key_needed_again(row)


def _not_found(instance_id: str) -> InstanceNotFound:
    return InstanceNotFound.of(id=shown(instance_id))
