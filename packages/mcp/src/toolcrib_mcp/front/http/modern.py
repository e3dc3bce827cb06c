"""Requests of the modern era: each stands alone, and its headers repeat what it asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from toolcrib_core.wording import listed
from toolcrib_mcp.front.conversation import answer_modern
from toolcrib_mcp.front.envelope import INVALID_PARAMS, unsupported
from toolcrib_mcp.front.http.exchange import Exchange
from toolcrib_mcp.front.http.headers import Headers
from toolcrib_mcp.front.http.param_headers import ParamHeaders
from toolcrib_mcp.front.http.repeating import unpacked
from toolcrib_mcp.front.http.replies import HEADER_MISMATCH, Receive, Send, refused, send_empty
from toolcrib_mcp.front.http.settings import HttpFrontSettings
from toolcrib_mcp.front.http.under_way import UnderWay
from toolcrib_mcp.front.listening import LISTEN, META_SUBSCRIPTION
from toolcrib_mcp.front.results import modern_result
from toolcrib_mcp.front.service import Identity, Service
from toolcrib_mcp.rpc import RpcError
from toolcrib_mcp.rpc.messages import params_of
from toolcrib_mcp.upstreams.eras import META_CAPABILITIES, META_VERSION, MODERN_VERSIONS

VERSION: Final = b"mcp-protocol-version"

_METHOD = b"mcp-method"
_NAME = b"mcp-name"
_ROUTING = frozenset({VERSION, _METHOD, _NAME})
# The parameter that `Mcp-Name` repeats.
_NAMED_BY: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


class ModernFront:
    """Serves requests that say themselves which version they are of."""

    def __init__(
        self, service: Service, *, settings: HttpFrontSettings, under_way: UnderWay, params: ParamHeaders
    ) -> None:
        self._service = service
        self._settings = settings
        self._under_way = under_way
        self._params = params

    async def answer(
        self, message: Mapping[str, Any], headers: Headers, principal: Identity | None, *, receive: Receive, send: Send
    ) -> None:
        """Answer a request.

        Raises:
            Refusal: Its headers do not say what it says itself, it lacks what every request must have, or there are
                too many requests.
        """
        request_id, method, params = message["id"], message["method"], params_of(message)
        try:
            check_headers(method, params, headers)
            if method == "tools/call":
                await self._params.check(params, headers, principal)
        except RpcError as error:
            raise refused(error, request_id) from None
        self._under_way.check_room(principal, request_id)
        exchange = Exchange(request_id, receive=receive, send=send, settings=self._settings, asks=None)
        if method == LISTEN:
            exchange.farewell = modern_result(
                method, {"_meta": {META_SUBSCRIPTION: request_id}}, info=self._service.info
            )
        with self._under_way.holding(exchange, principal):
            await exchange.run(
                lambda: answer_modern(
                    self._service, method, params, request_id=request_id, channel=exchange, principal=principal
                )
            )

    async def take(self, headers: Headers, send: Send) -> None:
        """Take note of a notification; there is none in this era that anything depends on.

        Raises:
            Refusal: It is of a version that is not served.
        """
        version = headers.get(VERSION) or ""
        if version not in MODERN_VERSIONS:
            raise refused(unsupported(version), None)
        await send_empty(send, 202)


def check_headers(method: str, params: Mapping[str, Any], headers: Headers) -> None:
    """Refuse a request that lacks what each must have, or whose headers disagree with it.

    Whether its version is served comes after: a client that disagrees with itself is told that first.

    Raises:
        RpcError: The first thing that is wrong.
    """
    if headers.repeated & _ROUTING:
        raise _mismatch(f"The header `{min(headers.repeated & _ROUTING).decode()}` came more than once.")
    meta = params.get("_meta")
    needed = (META_VERSION, META_CAPABILITIES)
    missing = [key for key in needed if key not in meta] if isinstance(meta, Mapping) else list(needed)
    if missing or not isinstance(meta, Mapping):
        raise RpcError(INVALID_PARAMS, f"The `_meta` of the request must have {listed(missing)}.")
    version = headers.get(VERSION)
    if version is None or version != meta[META_VERSION]:
        raise _mismatch("The header `mcp-protocol-version` is not the version that the request says.")
    if headers.get(_METHOD) != method:
        raise _mismatch("The header `mcp-method` is not the method of the request.")
    key = _NAMED_BY.get(method)
    if key is None:
        return
    name = params.get(key)
    if name is not None and unpacked(headers.get(_NAME)) != name:
        raise _mismatch(f"The header `mcp-name` is not the `{key}` of the request.")


def _mismatch(message: str) -> RpcError:
    return RpcError(HEADER_MISMATCH, message)
