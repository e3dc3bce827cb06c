"""`SessionBook`: sessions of the handshake era that any replica may take up, and messages for whoever holds them."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import orjson

from toolcrib_mcp.approvals.sealing import Seals
from toolcrib_mcp.front.service import Caller, Identity
from toolcrib_mcp.shared.notes import Note, Notes
from toolcrib_mcp.upstreams.eras import Era

if TYPE_CHECKING:
    from toolcrib_mcp.approvals import StateKey
    from toolcrib_store import Store

MAX_KEPT: Final = 64 * 1024
"""How many bytes what a client says of itself may take, with the resources that it watches."""

MAX_MESSAGE: Final = 1024 * 1024
"""How large a message for another replica may be."""

MAX_MESSAGES: Final = 64
"""How many of them wait for one session."""

MESSAGE_SECONDS: Final = 60.0


class DoesNotFit(Exception):
    """Something is too large to be kept for other replicas, or there is too much of it."""


@dataclass(frozen=True, kw_only=True)
class Settled:
    """What a client and a replica have settled, so that another replica can go on with it."""

    caller: Caller
    identity: Identity | None
    watched: frozenset[str] = frozenset()
    """The resources of whose changes the client wants to be told."""


class SessionBook:
    """Sessions in a database that replicas share.

    The name of a session lets its client in, so the database has only a digest of it. What was settled is sealed, so
    that whoever can write the database but has not the key cannot make a session of somebody else's.
    """

    def __init__(self, store: Store, key: StateKey) -> None:
        self._sessions = Notes(store, kind="session")
        self._messages = Notes(store, kind="message")
        self._seals = Seals(key, purpose="shared:sessions")

    def now(self) -> float:
        """Seconds since the epoch, as the database counts them."""
        return self._sessions.now()

    async def add(self, name: str, settled: Settled, *, seconds: float) -> int:
        """Keep a new session; gives its version.

        Raises:
            DoesNotFit: The client says too much of itself.
            StoreError: The database failed.
        """
        owner = _owner(name)
        await asyncio.to_thread(self._sessions.add, owner, {"": self._sealed(owner, settled)}, seconds=seconds)
        return 1

    async def change(self, name: str, settled: Settled, *, seconds: float) -> int | None:
        """Keep what was settled anew; gives its version, or `None` if the session was ended meanwhile.

        Raises:
            DoesNotFit: As `add`.
            StoreError: The database failed.
        """
        owner = _owner(name)
        return await asyncio.to_thread(self._sessions.change, owner, self._sealed(owner, settled), seconds=seconds)

    async def find(self, name: str) -> Note | None:
        """The session of this name, unless it was ended or left unused for too long; `settled` opens it.

        Raises:
            StoreError: The database failed.
        """
        return await asyncio.to_thread(self._sessions.read, _owner(name))

    def settled(self, name: str, note: Note) -> Settled | None:
        """What was settled; `None` if it was altered, or sealed under another key."""
        owner = _owner(name)
        opened = self._seals.unseal(note.content, row=owner)
        return None if opened is None else _read(orjson.loads(opened))

    async def extend(self, name: str, *, seconds: float) -> None:
        """The session is in use.

        Raises:
            StoreError: The database failed.
        """
        await asyncio.to_thread(self._sessions.extend, _owner(name), seconds=seconds)

    async def end(self, name: str) -> None:
        """End a session, for all replicas.

        Raises:
            StoreError: The database failed.
        """
        owner = _owner(name)
        await asyncio.to_thread(self._sessions.drop, owner)
        await asyncio.to_thread(self._messages.drop, owner)

    async def post(self, name: str, message: Mapping[str, Any]) -> None:
        """Leave a message of the client for the replica that waits for it.

        Raises:
            DoesNotFit: It is too large, or too many wait.
            StoreError: The database failed.
        """
        owner, key = _owner(name), secrets.token_hex(8)
        data = orjson.dumps(message)
        if len(data) > MAX_MESSAGE or await asyncio.to_thread(self._messages.count, owner) >= MAX_MESSAGES:
            raise DoesNotFit
        sealed = self._seals.seal(data, row=f"{owner}/{key}")
        await asyncio.to_thread(self._messages.add, owner, {key: sealed}, seconds=MESSAGE_SECONDS)

    async def messages(self, name: str) -> dict[str, dict[str, Any]]:
        """The messages that wait, each by its key; whoever can do something with one takes it away by `taken`.

        Raises:
            StoreError: The database failed.
        """
        owner = _owner(name)
        found = await asyncio.to_thread(self._messages.every, owner)
        opened = {key: self._seals.unseal(note.content, row=f"{owner}/{key}") for key, note in found.items()}
        return {key: orjson.loads(data) for key, data in opened.items() if data is not None}

    async def taken(self, name: str, key: str) -> None:
        """Somebody has taken this message.

        Raises:
            StoreError: The database failed.
        """
        await asyncio.to_thread(self._messages.take, _owner(name), key)

    def _sealed(self, owner: str, settled: Settled) -> bytes:
        data = _written(settled)
        if len(data) > MAX_KEPT:
            raise DoesNotFit
        return self._seals.seal(data, row=owner)


def _owner(name: str) -> str:
    return hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()


def _written(settled: Settled) -> bytes:
    caller, identity = settled.caller, settled.identity
    said = {
        "version": caller.protocol_version,
        "capabilities": caller.capabilities,
        "info": caller.info,
        "key": caller.conversation,
        "level": caller.log_level,
        "watched": sorted(settled.watched),
        "identity": None,
    }
    if identity is not None:
        scopes = None if identity.scopes is None else sorted(identity.scopes)
        said["identity"] = {"name": identity.name, "scopes": scopes}
    return orjson.dumps(said)


def _read(said: Mapping[str, Any]) -> Settled:
    who, identity = said["identity"], None
    if who is not None:
        scopes = None if who["scopes"] is None else frozenset(who["scopes"])
        identity = Identity(name=who["name"], scopes=scopes)
    caller = Caller(
        era=Era.HANDSHAKE,
        protocol_version=said["version"],
        capabilities=said["capabilities"],
        info=said["info"],
        conversation=said["key"],
        principal=None if identity is None else identity.name,
        scopes=None if identity is None else identity.scopes,
        log_level=said["level"],
    )
    return Settled(caller=caller, identity=identity, watched=frozenset(said["watched"]))
