"""What is asked of a server, directly and through the proxy, to see that the answers are the same."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

_DOCUMENT: Final = "demo://resource/static/document/features.md"
_TIME: Final = re.compile(r"\d{1,2}:\d\d:\d\d(?: [AP]M)?")
# A modern client is told these whatever the server is; one of the handshake era has no words for them.
_OF_THE_ERA: Final = ("resultType", "ttlMs", "cacheScope")
_SERVER_INFO: Final = "io.modelcontextprotocol/serverInfo"


@dataclass(frozen=True)
class Asking:
    """One request."""

    method: str
    params: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.method} {json.dumps(self.params)}"


def tool(name: str, **arguments: Any) -> Asking:
    """The call of a tool."""
    return Asking("tools/call", {"name": name, "arguments": arguments})


def prompt(name: str, **arguments: str) -> Asking:
    """A prompt with its arguments."""
    return Asking("prompts/get", {"name": name, "arguments": arguments})


def resource(uri: str) -> Asking:
    """The contents of a resource."""
    return Asking("resources/read", {"uri": uri})


def completion(kind: str, reference: Mapping[str, str], argument: str, typed: str, **known: str) -> Asking:
    """What may be meant by a few letters, where some arguments are known already."""
    params: dict[str, Any] = {
        "ref": {"type": kind, **reference},
        "argument": {"name": argument, "value": typed},
    }
    return Asking("completion/complete", {**params, "context": {"arguments": known}} if known else params)


LISTS: Final = (
    Asking("tools/list"),
    Asking("prompts/list"),
    Asking("resources/list"),
    Asking("resources/templates/list"),
)

EVERYTHING_CALLS: Final = (
    tool("echo", message="übung ⚒ \u2028 \ud83d\udc26".encode("utf-16", "surrogatepass").decode("utf-16")),
    tool("get-sum", a=2, b=3.5),
    tool("get-tiny-image"),
    tool("get-annotated-message", messageType="error", includeImage=True),
    tool("get-resource-links", count=3),
    tool("get-resource-reference", resourceType="Text", resourceId=1),
    tool("get-resource-reference", resourceType="Blob", resourceId=2),
    tool("get-structured-content", location="Chicago"),
    tool("trigger-long-running-operation", duration=0.4, steps=4),
)
EVERYTHING_REST: Final = (
    resource(_DOCUMENT),
    resource("demo://resource/dynamic/text/1"),
    resource("demo://resource/dynamic/blob/2"),
    resource("demo://resource/static/document/none.md"),
    prompt("simple-prompt"),
    prompt("args-prompt", city="Oslo", state="there"),
    prompt("resource-prompt", resourceType="Text", resourceId="1"),
    prompt("no-such-prompt"),
    completion("ref/prompt", {"name": "completable-prompt"}, "department", "E"),
    completion("ref/prompt", {"name": "completable-prompt"}, "name", "A", department="Sales"),
    completion("ref/resource", {"uri": "demo://resource/dynamic/text/{resourceId}"}, "resourceId", "1"),
)
EVERYTHING_REFUSALS: Final = (tool("no-such-tool"), tool("get-sum", a="two"))
EVERYTHING: Final = (*LISTS, *EVERYTHING_CALLS, *EVERYTHING_REST, *EVERYTHING_REFUSALS)

FIXTURE: Final = (
    *LISTS,
    tool("test_simple_text"),
    tool("test_image_content"),
    tool("test_audio_content"),
    tool("test_embedded_resource"),
    tool("test_multiple_content_types"),
    tool("test_error_handling"),
    tool("test_tool_with_progress"),
    tool("no-such-tool"),
    tool("test_missing_capability"),
    resource("test://static-text"),
    resource("test://static-binary"),
    resource("test://template/7/data"),
    resource("test://nowhere"),
    prompt("test_prompt_with_arguments", arg1="one", arg2="two"),
    prompt("test_prompt_with_embedded_resource", resourceUri="test://static-text"),
    prompt("test_prompt_with_image"),
    prompt("no-such-prompt"),
    completion("ref/prompt", {"name": "test_prompt_with_arguments"}, "arg1", "par"),
)


def comparable(result: Mapping[str, Any], *, bridged: bool = False) -> Any:
    """A result without what differs from run to run: the time of day, and who the server says it is.

    Where the client is modern and the server is not (`bridged`), what only a modern client is told goes, too.
    """
    left_out = _OF_THE_ERA if bridged else ()
    kept = {name: value for name, value in result.items() if name not in left_out}
    meta = kept.get("_meta")
    if isinstance(meta, dict):
        kept["_meta"] = {name: value for name, value in meta.items() if name != _SERVER_INFO}
        if not kept["_meta"]:
            del kept["_meta"]
    return _timeless(kept)


def differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """The requests that were answered differently, with both answers."""
    return {name: (answer, other.get(name)) for name, answer in one.items() if answer != other.get(name)}


def _timeless(value: Any) -> Any:
    match value:
        case str():
            return _TIME.sub("(time)", value)
        case {"blob": str(blob)}:
            return {**value, "blob": _timeless(base64.b64decode(blob).decode(errors="replace"))}
        case dict():
            return {name: _timeless(each) for name, each in value.items()}
        case list():
            return [_timeless(each) for each in value]
    return value
