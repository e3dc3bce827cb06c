"""A wire to a server of the SDK that lives in this process: for tests, and for toolboxes that are served."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from toolcrib_mcp.rpc import Unreadable, WireClosed, WireNoise
from toolcrib_runtime.guards.secrets import Scrubber, scrub_exception

if TYPE_CHECKING:
    from mcp.server import MCPServer, Server

SHUTDOWN_GRACE: Final = 2.0
"""How long a server may take to end after its input was closed; then it is cancelled."""


class InProcessWire:
    """Messages to and from a server object; get one from `open_in_process_wire`.

    The server runs in a task of its own: however it ends, nobody who speaks with it is cancelled.
    """

    def __init__(self, server: Server[Any], *, scrubber: Scrubber) -> None:
        import anyio
        from mcp.shared.message import SessionMessage

        self._scrubber = scrubber
        self._end: WireClosed | None = None
        self._to_server, self._server_in = anyio.create_memory_object_stream[SessionMessage | Exception](1)
        self._server_out, self._from_server = anyio.create_memory_object_stream[SessionMessage](1)
        self._task = asyncio.create_task(self._serve(server))

    @property
    def noise(self) -> WireNoise:
        """Nothing: an object says nothing but messages."""
        return WireNoise()

    async def send(self, message: Mapping[str, Any]) -> None:
        """Hand a message to the server, and wait until it has room for it.

        Raises:
            WireClosed: The server has ended, or the wire was closed.
            TypeError: The message is not JSON-RPC.
        """
        import anyio
        from mcp.shared.message import SessionMessage
        from mcp_types import jsonrpc_message_adapter
        from pydantic import ValidationError

        try:
            typed = jsonrpc_message_adapter.validate_python(dict(message), by_name=False)
        except ValidationError:
            raise TypeError("the message is not JSON-RPC") from None
        try:
            await self._to_server.send(SessionMessage(typed))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            raise await self._ended() from None

    async def receive(self) -> dict[str, Any] | Unreadable:
        """The next message.

        Raises:
            WireClosed: The server has ended, or the wire was closed.
        """
        import anyio

        try:
            received = await self._from_server.receive()
            while self._end is not None:
                # Closed, the SDK answers what is under way with an error; the end of the wire says it better.
                received = await self._from_server.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            raise await self._ended() from None
        message: dict[str, Any] = received.message.model_dump(by_alias=True, mode="json", exclude_unset=True)
        return message

    async def aclose(self) -> None:
        """Close the server's input, wait for it to end, then cancel it; a second time does nothing."""
        self._end = self._end or WireClosed("The wire was closed.")
        self._to_server.close()
        try:
            await asyncio.wait([self._task], timeout=SHUTDOWN_GRACE)
        finally:
            self._task.cancel()
            await asyncio.wait([self._task])
            self._from_server.close()

    async def _serve(self, server: Server[Any]) -> None:
        with self._server_in, self._server_out:
            try:
                await server.run(self._server_in, self._server_out, server.create_initialization_options())
            except Exception as failure:  # noqa: BLE001  # the edge of the task: the server is somebody else's code
                said = scrub_exception(failure, self._scrubber)
                self._end = self._end or WireClosed(f"The server failed: {said}")

    async def _ended(self) -> WireClosed:
        # Its output ends a moment before the server does, and what it failed with belongs into the error.
        await asyncio.wait([self._task], timeout=SHUTDOWN_GRACE)
        return self._end or WireClosed("The server has ended.")


async def open_in_process_wire(server: Server[Any] | MCPServer, *, scrubber: Scrubber | None = None) -> InProcessWire:
    """Run a server in this process and give the wire to it, which must be closed; both eras are spoken.

    `scrubber` takes secrets out of what is shown of the server's failure.
    """
    from mcp.server import MCPServer

    # The SDK's own client reaches in by the same private name; there is no other.
    inner = server._lowlevel_server if isinstance(server, MCPServer) else server  # noqa: SLF001  # as above
    return InProcessWire(inner, scrubber=scrubber or Scrubber())
