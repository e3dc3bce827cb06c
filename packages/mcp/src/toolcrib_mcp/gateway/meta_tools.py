"""The tools of the gateway: what a model reads about them, and how their arguments are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from toolcrib_mcp.browse import Detail

BROWSE: Final = "tool_browse"
EXECUTE: Final = "tool_execute"
EXECUTE_READ: Final = "tool_execute_read"
EXECUTE_WRITE: Final = "tool_execute_write"
EXECUTE_DESTRUCTIVE: Final = "tool_execute_destructive"
VIEW: Final = "tool_view"

INSTRUCTIONS: Final = (
    "Gives access to the tools of many servers. `tool_browse` finds tools by what you want to do, `tool_execute` runs "
    "one by its id, `tool_view` reads parts of a large result. Start with `tool_browse`."
)
"""What a client is told at first, before the digest."""

INSTRUCTIONS_BY_RISK: Final = (
    "Gives access to the tools of many servers. `tool_browse` finds tools by what you want to do, `tool_execute_read` "
    "runs one by its id, or names which of `tool_execute_write` and `tool_execute_destructive` does, `tool_view` reads "
    "parts of a large result. Start with `tool_browse`."
)
"""The same where tools are run by risk."""

_CHECKED: Final = (
    "Arguments are checked first: ARGS_INVALID lists every mistake with the schema, so just try. A large result comes "
    'back as a summary with handles for tool_view; {"$artifact": handle, "pointer"?, "patch"?: [RFC 6902]} as a value '
    "in args passes one on unread."
)

BROWSE_TOOL: Final[Mapping[str, Any]] = {
    "name": BROWSE,
    "description": "Find tools by `query` (what you want to do, in plain words) or `path` (`/`, or one you were "
    "shown). Each line: tool id, what it does, arguments it needs.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "query": {"type": "string"},
            "path": {"type": "string"},
            "limit": {"type": "integer"},
            "detail": {
                "enum": ["card", "schema", "full"],
                "description": "full: all of one tool, its id as path",
            },
        },
        "additionalProperties": False,
    },
    "annotations": {"readOnlyHint": True},
}
EXECUTE_TOOL: Final[Mapping[str, Any]] = {
    "name": EXECUTE,
    "description": f"Run a tool. {_CHECKED}",
    "inputSchema": {
        "type": "object",
        "properties": {"tool_id": {"type": "string"}, "args": {"type": "object"}},
        "required": ["tool_id"],
        "additionalProperties": False,
    },
    "annotations": {"destructiveHint": True},
}
VIEW_TOOL: Final[Mapping[str, Any]] = {
    "name": VIEW,
    "description": 'Read part of a large result. selector: {"type": "head", "lines": 20}; types: head/tail {lines}, '
    "lines/bytes {start, end}, search {text or pattern, context}, path {path: JSONPath}, pointer/keys/shape {pointer}, "
    "rows {columns, where: [{column, op, value}], sort: [{column, desc}], start, count}, all, raw. Where an answer "
    "ends in a cursor, repeat the call with it.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "handle": {"type": "string"},
            "selector": {"type": "object", "required": ["type"]},
            "cursor": {"type": "string"},
        },
        "required": ["handle", "selector"],
        "additionalProperties": False,
    },
    "annotations": {"readOnlyHint": True},
}
META_TOOLS: Final = (BROWSE_TOOL, EXECUTE_TOOL, VIEW_TOOL)

EXECUTE_READ_TOOL: Final[Mapping[str, Any]] = {
    "name": EXECUTE_READ,
    "description": f"Run a tool that only reads. {_CHECKED}",
    "inputSchema": EXECUTE_TOOL["inputSchema"],
    "annotations": {"readOnlyHint": True},
}
EXECUTE_WRITE_TOOL: Final[Mapping[str, Any]] = {
    "name": EXECUTE_WRITE,
    "description": "As tool_execute_read, for tools that also write.",
    "inputSchema": EXECUTE_TOOL["inputSchema"],
    "annotations": {"destructiveHint": False},
}
EXECUTE_DESTRUCTIVE_TOOL: Final[Mapping[str, Any]] = {
    "name": EXECUTE_DESTRUCTIVE,
    "description": "As tool_execute_read, for tools that may destroy, or whose effects are not known.",
    "inputSchema": EXECUTE_TOOL["inputSchema"],
    "annotations": {"destructiveHint": True},
}
META_TOOLS_BY_RISK: Final = (
    BROWSE_TOOL,
    EXECUTE_READ_TOOL,
    EXECUTE_WRITE_TOOL,
    EXECUTE_DESTRUCTIVE_TOOL,
    VIEW_TOOL,
)


class Browse(NamedTuple):
    """What `tool_browse` was asked for."""

    query: str | None
    path: str | None
    limit: int | None
    detail: Detail | Literal["full"]


class Execution(NamedTuple):
    """What `tool_execute` was asked for."""

    tool_id: str
    args: dict[str, Any]


class Viewing(NamedTuple):
    """What `tool_view` was asked for."""

    handle: str
    selector: dict[str, Any]
    cursor: str | None


def read_browse(arguments: Mapping[str, Any]) -> Browse:
    """The page that `tool_browse` was asked for; an argument that is null counts as not given.

    Raises:
        ArgumentError: The arguments are not those of `tool_browse`.
    """
    read = _read(BROWSE_TOOL, arguments)
    return Browse(read.get("query"), read.get("path"), read.get("limit"), read.get("detail", "card"))


def read_execute(arguments: Mapping[str, Any]) -> Execution:
    """The call that `tool_execute` was asked to make; without `args` it has no arguments.

    Raises:
        ArgumentError: The arguments are not those of `tool_execute`.
    """
    read = _read(EXECUTE_TOOL, arguments)
    return Execution(read["tool_id"], read.get("args", {}))


def read_view(arguments: Mapping[str, Any]) -> Viewing:
    """The part that `tool_view` was asked for.

    Raises:
        ArgumentError: The arguments are not those of `tool_view`.
    """
    read = _read(VIEW_TOOL, arguments)
    return Viewing(read["handle"], read["selector"], read.get("cursor"))


def _read(tool: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    # Here: the list of these tools is answered before anything is validated.
    from toolcrib_core import validate_arguments

    # Many models fill in every optional argument, with null where they mean nothing.
    given = {name: value for name, value in arguments.items() if value is not None}
    return validate_arguments(tool["inputSchema"], given)
