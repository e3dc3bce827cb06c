"""Pins in a database: read whole for one server, each row with a checksum, and written together."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeGuard, get_args

import orjson
from sqlalchemy import Connection, RowMapping, bindparam, delete, insert, select, update

from toolcrib_mcp.pins.definitions import Definition, How, Pin
from toolcrib_mcp.pins.tables import PIN_CHANGES, PINS
from toolcrib_store import upsert
from toolcrib_store.seals import seal

_HOWS = frozenset(get_args(How))


@dataclass(frozen=True, kw_only=True)
class ServerPins:
    """What is known of the tools of one server."""

    scope: str
    server: str
    pins: Mapping[str, Pin] = field(default_factory=dict)
    """By the server's names."""
    damaged: frozenset[str] = frozenset()
    """The places of rows that are not what was written."""

    @property
    def is_known(self) -> bool:
        """Whether anything was pinned before."""
        return bool(self.pins or self.damaged)

    def place_of(self, tool: str) -> str:
        """Where the pin of a tool is."""
        return place_of(self.scope, self.server, tool)


def place_of(scope: str, server: str, tool: str) -> str:
    """The key of a pin: one for each tool of each server in each scope."""
    return hashlib.sha256(orjson.dumps([scope, server, tool])).hexdigest()


def read_pins(connection: Connection, scope: str, server: str) -> ServerPins:
    """All pins of one server."""
    found = connection.execute(select(PINS).where(PINS.c.scope == scope, PINS.c.server == server))
    return _gathered(scope, server, found.mappings())


def read_every_pin(connection: Connection, scope: str) -> tuple[ServerPins, ...]:
    """All pins of a scope, by server."""
    rows: dict[str, list[RowMapping]] = {}
    for row in connection.execute(select(PINS).where(PINS.c.scope == scope).order_by(PINS.c.server)).mappings():
        rows.setdefault(row["server"], []).append(row)
    return tuple(_gathered(scope, server, every) for server, every in rows.items())


def write_pins(connection: Connection, known: ServerPins, pins: Iterable[Pin]) -> None:
    """Put these pins in the place of those that are known, in two statements however many they are."""
    rows = [(pin.tool in known.pins, _columns(pin)) for pin in pins]
    new, old = ([row for was, row in rows if was is known_before] for known_before in (False, True))
    if new:
        # Never in the place of a row that was not found among the server's: such a row is damaged.
        connection.execute(insert(PINS), new)
    if old:
        changed = update(PINS).where(PINS.c.place == bindparam("at"))
        names: dict[str, Any] = {name: bindparam(name) for name in old[0] if name != "place"}
        connection.execute(changed.values(names), [{**row, "at": row["place"]} for row in old])


def delete_pins(connection: Connection, scope: str, server: str, tool: str | None = None) -> int:
    """Forget the pins of a server, or of one of its tools; gives how many there were."""
    if tool is not None:
        which = PINS.c.place == place_of(scope, server, tool)
    else:
        which = (PINS.c.scope == scope) & (PINS.c.server == server)
    return connection.execute(delete(PINS).where(which)).rowcount


def note_change(connection: Connection, scope: str, server: str) -> None:
    """Let whoever serves a server notice that somebody has decided about its tools."""
    where = (PIN_CHANGES.c.scope == scope) & (PIN_CHANGES.c.server == server)
    number = connection.scalar(select(PIN_CHANGES.c.number).where(where)) or 0
    upsert(
        connection,
        PIN_CHANGES,
        {"scope": scope, "server": server, "number": number + 1},
        key=["scope", "server"],
    )


def read_changes(connection: Connection) -> dict[tuple[str, str], int]:
    """By scope and server: how often somebody has decided."""
    found = connection.execute(select(PIN_CHANGES.c.scope, PIN_CHANGES.c.server, PIN_CHANGES.c.number))
    return {(scope, server): number for scope, server, number in found}


def _gathered(scope: str, server: str, rows: Iterable[RowMapping]) -> ServerPins:
    pins: dict[str, Pin] = {}
    damaged: set[str] = set()
    for row in rows:
        if row["seal"] != _seal(row):
            damaged.add(row["place"])
            continue
        pin = _read(row)
        pins[pin.tool] = pin
    return ServerPins(scope=scope, server=server, pins=pins, damaged=frozenset(damaged))


def _read(row: RowMapping) -> Pin:
    tool = orjson.loads(row["tool"])
    return Pin(
        scope=row["scope"],
        server=row["server"],
        tool=tool,
        pinned=_definition(tool, row["digest"], row["definition"]),
        how=row["how"] if _is_how(row["how"]) else None,
        pinned_by=row["pinned_by"],
        pinned_at=row["pinned_at"],
        waiting=_definition(tool, row["waiting_digest"], row["waiting_definition"]),
        waiting_since=row["waiting_since"],
        was=None if row["was"] is None else orjson.loads(row["was"]),
    )


def _definition(name: str, digest: str | None, tool_json: bytes | None) -> Definition | None:
    if digest is None or tool_json is None:
        return None
    return Definition(name=name, digest=digest, tool_json=bytes(tool_json))


def _is_how(text: object) -> TypeGuard[How]:
    return text in _HOWS


def _columns(pin: Pin) -> dict[str, Any]:
    pinned, waiting = pin.pinned, pin.waiting
    row: dict[str, Any] = {
        "place": place_of(pin.scope, pin.server, pin.tool),
        "scope": pin.scope,
        "server": pin.server,
        "tool": orjson.dumps(pin.tool).decode(),
        "digest": None if pinned is None else pinned.digest,
        "definition": None if pinned is None else pinned.tool_json,
        "how": pin.how,
        "pinned_by": pin.pinned_by,
        "pinned_at": pin.pinned_at,
        "waiting_digest": None if waiting is None else waiting.digest,
        "waiting_definition": None if waiting is None else waiting.tool_json,
        "waiting_since": pin.waiting_since,
        "was": None if pin.was is None else orjson.dumps(pin.was).decode(),
    }
    return {**row, "seal": _seal(row)}


def _seal(row: Mapping[str, Any] | RowMapping) -> bytes:
    return seal(*(row[column.name] for column in PINS.columns if column.name != "seal"))
