"""One client and what it says: which era it speaks, what was agreed on, and who answers what."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from toolcrib_mcp.front.envelope import INVALID_PARAMS, INVALID_REQUEST, is_modern, modern_caller, unsupported
from toolcrib_mcp.front.feed import LIST_CHANGED, LOG_MESSAGE, Notice
from toolcrib_mcp.front.listening import LISTEN, listen
from toolcrib_mcp.front.results import handshake_result, modern_result
from toolcrib_mcp.front.service import Caller, Channel, Identity, Request, Service
from toolcrib_mcp.rpc import RpcError
from toolcrib_mcp.rpc.messages import METHOD_NOT_FOUND
from toolcrib_mcp.upstreams.eras import DISCOVER, HANDSHAKE_VERSIONS, INITIALIZE, MODERN_VERSIONS, Era

LOG_LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""From the least severe to the most."""

MAX_WATCHED: Final = 256 * 1024
"""Characters of the addresses of all resources that a client is subscribed to."""

Tell = Callable[[str, Mapping[str, Any]], None]
"""Takes in a notification for a client, without waiting."""

_SET_LEVEL = "logging/setLevel"
_SUBSCRIBE = "resources/subscribe"
_UNSUBSCRIBE = "resources/unsubscribe"
_NOT_MODERN = frozenset({INITIALIZE, "ping", _SET_LEVEL, _SUBSCRIBE, _UNSUBSCRIBE})
_ANNOUNCED = frozenset(LIST_CHANGED.values())
# What asks for a handshake; a client that probes for anything else is told that it is unknown, as the SDK does.
_AFTER_HANDSHAKE = frozenset(
    {
        "completion/complete",
        _SET_LEVEL,
        "prompts/get",
        "prompts/list",
        "resources/list",
        "resources/read",
        _SUBSCRIBE,
        "resources/templates/list",
        _UNSUBSCRIBE,
        "tools/call",
        "tools/list",
    }
)


class Conversation:
    """A client that may shake hands: a connection over stdio, or a session over HTTP.

    `key` names it towards the service. `tell` is given what the client did not ask for. The era is decided once: by
    `initialize`, or by the first request that says its version itself. Only `server/discover` decides nothing, so that
    a client may ask for it and still shake hands.
    """

    def __init__(self, service: Service, *, key: str, tell: Tell, principal: Identity | None = None) -> None:
        self.key = key
        self._service = service
        self._principal = principal
        self._tell = tell
        self._caller: Caller | None = None
        self._modern = False
        self._opening: asyncio.Event | None = None
        self._stop_listening: Callable[[], None] | None = None
        self._followed: set[str] = set()
        self.watched: frozenset[str] = frozenset()
        """The resources of whose changes the client wants to be told."""

    @property
    def caller(self) -> Caller | None:
        """The client, once it has shaken hands."""
        return self._caller

    def resume(self, caller: Caller, *, watched: frozenset[str]) -> None:
        """Go on with a client that has shaken hands elsewhere, as it is known there."""
        self._caller, self.watched = caller, watched
        self._listen()

    async def follow(self) -> None:
        """Watch the resources that the client asked for elsewhere, and no longer those that it gave up there."""
        for uri in self.watched - self._followed:
            # One that cannot be watched here is tried again the next time.
            with suppress(RpcError):
                await self._service.subscribe(self.key, uri)
                self._followed.add(uri)
        for uri in self._followed - self.watched:
            self._followed.discard(uri)
            await self._service.unsubscribe(self.key, uri)

    async def answer(
        self, method: str, params: Mapping[str, Any], *, request_id: str | int, channel: Channel
    ) -> Mapping[str, Any]:
        """The result of one request, whichever era it is of.

        Raises:
            RpcError: The error that the client gets.
        """
        if method == INITIALIZE:
            return await self._initialize(params)
        if self._opening is not None:
            # A client that does not wait for the handshake to end means what it says after it.
            await self._opening.wait()
        if is_modern(params):
            return await self._answer_modern(method, params, request_id, channel)
        if method == "ping":
            return {}
        return handshake_result(await self._answer(method, params, channel))

    async def end(self) -> None:
        """The client has gone."""
        if self._stop_listening is not None:
            self._stop_listening()
            self._stop_listening = None
        await self._service.end(self.key)

    async def _initialize(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        requested, capabilities, info = (params.get(each) for each in ("protocolVersion", "capabilities", "clientInfo"))
        if not isinstance(requested, str) or not isinstance(capabilities, dict) or not isinstance(info, dict):
            raise RpcError(
                INVALID_PARAMS,
                "`initialize` needs `protocolVersion`, a string, and the objects `capabilities` and `clientInfo`.",
            )
        if self._modern:
            raise unsupported(requested)
        version = requested if requested in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1]
        opening = self._opening = asyncio.Event()
        try:
            face = await self._service.face()
            self._agree(version, capabilities, info)
        finally:
            self._opening = None if self._opening is opening else self._opening
            opening.set()
        result = {"protocolVersion": version, "capabilities": face.capabilities, "serverInfo": self._service.info}
        return result if face.instructions is None else result | {"instructions": face.instructions}

    def _agree(self, version: str, capabilities: Mapping[str, Any], info: Mapping[str, Any]) -> None:
        self._caller = Caller(
            era=Era.HANDSHAKE,
            protocol_version=version,
            capabilities=capabilities,
            info=info,
            conversation=self.key,
            principal=None if self._principal is None else self._principal.name,
            scopes=None if self._principal is None else self._principal.scopes,
        )
        self._listen()

    def _listen(self) -> None:
        if self._stop_listening is None:
            self._stop_listening = self._service.feed.subscribe(self._hear)

    async def _answer_modern(
        self, method: str, params: Mapping[str, Any], request_id: str | int, channel: Channel
    ) -> Mapping[str, Any]:
        if self._caller is not None:
            raise RpcError(INVALID_REQUEST, "After `initialize`, requests do not say their version in `_meta`.")
        caller = modern_caller(params, conversation=self.key, principal=self._principal)
        self._modern = self._modern or method != DISCOVER
        return await _answer_as(caller, self._service, method, params, request_id=request_id, channel=channel)

    async def _answer(self, method: str, params: Mapping[str, Any], channel: Channel) -> Mapping[str, Any]:
        caller = self._caller
        if caller is None:
            raise self._not_open(method)
        match method:
            case "logging/setLevel":
                self._caller = replace(caller, log_level=_level(params))
                return {}
            case "resources/subscribe":
                uri = _uri(params)
                if sum(map(len, self.watched)) + len(uri) > MAX_WATCHED:
                    raise RpcError(INVALID_PARAMS, "The client is subscribed to too many resources.")
                await self._service.subscribe(self.key, uri)
                self._followed.add(uri)
                self.watched |= {uri}
                return {}
            case "resources/unsubscribe":
                uri = _uri(params)
                await self._service.unsubscribe(self.key, uri)
                self._followed.discard(uri)
                self.watched -= {uri}
                return {}
            case "server/discover" | "subscriptions/listen":
                raise _unknown(method)
        return await self._service.answer(Request(method=method, params=params, caller=caller, channel=channel))

    def _not_open(self, method: str) -> RpcError:
        if self._modern:
            return RpcError(INVALID_PARAMS, "The request must say its version in its `_meta`, as those before it.")
        if method in _AFTER_HANDSHAKE:
            return RpcError(INVALID_REQUEST, "The first request must be `initialize`, or say its version in `_meta`.")
        return _unknown(method)

    def _hear(self, notice: Notice) -> None:
        if notice.to is not None and self.key not in notice.to:
            return
        if notice.to is None and notice.method not in _ANNOUNCED:
            return
        level = None if self._caller is None else self._caller.log_level
        if notice.method == LOG_MESSAGE and not is_severe_enough(notice.params.get("level"), level):
            return
        self._tell(notice.method, notice.params)


