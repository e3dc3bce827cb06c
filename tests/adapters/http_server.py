"""HTTP on this machine for a model that plays a provider: what it answers goes out as JSON or as a stream of events."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, TypeAlias


class Reply(NamedTuple):
    """What goes back over HTTP."""

    status: int
    body: bytes
    content_type: str = "application/json"


Answer: TypeAlias = Callable[[str, bytes], Reply]
"""Gets the path and the body of a POST."""


class Refused(Exception):
    """The provider would answer with this status and error."""

    def __init__(self, status: int, error: dict[str, Any]) -> None:
        super().__init__(status, error)
        self.reply = Reply(status, json.dumps(error).encode())


class Script:
    """What a model says, turn by turn or in answer to each request, and what it was asked.

    Where the requests come from a real client, `checked=False` leaves out what the API would refuse: that is for
    requests of ours.
    """

    def __init__(
        self,
        turns: Sequence[Sequence[dict[str, Any]]] | Callable[[dict[str, Any]], Sequence[dict[str, Any]]],
        *,
        checked: bool = True,
    ) -> None:
        remaining = iter(() if callable(turns) else turns)
        self._decide = turns if callable(turns) else lambda _: next(remaining)
        self.checked = checked
        self.requests: list[dict[str, Any]] = []
        self.bodies: list[bytes] = []

    def take(self, request: dict[str, Any], body: bytes) -> list[dict[str, Any]]:
        """The next turn, in answer to a request that was found to be good."""
        self.requests.append(request)
        self.bodies.append(body)
        return list(self._decide(request))


def sse_reply(events: Iterable[tuple[str | None, object]]) -> Reply:
    """Server-sent events, each with its name, if it has one, and its data as JSON."""
    lines = (f"event: {name}\n" * (name is not None) + f"data: {json.dumps(data)}\n\n" for name, data in events)
    return Reply(200, "".join(lines).encode(), "text/event-stream")


@contextmanager
def serving(answer: Answer) -> Iterator[str]:
    """The base URL at which this machine answers while the context is open."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(answer))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _handler(answer: Answer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            try:
                reply = answer(self.path, body)
            except Refused as refusal:
                reply = refusal.reply
            self.send_response(reply.status)
            self.send_header("content-type", reply.content_type)
            self.send_header("content-length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body)

        def log_message(self, *_: object) -> None:
            """Nothing: the test says what was asked."""

    return Handler
