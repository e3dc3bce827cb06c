"""What a result is for an adapter: anything with a call id, content blocks and perhaps an error."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple, Protocol, TypeAlias

import orjson

from toolcrib_core.errors import ToolError
from toolcrib_core.excerpts import error_text, excerpt_text
from toolcrib_core.json_values import JsonObject, JsonValue

PartKind: TypeAlias = Literal["text", "image", "audio", "file", "link"]


class ResultLike(Protocol):
    """The result of one call. `ToolResult` of the runtime, `ResultContent` and `BrokenCall` are such."""

    @property
    def call_id(self) -> str:
        """The vendor's id of the call."""

    @property
    def tool_id(self) -> str:
        """The id of the tool."""

    @property
    def error(self) -> ToolError | None:
        """What went wrong, if something did."""

    @property
    def value(self) -> JsonValue:
        """The structured value, if there is one."""

    @property
    def content(self) -> tuple[JsonObject, ...]:
        """What to show to the model, in the shape of MCP content blocks."""


class ResultContent(NamedTuple):
    """A result for those who run tools without the runtime: text, a JSON value, content blocks or an error."""

    call_id: str
    tool_id: str = ""
    value: JsonValue = None
    """Text is shown as it is, anything else as JSON."""
    error: ToolError | None = None
    blocks: tuple[JsonObject, ...] | None = None
    """MCP content blocks to show in place of the value."""

    @property
    def content(self) -> tuple[JsonObject, ...]:
        """What to show to the model, in the shape of MCP content blocks."""
        if self.error is not None:
            return ({"type": "text", "text": error_text(self.error)},)
        return self.blocks if self.blocks is not None else ({"type": "text", "text": as_text(self.value)},)

    def __repr__(self) -> str:
        failure = f", error={self.error.code!r}" if self.error is not None else ""
        return f"ResultContent(call_id={self.call_id!r}, tool_id={self.tool_id!r}{failure})"


class Part(NamedTuple):
    """One piece of a result, freed of the many forms of content blocks.

    A `text` has `text`. An `image`, `audio` or `file` has base64 `data` and its `mime_type`. A `link` has a `uri`. What
    is of no known kind becomes a `text` that holds the block as JSON, so that nothing is dropped.
    """

    kind: PartKind
    text: str = ""
    data: str = ""
    mime_type: str = ""
    uri: str = ""
    name: str = ""


def result_parts(result: ResultLike) -> tuple[Part, ...]:
    """The pieces of a result in order; an error is one text. There is always at least one piece."""
    if result.error is not None:
        return (Part("text", text=error_text(result.error)),)
    return tuple(map(_part, result.content)) or (Part("text"),)


def as_text(value: JsonValue) -> str:
    """A value as a model reads it: text as it is, anything else as JSON."""
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def joined_text(parts: Iterable[Part]) -> str:
    """The pieces as one text, for a vendor that takes nothing else: what is not text is named, not shown."""
    return "\n".join(each.text if each.kind == "text" else _named(each) for each in parts)


def error_object(error: ToolError) -> JsonObject:
    """The error as a small JSON object, for vendors without a flag for errors.

    It has the code, the message, whether to try again, the hint, and as `excerpt` what the server or program said
    itself, marked as its words.
    """
    shown: JsonObject = {"code": error.code, "message": error.message, "retryable": error.retryable}
    optional: JsonObject = {"hint": error.hint, "excerpt": excerpt_text(error)}
    return shown | {key: value for key, value in optional.items() if value}


def error_json(error: ToolError) -> str:
    """The error as JSON text `{"error": {…}}`, which no model takes for a result."""
    return as_text({"error": error_object(error)})


def _part(block: JsonObject) -> Part:
    match block:
        case {"type": "text", "text": str(text)}:
            return Part("text", text=text)
        case {"type": "image" | "audio" as kind, "data": str(data), "mimeType": str(mime)}:
            return Part("image" if kind == "image" else "audio", data=data, mime_type=mime)
        case {"type": "resource", "resource": {"text": str(text), **rest}}:
            return Part("text", text=text, uri=_str(rest.get("uri")), mime_type=_str(rest.get("mimeType")))
        case {"type": "resource", "resource": {"blob": str(data), **rest}}:
            mime, uri = _str(rest.get("mimeType")), _str(rest.get("uri"))
            is_image = mime.startswith("image/")
            return Part(
                "image" if is_image else "file", data=data, mime_type=mime, uri=uri, name=uri.rsplit("/", 1)[-1]
            )
        case {"type": "resource_link", "uri": str(uri), **rest}:
            return Part("link", uri=uri, name=_str(rest.get("name")), mime_type=_str(rest.get("mimeType")))
    return Part("text", text=as_text(block))


def _str(value: object) -> str:
    return value if isinstance(value, str) else ""


def _named(part: Part) -> str:
    if part.kind == "link":
        return f"[{part.name or 'link'}]({part.uri})"
    described = " ".join(each for each in (part.mime_type, part.name) if each)
    return f"[{part.kind}{f': {described}' if described else ''}, not shown]"
