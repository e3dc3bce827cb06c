"""One request of a client, passed on to one server: nothing is lost, and the eras of both are bridged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from toolcrib_mcp.errors import UpstreamFailed
from toolcrib_mcp.front.service import META_PRINCIPAL, Request
from toolcrib_mcp.hub.private import offered_to
from toolcrib_mcp.relay.asking import Asking
from toolcrib_mcp.relay.failures import rpc_error
from toolcrib_mcp.relay.levels import LogLevels, hearer
from toolcrib_mcp.relay.meta import onward_params, with_meta
from toolcrib_mcp.relay.patience import ANSWER_WITHIN, Patience
from toolcrib_mcp.relay.pending import TOKEN_PREFIX, Belonging, PendingCall, PendingCalls
from toolcrib_mcp.relay.questions import askable, asks, questions_in
from toolcrib_mcp.upstreams import Era, Upstream
from toolcrib_mcp.upstreams.eras import META_CAPABILITIES
from toolcrib_runtime.clock import SYSTEM_CLOCK, Clock

if TYPE_CHECKING:
    from toolcrib_mcp.hub.view import HubView

_NOTHING: frozenset[str] = frozenset()


class _Errand(NamedTuple):
    """What is to be asked of which server, for whom; a tuple, since one is made for every request."""

    server: str
    method: str
    params: Mapping[str, Any]
    request: Request
    may_use: frozenset[str]
    """What of the client the server may use."""
    seconds: float
    """How long the server may take."""
    logs: bool
    """Whether its log messages are passed on."""


class Passing:
    """Passes requests on; close it, and no call waits for a client any more."""

    def __init__(self, hub: HubView, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._hub = hub
        self._clock = clock
        self._levels = LogLevels()
        self._pending = PendingCalls(clock=clock)

    async def call(self, server: str, method: str, params: Mapping[str, Any], request: Request) -> dict[str, Any]:
        """The result as the server gave it, or as it asks.

        Raises:
            RpcError: What the server answered with, as it came; or what the client answered a question with.
            GatewayError: Every other failure.
        """
        errand = self._errand(server, method, params, request)
        try:
            token = params.get("requestState")
            if isinstance(token, str) and token.startswith(TOKEN_PREFIX):
                return await self._pending.resume(token, Belonging.of(server, method, params, request), request)
            if not errand.may_use:
                return await self._plain(errand)
            is_modern = request.caller.era is Era.MODERN
            return await (self._keep(errand) if is_modern else self._converse(errand))
        except UpstreamFailed as error:
            raise rpc_error(error) from None

    async def end(self, conversation: str) -> None:
        """A client has gone."""
        await self._pending.end(conversation)

    async def aclose(self) -> None:
        """Stop every call that waits for a client."""
        await self._pending.aclose()

    def _errand(self, server: str, method: str, params: Mapping[str, Any], request: Request) -> _Errand:
        settings = self._hub.server(server)
        grants = settings.settings.grants
        onward, principal = onward_params(params), request.caller.principal
        if principal is not None and settings.hears_callers:
            onward = with_meta(onward, META_PRINCIPAL, principal)
        return _Errand(
            server=server,
            method=method,
            params=onward,
            request=request,
            may_use=askable(grants, request.caller) if grants else _NOTHING,
            seconds=settings.upstream_settings.call_timeout if grants else 0.0,
            logs=self._hub.solo or "logging" in grants,
        )

    async def _plain(self, errand: _Errand) -> dict[str, Any]:
        """Where the server may ask nothing of the client: the shortest way there and back."""
        request = errand.request
        on_notification = hearer(request) if errand.logs else None
        async with self._hub.lease(errand.server, request.caller, on_notification=on_notification) as upstream:
            onward = await self._onward(upstream, errand)
            result = await upstream.call(errand.method, onward, on_progress=request.on_progress)
            if not asks(result):
                return result
            if request.caller.era is Era.MODERN:
                return _checked(result, errand)
            asking = self._asking(errand, Patience(errand.seconds, clock=self._clock))
            return await self._settled(upstream, errand, asking, result, onward=onward, timeout=None)

    async def _converse(self, errand: _Errand) -> dict[str, Any]:
        """For a client that can be asked while its request is worked on."""
        patience = Patience(errand.seconds, clock=self._clock)
        asking = self._asking(errand, patience)
        whole = self._conversed(errand, asking)
        return await patience.run(whole, method=errand.method, server=errand.server)

    async def _conversed(self, errand: _Errand, asking: Asking) -> dict[str, Any]:
        request, timeout = errand.request, errand.seconds + ANSWER_WITHIN
        on_notification = hearer(request) if errand.logs else None
        async with self._hub.lease(
            errand.server, request.caller, on_request=asking.answer, on_notification=on_notification
        ) as upstream:
            onward = await self._onward(upstream, errand)
            result = await upstream.call(errand.method, onward, timeout=timeout, on_progress=request.on_progress)
            if not asks(result):
                return result
            return await self._settled(upstream, errand, asking, result, onward=onward, timeout=timeout)

    async def _settled(
        self,
        upstream: Upstream,
        errand: _Errand,
        asking: Asking,
        result: dict[str, Any],
        *,
        onward: Mapping[str, Any],
        timeout: float | None,  # noqa: ASYNC109  # the upstream's, who tells the server
    ) -> dict[str, Any]:
        if _is_of_handshake_era(upstream):
            return result

        async def again(more: Mapping[str, Any]) -> dict[str, Any]:
            params = {**onward, **more}
            return await upstream.call(errand.method, params, timeout=timeout, on_progress=errand.request.on_progress)

        return await asking.settle(result, again)

    def _asking(self, errand: _Errand, patience: Patience) -> Asking:
        channel = errand.request.channel
        return Asking(channel, errand.may_use, server=errand.server, patience=patience, clock=self._clock)

    async def _keep(self, errand: _Errand) -> dict[str, Any]:
        """For a modern client that may be asked: in a task, which outlives the request if the server asks."""
        patience = Patience(errand.seconds, clock=self._clock)
        belonging = Belonging.of(errand.server, errand.method, errand.params, errand.request)

        async def work(call: PendingCall) -> dict[str, Any]:
            return await patience.run(self._kept(errand, call), method=errand.method, server=errand.server)

        return await self._pending.wait(PendingCall(belonging, errand.request, patience=patience, work=work))

    async def _kept(self, errand: _Errand, call: PendingCall) -> dict[str, Any]:
        on_notification = call.on_notification if errand.logs else None
        async with self._hub.lease(
            errand.server, errand.request.caller, on_request=call.ask, on_notification=on_notification
        ) as upstream:
            onward = await self._onward(upstream, errand)
            timeout = errand.seconds + ANSWER_WITHIN
            on_progress = None if errand.request.on_progress is None else call.on_progress
            result = await upstream.call(errand.method, onward, timeout=timeout, on_progress=on_progress)
        return _checked(result, errand)

    async def _onward(self, upstream: Upstream, errand: _Errand) -> Mapping[str, Any]:
        """The params as this server is to get them: a modern one is told with each request what its client wants."""
        if not errand.may_use and not errand.logs:
            return errand.params
        caller, params = errand.request.caller, errand.params
        agreement = upstream.agreement or await upstream.agreed()
        if errand.may_use and agreement.era is Era.MODERN:
            params = with_meta(params, META_CAPABILITIES, offered_to(self._hub.server(errand.server), caller))
        if not errand.logs:
            return params
        return await self._levels.apply(upstream, agreement, caller, params)


def _checked(result: dict[str, Any], errand: _Errand) -> dict[str, Any]:
    """What the server asks a modern client goes to it as it came, if the server may ask it."""
    if asks(result):
        questions_in(result, errand.may_use, server=errand.server)
    return result


def _is_of_handshake_era(upstream: Upstream) -> bool:
    """Whether the word that it asks means nothing, because its era has no such word."""
    agreement = upstream.agreement
    return agreement is not None and agreement.era is Era.HANDSHAKE
