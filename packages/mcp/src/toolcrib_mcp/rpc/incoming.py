"""What the server asks and tells of its own accord: bounded, in order, and never in the way of the answers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from toolcrib_core.wording import quoted
from toolcrib_mcp.rpc.backlog import Backlog
from toolcrib_mcp.rpc.messages import (
    INTERNAL_ERROR,
    METHOD_NOT_FOUND,
    RpcError,
    error_message,
    params_of,
    result_message,
)
from toolcrib_mcp.rpc.stats import ConnectionStats
from toolcrib_mcp.rpc.wire import WireClosed

OnRequest = Callable[[str, dict[str, Any]], Awaitable[Mapping[str, Any]]]
"""Is given the method and params of a request of the server, and returns the result or raises `RpcError`."""

OnNotification = Callable[[str, dict[str, Any]], Awaitable[None]]
"""Is given the method and params of a notification; the next one waits until it returns."""

MAX_REQUESTS: Final = 64
"""How many requests of the server are worked on at once; one more is refused."""

MAX_NOTIFICATIONS: Final = 1024
"""How many notifications wait for a slow listener; more are dropped, log messages when half the room is taken."""

MAX_NOTIFICATION_BYTES: Final = 4 * 1024 * 1024
"""How large they may be together."""

_LOG_SHARE = 0.5
_logger = logging.getLogger("toolcrib.mcp")


class Incoming:
    """Hands requests to `on_request`, each in a task of its own, and notifications to `on_notification`, one by one.

    `ping` is answered here. Without an `on_request`, every other method is refused as unknown. `send` waits until a
    message is sent; `post` leaves that to somebody else.
    """

    def __init__(
        self,
        *,
        on_request: OnRequest | None,
        on_notification: OnNotification | None,
        send: Callable[[dict[str, Any]], Awaitable[None]],
        post: Callable[[dict[str, Any]], None],
        stats: ConnectionStats,
    ) -> None:
        self._on_request = on_request
        self._on_notification = on_notification
        self._send = send
        self._post = post
        self._stats = stats
        self._tasks: dict[str | int, asyncio.Task[None]] = {}
        self._notifications = Backlog(max_items=MAX_NOTIFICATIONS, max_bytes=MAX_NOTIFICATION_BYTES)
        self._news = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()

    def take_request(self, message: Mapping[str, Any], group: asyncio.TaskGroup) -> None:
        """Answer a request of the server, or begin to; one whose id cannot be answered to is dropped."""
        request_id, method = message["id"], message["method"]
        if type(request_id) not in {str, int} or request_id in self._tasks:
            self._stats.refused_requests += 1
        elif method == "ping":
            self._post(result_message(request_id, {}))
        elif self._on_request is None:
            self._refuse(request_id, RpcError(METHOD_NOT_FOUND, "Method not found"))
        elif len(self._tasks) >= MAX_REQUESTS:
            self._refuse(request_id, RpcError(INTERNAL_ERROR, "Too many requests at once"))
        else:
            work = self._answer(self._on_request, request_id, method, params_of(message))
            task = self._tasks[request_id] = group.create_task(work)
            # Not in the work itself, which never begins if it is taken back at once.
            task.add_done_callback(lambda _: self._tasks.pop(request_id))

    def take_notification(self, message: Mapping[str, Any]) -> None:
        """Keep a notification for the listener; a request that the server takes back is stopped here."""
        method, params = message["method"], params_of(message)
        if method == "notifications/cancelled":
            self._take_back(params.get("requestId"))
        elif self._on_notification is not None:
            share = _LOG_SHARE if method == "notifications/message" else 1.0
            if self._notifications.append(method, params, share=share):
                self._idle.clear()
                self._news.set()
            else:
                self._stats.dropped_notifications += 1

    async def deliver(self) -> None:
        """Hand on notifications as they come, until cancelled."""
        while self._on_notification is not None:
            await self._news.wait()
            while self._notifications:
                item = self._notifications.popleft()
                await self._tell(self._on_notification, item.method, item.params)
            self._news.clear()
            self._idle.set()

    async def until_delivered(self) -> None:
        """Wait until no notification waits."""
        await self._idle.wait()

    def stop(self) -> None:
        """Stop the work on all requests."""
        for task in self._tasks.values():
            task.cancel()

    async def _answer(self, on_request: OnRequest, request_id: str | int, method: str, params: dict[str, Any]) -> None:
        try:
            await self._send(result_message(request_id, await on_request(method, params)))
        except WireClosed:
            return
        except RpcError as error:
            self._refuse(request_id, error)
        except Exception:
            # The edge between us and a server: our failure is not to end the connection, and its text is not for it.
            _logger.exception("the request %s of a server could not be answered", quoted(method))
            self._stats.failed_handlers += 1
            self._refuse(request_id, RpcError(INTERNAL_ERROR, "Internal error"))

    async def _tell(self, on_notification: OnNotification, method: str, params: dict[str, Any]) -> None:
        try:
            await on_notification(method, params)
        except Exception:
            _logger.exception("the notification %s of a server could not be handed on", quoted(method))
            self._stats.failed_handlers += 1

    def _take_back(self, request_id: object) -> None:
        task = self._tasks.get(request_id) if isinstance(request_id, str | int) else None
        if task is not None:
            task.cancel()

    def _refuse(self, request_id: str | int, error: RpcError) -> None:
        self._stats.refused_requests += 1
        self._post(error_message(request_id, error))
