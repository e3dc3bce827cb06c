"""A call that the Claude Agent SDK hands to a server, read and checked against the original schema."""

from __future__ import annotations

from typing import Any, NamedTuple

from toolcrib_core.errors import ToolError
from toolcrib_core.providers.names import ToolNames
from toolcrib_core.providers.parsed import BrokenCall
from toolcrib_core.providers.reading import read_call
from toolcrib_core.schema.validate import validate_arguments


class ValidCall(NamedTuple):
    """A call that can run: of a tool that there is, with arguments that it takes."""

    tool_id: str
    arguments: dict[str, Any]

    def __repr__(self) -> str:
        # Arguments may be secrets.
        return f"ValidCall(tool_id={self.tool_id!r})"


def parse_claude_agent_call(name: object, arguments: object, names: ToolNames) -> ValidCall | BrokenCall:
    """The call of a tool by its listed name or by the name that the model sees.

    A call that cannot run is a `BrokenCall`: its text tells the model what to send instead.
    """
    # The protocol lets a client leave out the arguments of a call that has none.
    read = read_call(names, call_id="", name=name, arguments=arguments, may_be_absent=True).outcome
    if isinstance(read, BrokenCall):
        return read
    try:
        # The schema that the model saw may take more than the original.
        return ValidCall(read.tool, validate_arguments(names.by_id(read.tool), read.arguments or {}))
    except ToolError as failure:
        return BrokenCall("", read.tool, failure)
