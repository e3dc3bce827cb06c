"""Web services on this machine for tests: they note what they are asked, and answer what they are told to."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class Asked(NamedTuple):
    """One request as it came; a body that is not JSON as bytes."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


class Service:
    """Answers every request with `status` and `answer`; `echo` lets it say what it was sent."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.status = 200
        self.answer: object = {}
        self.headers: dict[str, str] = {}
        self.echo = False
        self.held = threading.Event()
        self.held.set()
        self.url = ""


@contextmanager
def web_service() -> Iterator[Service]:
    """A service on this machine, while the context is open."""
    service = Service()

    class Handler(BaseHTTPRequestHandler):
        def _any(self) -> None:
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
            is_json = "json" in self.headers.get("content-type", "json")
            body = (json.loads(raw) if is_json else raw) if raw else None
            service.asked.append(Asked(self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            service.held.wait(30)
            answer = (
                {"sent": dict(self.headers), "body": body if is_json else raw.decode("latin-1")}
                if service.echo
                else service.answer
            )
            data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(service.status)
            for name, value in {"content-length": str(len(data)), **service.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            with suppress(OSError):  # a client that gave up
                self.wfile.write(data)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _any  # noqa: N815  # as the library calls them

        def log_message(self, *_: object) -> None:
            """Nothing: the tests look at what was asked."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    service.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield service
    finally:
        service.held.set()
        server.shutdown()
        thread.join()
        server.server_close()
