"""The two tools of the proxy itself: what a model reads about them, and how their arguments are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

HYDRATE: Final = "tool_hydrate"
EXECUTE: Final = "tool_execute"

INSTRUCTIONS: Final = (
    "All tools but `tool_hydrate` and `tool_execute` are listed without their parameters and cannot be called by name. "
    "To use one: `tool_hydrate` with its name as `tool_id` shows its parameters, then `tool_execute` runs it."
)
"""What a client is told at first."""

_TOOL_ID: Final = {"type": "string", "minLength": 1, "description": "Name of the tool, exactly as listed."}

HYDRATE_TOOL: Final[Mapping[str, Any]] = {
    "name": HYDRATE,
    "description": "Show the full definition of one listed tool, with the JSON schema of its arguments.",
    "inputSchema": {
        "type": "object",
        "properties": {"tool_id": _TOOL_ID},
        "required": ["tool_id"],
        "additionalProperties": False,
    },
    "annotations": {"readOnlyHint": True, "openWorldHint": False},
}
EXECUTE_TOOL: Final[Mapping[str, Any]] = {
    "name": EXECUTE,
    "description": "Run one listed tool and return its result. Arguments are checked first: `ARGS_INVALID` lists every "
    "mistake.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "tool_id": _TOOL_ID,
            "args": {"type": "object", "description": "Arguments of that tool, as its schema asks."},
        },
        "required": ["tool_id"],
        "additionalProperties": False,
    },
    "annotations": {"readOnlyHint": False, "openWorldHint": True},
}
META_TOOLS: Final = {HYDRATE: HYDRATE_TOOL, EXECUTE: EXECUTE_TOOL}


class Execution(NamedTuple):
    """What `tool_execute` was asked for."""

    tool_id: str
    args: dict[str, Any]


def read_hydrate(arguments: Mapping[str, Any]) -> str:
    """The tool that `tool_hydrate` was asked about.

    Raises:
        ArgumentError: The arguments are not those of `tool_hydrate`.
    """
    from toolcrib_core import validate_arguments

    tool_id: str = validate_arguments(HYDRATE_TOOL["inputSchema"], arguments)["tool_id"]
    return tool_id


def read_execute(arguments: Mapping[str, Any]) -> Execution:
    """The call that `tool_execute` was asked to make; without `args` it has no arguments.

    Raises:
        ArgumentError: The arguments are not those of `tool_execute`.
    """
    from toolcrib_core import validate_arguments

    read = validate_arguments(EXECUTE_TOOL["inputSchema"], arguments)
    return Execution(read["tool_id"], read.get("args", {}))
