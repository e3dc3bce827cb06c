"""What the headers of an HTTP request say about the message in it, in both eras of the protocol."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from toolcrib_mcp.upstreams.eras import INITIALIZE, META_VERSION

SESSION_HEADER: Final = "mcp-session-id"

_VERSION_HEADER: Final = "mcp-protocol-version"
# The parameter that `Mcp-Name` repeats.
_NAMED_BY: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_ANNOTATION: Final = "x-mcp-header"
_VERSION: Final = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_SESSION: Final = re.compile(r"[!-~]{1,1024}")
_PLAIN: Final = re.compile(r"(?![ ])[ -~]*(?<![ ])")
_LOOKS_PACKED: Final = re.compile(r"=\?base64\?.*\?=")

_Path = tuple[str, ...]


class RequestHeaders:
    """Works out the headers of each message, from the message and from what the server said before.

    A message that names its protocol version is of the modern era: it has no session, and headers repeat what it asks
    for. All others carry the session and the version that `initialize` agreed on. `tools` are those that the server is
    known to have, as it listed them: some of their arguments are repeated in headers.
    """

    def __init__(self, tools: Iterable[Mapping[str, Any]] = ()) -> None:
        self.session: str | None = None
        self.modern = False
        self._version: str | None = None
        self._repeated: dict[str, Mapping[_Path, str]] = {}
        self._note_tools(tools)

    def of(self, message: Mapping[str, Any]) -> dict[str, str]:
        """The headers of a message that is about to be sent."""
        params = _object(message.get("params"))
        version = _object(params.get("_meta")).get(META_VERSION)
        if isinstance(version, str) and _VERSION.fullmatch(version):
            self.modern, self._version = True, version
        elif message.get("method") == INITIALIZE:
            # What a probe before it has said must not reach the handshake.
            self.modern, self._version, self.session = False, None, None
        return {**self.of_stream(), **(self._repeating(message, params) if self.modern else {})}

    def of_stream(self) -> dict[str, str]:
        """The headers of a request that carries no message."""
        headers = {}
        if self._version is not None:
            headers[_VERSION_HEADER] = self._version
        if self.session is not None and not self.modern:
            headers[SESSION_HEADER] = self.session
        return headers

    def note_session(self, session: str | None) -> None:
        """Keep the session that came with the answer to `initialize`; one that is no visible ASCII is none."""
        self.session = session if session is not None and _SESSION.fullmatch(session) else None

    def note_answer(self, method: str, answer: Mapping[str, Any]) -> None:
        """Learn from what the server answered."""
        result = _object(answer.get("result"))
        if method == INITIALIZE and _VERSION.fullmatch(str(result.get("protocolVersion"))):
            self._version = result["protocolVersion"]
        elif method == "tools/list" and self.modern and isinstance(result.get("tools"), list):
            self._note_tools(result["tools"])

    def _note_tools(self, tools: Iterable[object]) -> None:
        for tool in map(_object, tools):
            self._repeated.pop(str(tool.get("name")), None)
            paths = _annotated(tool.get("inputSchema"))
            if paths:
                self._repeated[str(tool.get("name"))] = paths

    def _repeating(self, message: Mapping[str, Any], params: Mapping[str, Any]) -> dict[str, str]:
        method = str(message.get("method"))
        headers = {"mcp-method": method} if "method" in message else {}
        name = params.get(_NAMED_BY.get(method, ""))
        if isinstance(name, str):
            headers["mcp-name"] = _packed(name)
        if method == "tools/call" and name in self._repeated:
            for path, token in self._repeated[name].items():
                value = _text_at(params.get("arguments"), path)
                if value is not None:
                    headers[f"mcp-param-{token.lower()}"] = _packed(value)
        return headers


def _annotated(schema: object) -> Mapping[_Path, str]:
    """The places of the arguments that headers repeat, each with the name of its header."""
    if not _mentions_annotation(schema):
        return {}
    # Only now: the SDK takes more than a second to import, and hardly any tool needs it.
    from mcp.shared.inbound import find_invalid_x_mcp_header, x_mcp_header_map

    return {} if find_invalid_x_mcp_header(schema) is not None else x_mcp_header_map(schema)


def _mentions_annotation(schema: object) -> bool:
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            if _ANNOTATION in node:
                return True
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)
    return False


def _text_at(arguments: object, path: _Path) -> str | None:
    value = arguments
    for key in path:
        value = _object(value).get(key)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else None


def _packed(text: str) -> str:
    """The text as a header can carry it: as it is, or marked and in base64."""
    if _PLAIN.fullmatch(text) and not _LOOKS_PACKED.fullmatch(text):
        return text
    return f"=?base64?{base64.b64encode(text.encode(errors='replace')).decode()}?="


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
