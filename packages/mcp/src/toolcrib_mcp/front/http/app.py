"""The front as an ASGI application: it lets requests in, tells the eras apart, and ends in good order."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from toolcrib_mcp.front.envelope import is_modern
from toolcrib_mcp.front.http.bearer import check_query
from toolcrib_mcp.front.http.body import Arriving, ClientGone, read_message, skim
from toolcrib_mcp.front.http.entrance import Entrance
from toolcrib_mcp.front.http.guard import Guard
from toolcrib_mcp.front.http.handshake import HandshakeFront
from toolcrib_mcp.front.http.headers import Headers
from toolcrib_mcp.front.http.modern import VERSION, ModernFront
from toolcrib_mcp.front.http.param_headers import ParamHeaders
from toolcrib_mcp.front.http.rechecking import Rechecked
from toolcrib_mcp.front.http.replies import CLOSE, Event, Receive, Refusal, Scope, Send, send_json, send_refusal
from toolcrib_mcp.front.http.resource import WELL_KNOWN
from toolcrib_mcp.front.http.sessions import Sessions
from toolcrib_mcp.front.http.settings import HttpFrontSettings
from toolcrib_mcp.front.http.under_way import UnderWay
from toolcrib_mcp.front.listening import LISTEN
from toolcrib_mcp.front.service import Identity, Service
from toolcrib_mcp.rpc.messages import is_message, params_of
from toolcrib_mcp.upstreams.eras import HANDSHAKE_VERSIONS
from toolcrib_runtime.clock import SYSTEM_CLOCK, Clock

if TYPE_CHECKING:
    from toolcrib_mcp.shared.session_book import SessionBook

PATH: Final = "/mcp"
"""Where clients reach the service."""

HEALTH_PATH: Final = "/health"
"""Where anybody may ask whether the front is there; it says nothing else."""

HELD_SECONDS: Final = 1.0
"""How long the answer to a request that is one too many is held back."""

_TOO_MANY = 429
_PATHS = frozenset({PATH, f"{PATH}/"})


AsgiApp: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]
"""Another application, which sees only requests that are for this host and from pages that may."""


class HttpFront:
    """An ASGI application that serves a service to clients of both eras, and `mounts` by the beginning of their paths.

    Whoever runs it either sends it the events of ASGI's lifespan, or calls `aclose` itself. With a `book` it is one of
    several replicas, any of which goes on with the sessions of the others.
    """

    def __init__(
        self,
        service: Service,
        *,
        settings: HttpFrontSettings,
        mounts: Mapping[str, AsgiApp] | None = None,
        clock: Clock = SYSTEM_CLOCK,
        book: SessionBook | None = None,
    ) -> None:
        self._settings = settings
        self._mounts = dict(mounts or {})
        self._guard = Guard(settings)
        self._clock = clock
        self._entrance = Entrance(settings, clock=clock)
        self._under_way = UnderWay(settings)
        self._sessions = _sessions(service, settings, clock, book)
        self._metadata = _metadata(settings)
        self._params = ParamHeaders(service, clock=clock)
        self._handshake = HandshakeFront(self._sessions, settings=settings, under_way=self._under_way)
        self._modern = ModernFront(service, settings=settings, under_way=self._under_way, params=self._params)

    @property
    def sessions(self) -> int:
        """How many sessions are open."""
        return len(self._sessions)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or live as long as the application does."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        if scope["type"] != "http":
            return
        arriving = Arriving(scope, receive)
        try:
            headers = Headers(scope["headers"])
            self._guard.check_target(headers)
            check_query(scope.get("query_string", b""))
            await self._route(scope, headers, arriving, send)
        except Refusal as refusal:
            # Their frames hold what came of the body, and the rest may take long to come.
            refusal.__traceback__ = refusal.__context__ = None
            await self._refuse(refusal, arriving, send)
        except ClientGone:
            return

    async def aclose(self, *, drain: float | None = None) -> None:
        """Take no more requests, let those under way finish within bounds, and end all sessions and streams."""
        await self._under_way.aclose(drain=self._settings.drain_timeout if drain is None else drain)
        await self._sessions.aclose()
        await self._params.aclose()

    async def _route(self, scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        mounted = self._mounted(path)
        if mounted is not None:
            await mounted(scope, receive, await self._entrance.admit_to_mount(headers, scope, send))
        elif path in _PATHS:
            await self._serve(scope, headers, receive, send)
        elif path in self._metadata and scope["method"] == "GET":
            await send_json(send, self._metadata[path])
        elif path == HEALTH_PATH and scope["method"] == "GET":
            await send_json(send, b'{"status":"ok"}\n')
        else:
            raise Refusal(404, f"There is nothing here; clients are served at `{PATH}`.")

    def _mounted(self, path: str) -> AsgiApp | None:
        places = (each for each in self._mounts if path == each or path.startswith(f"{each}/"))
        place = next(places, None)
        return None if place is None else self._mounts[place]

    async def _serve(self, scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
        method = scope["method"]
        principal = await self._entrance.admit(headers, scope)
        version = headers.get(VERSION)
        modern = version is not None and version not in HANDSHAKE_VERSIONS
        if method == "POST":
            await self._post(headers, principal, receive, send, modern=modern)
        elif method == "GET" and not modern:
            self._under_way.check_room(principal)
            watched = self._rechecked(headers, principal, receive)
            await self._handshake.stream(headers, principal, receive=watched, send=send)
        elif method == "DELETE" and not modern:
            await self._handshake.delete(headers, principal, send)
        else:
            allowed = b"POST" if modern else b"GET, POST, DELETE"
            raise Refusal(405, "That method is not for this place.", headers=((b"allow", allowed),))

    async def _post(
        self, headers: Headers, principal: Identity | None, receive: Receive, send: Send, *, modern: bool
    ) -> None:
        if not headers.is_json():
            raise Refusal(415, "The content type must be `application/json`.")
        if not headers.accepts(b"application/json") or not headers.accepts(b"text/event-stream"):
            raise Refusal(406, "The client must accept `application/json` and `text/event-stream`.")
        with self._under_way.weighing(principal) as weigh:
            with self._under_way.reading(principal):
                message = _checked(await read_message(headers, receive, settings=self._settings, weigh=weigh))
            await self._dispatch(message, headers, principal, receive, send, modern=modern)

    async def _dispatch(
        self,
        message: Mapping[str, Any],
        headers: Headers,
        principal: Identity | None,
        receive: Receive,
        send: Send,
        *,
        modern: bool,
    ) -> None:
        if "method" in message and "id" in message:
            front = self._modern if modern or is_modern(params_of(message)) else self._handshake
            if message["method"] == LISTEN:
                receive = self._rechecked(headers, principal, receive)
            await front.answer(message, headers, principal, receive=receive, send=send)
        elif not modern:
            await self._handshake.take(message, headers, principal, send)
        elif "method" in message:
            await self._modern.take(headers, send)
        else:
            raise Refusal(400, "No question of the server waits for an answer in this version of the protocol.")

    def _rechecked(self, headers: Headers, principal: Identity | None, receive: Receive) -> Receive:
        """For what stays open without an end; a call ends by itself, and would leave nobody knowing what it did."""
        if self._settings.authenticate is None:
            return receive
        return Rechecked(
            receive,
            principal=principal,
            identify=lambda: self._entrance.identity(headers),
            every=self._settings.recheck_interval,
        )

    async def _refuse(self, refusal: Refusal, arriving: Arriving, send: Send) -> None:
        if refusal.status == _TOO_MANY:
            # An answer at once would be an invitation to try again at full speed.
            await self._clock.sleep(HELD_SECONDS)
        most = None
        if arriving.has_much_to_come and CLOSE not in refusal.headers:
            refusal.headers = (*refusal.headers, CLOSE)
            most = self._settings.max_body
        if CLOSE not in refusal.headers:
            await send_refusal(send, refusal)
            return

        async def hold_the_end(event: Event) -> None:
            if event["type"] == "http.response.body":
                await send({**event, "more_body": True})
                await skim(arriving, most=most)
                await send({"type": "http.response.body", "body": b""})
            else:
                await send(event)

        await send_refusal(hold_the_end, refusal)

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            event = await receive()
            if event["type"] == "lifespan.shutdown":
                await self.aclose()
                await send({"type": "lifespan.shutdown.complete"})
                return
            await send({"type": "lifespan.startup.complete"})


def _checked(message: object) -> Mapping[str, Any]:
    """The message, which is one request, notification or answer.

    Raises:
        Refusal: It is not.
    """
    if not isinstance(message, dict) or not is_message(message):
        raise Refusal(400, "The body must be one message of JSON-RPC 2.0.")
    request_id = message.get("id")
    if "id" in message and type(request_id) not in {str, int}:
        raise Refusal(400, "The `id` must be a string or an integer.")
    if "method" in message:
        if not isinstance(message["method"], str) or not isinstance(message.get("params", {}), dict):
            raise Refusal(400, "The `method` must be a string, and `params` an object.", request_id=request_id)
    elif "id" not in message or ("result" not in message and "error" not in message):
        raise Refusal(400, "The body is neither a request, nor a notification, nor an answer.")
    return message


def _sessions(service: Service, settings: HttpFrontSettings, clock: Clock, book: SessionBook | None) -> Sessions:
    if book is None:
        return Sessions(service, settings=settings, clock=clock)
    # Only now: one process alone needs no database for its sessions.
    from toolcrib_mcp.front.http.shared_sessions import SharedSessions

    return SharedSessions(service, settings=settings, book=book, clock=clock)


def _metadata(settings: HttpFrontSettings) -> Mapping[str, bytes]:
    """What is told of the front at which paths; a proxy before it may have taken something off the front of them."""
    resource = settings.resource
    if resource is None:
        return {}
    return dict.fromkeys((WELL_KNOWN, WELL_KNOWN + PATH, resource.metadata_path), resource.metadata())