async def answer_modern(
    service: Service,
    method: str,
    params: Mapping[str, Any],
    *,
    request_id: str | int,
    channel: Channel,
    conversation: str | None = None,
    principal: Identity | None = None,
) -> Mapping[str, Any]:
    """The result of a request that says itself which version it is of.

    Raises:
        RpcError: The error that the client gets.
    """
    caller = modern_caller(params, conversation=conversation, principal=principal)
    return await _answer_as(caller, service, method, params, request_id=request_id, channel=channel)


def is_severe_enough(level: object, least: str | None) -> bool:
    """Whether a log message is one that the client wants; without a level that is known, it is."""
    if least not in LOG_LEVELS or level not in LOG_LEVELS:
        return True
    return LOG_LEVELS.index(str(level)) >= LOG_LEVELS.index(least)


def wants_log_message(caller: Caller, level: object) -> bool:
    """Whether a client wants a log message of this level with the answer to its request.

    A modern client that names no level wants none; one of the handshake era takes what comes.
    """
    if caller.log_level is None:
        return caller.era is Era.HANDSHAKE
    return is_severe_enough(level, caller.log_level)


async def _answer_as(
    caller: Caller,
    service: Service,
    method: str,
    params: Mapping[str, Any],
    *,
    request_id: str | int,
    channel: Channel,
) -> Mapping[str, Any]:
    if method in _NOT_MODERN:
        raise _unknown(method)
    if method == DISCOVER:
        face = await service.face()
        result: Mapping[str, Any] = {"supportedVersions": list(MODERN_VERSIONS), "capabilities": face.capabilities}
        result = result if face.instructions is None else {**result, "instructions": face.instructions}
    elif method == LISTEN:
        result = await listen(service, params, request_id=request_id, channel=channel)
    else:
        result = await service.answer(Request(method=method, params=params, caller=caller, channel=channel))
    return modern_result(method, result, info=service.info)


def _unknown(method: str) -> RpcError:
    return RpcError(METHOD_NOT_FOUND, "Method not found", method[:200])


def _level(params: Mapping[str, Any]) -> str:
    level = params.get("level")
    if level not in LOG_LEVELS:
        raise RpcError(INVALID_PARAMS, f"`level` must be one of {', '.join(LOG_LEVELS)}.")
    return str(level)


def _uri(params: Mapping[str, Any]) -> str:
    uri = params.get("uri")
    if not isinstance(uri, str):
        raise RpcError(INVALID_PARAMS, "`uri` must be a string.")
    return uri
