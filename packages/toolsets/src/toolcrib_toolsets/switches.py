"""The switches of toolset types, for everybody: off unless an administrator has moved them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Row, insert, select, update

from toolcrib_store import Store
from toolcrib_toolsets.contract import AppToolsetConfig
from toolcrib_toolsets.tables import APP_CONFIGS


class Switches:
    """Reads and moves the switches."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def get(self, toolset_id: str) -> AppToolsetConfig | None:
        """The switch of a type, if anybody has ever moved it.

        Raises:
            StoreError: The database failed.
        """
        with self._store.reading() as connection:
            found = connection.execute(select(APP_CONFIGS).where(APP_CONFIGS.c.toolset_id == toolset_id)).first()
        return None if found is None else _config(found)

    def all(self) -> dict[str, AppToolsetConfig]:
        """All of them, by type.

        Raises:
            StoreError: The database failed.
        """
        with self._store.reading() as connection:
            found = connection.execute(select(APP_CONFIGS).order_by(APP_CONFIGS.c.toolset_id)).all()
        return {each.toolset_id: _config(each) for each in found}

    def move(self, toolset_id: str, *, enabled: bool, by: str) -> AppToolsetConfig:
        """Switch a type on or off.

        Raises:
            StoreError: The database failed.
        """
        now = self._store.now()
        change = {"enabled": enabled, "updated_by": by, "updated_at": now}
        chosen = APP_CONFIGS.c.toolset_id == toolset_id
        with self._store.writing() as connection:
            if not connection.execute(update(APP_CONFIGS).where(chosen).values(**change)).rowcount:
                connection.execute(insert(APP_CONFIGS).values(toolset_id=toolset_id, created_at=now, **change))
            return _config(connection.execute(select(APP_CONFIGS).where(chosen)).one())


def _config(row: Row[Any]) -> AppToolsetConfig:
    return AppToolsetConfig(
        toolset_id=row.toolset_id,
        enabled=bool(row.enabled),
        updated_by=row.updated_by,
        created_at=datetime.fromtimestamp(row.created_at, UTC),
        updated_at=datetime.fromtimestamp(row.updated_at, UTC),
    )
