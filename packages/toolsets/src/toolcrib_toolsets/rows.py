"""Instances in the database: one row each, its key sealed. Nobody is asked here whether they may."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final, cast

import orjson
from pydantic import JsonValue
from sqlalchemy import Connection, Row, delete, insert, select, update

from toolcrib_core.wording import quoted, shown
from toolcrib_runtime.guards.secrets import Secret
from toolcrib_store import Store
from toolcrib_toolsets.contract import ApiKeyUpdate, KeepApiKey, Toolset
from toolcrib_toolsets.errors import ApiKeyRequired, InstanceNameExists, InvalidSettings, UnknownKeyId, WrongMasterKey
from toolcrib_toolsets.sealing import Place, Sealed, Sealing
from toolcrib_toolsets.tables import MASTER_KEYS, RETIRED, TOOLSETS

_START_AGAIN: Final = "Start again with the master key that the database is sealed under now."


@dataclass(frozen=True, kw_only=True)
class ToolsetRow:
    """An instance as it is kept."""

    id: str
    user_id: str
    toolset_type: str
    name: str
    description: str | None
    settings: Mapping[str, JsonValue]
    enabled: bool
    sealed: Sealed | None
    created_at: float
    updated_at: float

    @property
    def has_api_key(self) -> bool:
        """Whether there is a key."""
        return self.sealed is not None

    @property
    def place(self) -> Place:
        """Where its sealed key belongs.

        Raises:
            InvalidSettings: What it is set to cannot be kept.
        """
        return Place(
            row=self.id,
            owner=self.user_id,
            toolset_type=self.toolset_type,
            settings=hashlib.sha256(_json(self.settings, option=orjson.OPT_SORT_KEYS)).hexdigest(),
        )

    def toolset(self) -> Toolset:
        """What may be told of it."""
        return Toolset(
            id=self.id,
            name=self.name,
            toolset_type=self.toolset_type,
            description=self.description,
            enabled=self.enabled,
            created_at=_moment(self.created_at),
            updated_at=_moment(self.updated_at),
        )


class ToolsetRows:
    """Reads and writes instances."""

    def __init__(self, store: Store, sealer: Sealing) -> None:
        self._store = store
        self._sealer = sealer

    def get_toolset_by_id(self, toolset_id: str) -> ToolsetRow | None:
        """The instance with an id, whoever owns it.

        Raises:
            StoreError: The database failed.
        """
        # PostgreSQL keeps no NUL, and does not even look for one.
        return None if "\x00" in toolset_id else self._one(TOOLSETS.c.id == toolset_id)

    def get_toolset_by_name(self, user_id: str, name: str) -> ToolsetRow | None:
        """The instance of a user by its name; case counts.

        Raises:
            StoreError: The database failed.
        """
        return self._one(TOOLSETS.c.user_id == user_id, TOOLSETS.c.name == name)

    def list_toolsets(self, user_id: str) -> list[ToolsetRow]:
        """All instances of a user, by name.

        Raises:
            StoreError: The database failed.
        """
        return self._all(TOOLSETS.c.user_id == user_id)

    def list_toolsets_by_type(self, user_id: str, toolset_type: str) -> list[ToolsetRow]:
        """The instances of a user that are of a type, by name.

        Raises:
            StoreError: The database failed.
        """
        return self._all(TOOLSETS.c.user_id == user_id, TOOLSETS.c.toolset_type == toolset_type)

    def create_toolset(self, row: ToolsetRow, api_key: Secret | None) -> ToolsetRow:
        """Insert an instance with its key; never replaces one.

        Raises:
            InstanceNameExists: The user has one of this name.
            InvalidSettings: What it is set to cannot be kept.
            WrongMasterKey: The master key is no longer that of the database.
            StoreError: The database failed.
        """
        sealed = None if api_key is None else self._sealer.seal(api_key, row.place)
        made = replace(row, sealed=sealed)
        with self._store.writing() as connection:
            _refuse_retired(connection, sealed)
            _refuse_taken(connection, made)
            connection.execute(insert(TOOLSETS).values(id=made.id, created_at=made.created_at, **_columns(made)))
        return made

    def update_toolset(
        self, row: ToolsetRow, api_key: ApiKeyUpdate, *, settings: Mapping[str, JsonValue] | None = None
    ) -> ToolsetRow | None:
        """Write all fields of an instance but its owner, type and day of birth; nothing where it is gone.

        Its key and, without `settings`, what it is set to stay as they are when it is written. A key that stays while
        `settings` change is sealed anew for them; whether it may be sent there is for the caller to have checked.

        Raises:
            ApiKeyRequired: The key stays, and what it was set to has changed since `row` was read.
            SealingError: The key stays while the settings change, and cannot be opened.
            InstanceNameExists: The user has another one of this name.
            InvalidSettings: What it is set to cannot be kept.
            WrongMasterKey: The master key is no longer that of the database.
            StoreError: The database failed.
        """
        given = None if isinstance(api_key, KeepApiKey) else api_key
        with self._store.writing() as connection:
            # The key and the settings that are there now, not those that the caller has seen: a key must never meet
            # the address that it was changed together with no longer.
            found = _first(connection, TOOLSETS.c.id == row.id, TOOLSETS.c.user_id == row.user_id)
            if found is None:
                return None
            changed = replace(
                row,
                toolset_type=found.toolset_type,
                settings=found.settings if settings is None else settings,
                # A later moment even where the clock stands: what is open for the instance must be known to be old.
                updated_at=max(row.updated_at, found.updated_at + 1e-3),
            )
            if given is None:
                changed = replace(changed, sealed=self._kept_key(found, changed, seen=row))
            else:
                secret = given.value
                changed = replace(changed, sealed=secret and self._sealer.seal(secret, changed.place))
            if changed.sealed is not found.sealed:
                _refuse_retired(connection, changed.sealed)
            _refuse_taken(connection, changed)
            connection.execute(update(TOOLSETS).where(TOOLSETS.c.id == row.id).values(**_columns(changed)))
        return changed

    def delete_toolset(self, toolset_id: str) -> bool:
        """Delete an instance with its key; whether there was one.

        Raises:
            StoreError: The database failed.
        """
        with self._store.writing() as connection:
            return connection.execute(delete(TOOLSETS).where(TOOLSETS.c.id == toolset_id)).rowcount > 0

    def get_toolset_api_key(self, toolset_id: str) -> Secret | None:
        """The key of an instance, or nothing where it has none.

        Raises:
            SealingError: There is one, and it cannot be opened.
            StoreError: The database failed.
        """
        row = self.get_toolset_by_id(toolset_id)
        return None if row is None else self.open_key(row)

    def open_key(self, row: ToolsetRow) -> Secret | None:
        """The key of a row that was read.

        Raises:
            SealingError: There is one, and it cannot be opened.
            StoreError: The database failed.
        """
        if row.sealed is None:
            return None
        try:
            return self._sealer.unseal(row.sealed, row.place)
        except UnknownKeyId:
            key_id = row.sealed.key_id
            with self._store.reading() as connection:
                is_known = connection.scalar(select(MASTER_KEYS.c.key_id).where(MASTER_KEYS.c.key_id == key_id))
            if not is_known:
                raise
        raise WrongMasterKey(
            f"A key is sealed under the master key {quoted(key_id)}, which a rotation brought in after the start.",
            hint=_START_AGAIN,
            details={"keyId": key_id},
        )

    def _kept_key(self, found: ToolsetRow, changed: ToolsetRow, *, seen: ToolsetRow) -> Sealed | None:
        """The key that an instance has, for the settings that it gets."""
        if found.sealed is None or found.settings == changed.settings:
            return found.sealed
        if found.settings != seen.settings:
            raise key_needed_again(found)
        return self._sealer.seal(self._sealer.unseal(found.sealed, found.place), changed.place)

    def _one(self, *conditions: Any) -> ToolsetRow | None:
        with self._store.reading() as connection:
            return _first(connection, *conditions)

    def _all(self, *conditions: Any) -> list[ToolsetRow]:
        with self._store.reading() as connection:
            found = [read_row(each) for each in connection.execute(select(TOOLSETS).where(*conditions))]
        # Sorted here: the databases disagree about the order of upper and lower case.
        return sorted(found, key=lambda row: row.name)


def key_needed_again(row: ToolsetRow) -> ApiKeyRequired:
    """The refusal to keep a key for other settings."""
    needed = ApiKeyRequired.of(subject=quoted(row.toolset_type))
    return ApiKeyRequired(
        f"The new settings of {quoted(row.name)} send its key somewhere else.",
        hint="Give the key again together with the settings.",
        details=needed.details,
    )


def read_row(row: Row[Any]) -> ToolsetRow:
    """A row of the table."""
    return ToolsetRow(
        id=row.id,
        user_id=row.user_id,
        toolset_type=row.toolset_type,
        name=row.name,
        description=row.description,
        settings=cast("Mapping[str, JsonValue]", orjson.loads(row.settings)),
        enabled=bool(row.enabled),
        sealed=None
        if row.encrypted_api_key is None
        else Sealed(text=row.encrypted_api_key, salt=row.salt or "", nonce=row.nonce or ""),
        created_at=row.created_at,
        updated_at=row.updated_at,
    )


def sealed_columns(sealed: Sealed | None) -> dict[str, str | None]:
    """The columns that a sealed key is kept in."""
    if sealed is None:
        return dict.fromkeys(("key_id", "encrypted_api_key", "salt", "nonce"))
    return {"key_id": sealed.key_id, "encrypted_api_key": sealed.text, "salt": sealed.salt, "nonce": sealed.nonce}


def _first(connection: Connection, *conditions: Any) -> ToolsetRow | None:
    found = connection.execute(select(TOOLSETS).where(*conditions)).first()
    return None if found is None else read_row(found)


def _refuse_retired(connection: Connection, sealed: Sealed | None) -> None:
    # A rotation may have ended since the key was given: whoever threw the old one away would never open this seal.
    if sealed is None:
        return
    state = connection.scalar(select(MASTER_KEYS.c.state).where(MASTER_KEYS.c.key_id == sealed.key_id))
    if state == RETIRED:
        raise WrongMasterKey(
            f"The master key {quoted(sealed.key_id)} was replaced by another one.",
            hint=_START_AGAIN,
            details={"keyId": sealed.key_id},
        )


def _refuse_taken(connection: Connection, row: ToolsetRow) -> None:
    # There is one writer at a time: what is free now stays free until the end.
    taken = connection.scalar(
        select(TOOLSETS.c.id).where(
            TOOLSETS.c.user_id == row.user_id, TOOLSETS.c.name == row.name, TOOLSETS.c.id != row.id
        )
    )
    if taken is not None:
        raise InstanceNameExists.of(name=shown(row.name))


def _columns(row: ToolsetRow) -> dict[str, Any]:
    return {
        "user_id": row.user_id,
        "toolset_type": row.toolset_type,
        "name": row.name,
        "description": row.description,
        "settings": _text_of(row.settings),
        "enabled": row.enabled,
        "updated_at": row.updated_at,
        **sealed_columns(row.sealed),
    }


def _text_of(settings: Mapping[str, JsonValue]) -> str:
    return _json(settings).decode()


def _json(settings: Mapping[str, JsonValue], *, option: int | None = None) -> bytes:
    try:
        return orjson.dumps(settings, option=option)
    except TypeError:
        raise InvalidSettings.because("they have a text, a number or a depth that cannot be kept") from None


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
