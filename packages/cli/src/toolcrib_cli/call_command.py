"""`toolcrib call`: one call of a tool, and its result as a person or a program wants it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from toolcrib_cli.asking import Choice
from toolcrib_cli.call_arguments import read_arguments
from toolcrib_cli.edge import FAILED
from toolcrib_cli.screen import print_json, print_text, printable, tell, working
from toolcrib_cli.session import with_gateway
from toolcrib_core.wording import count, quoted
from toolcrib_mcp.errors import GatewayError
from toolcrib_runtime.errors import ApprovalRequired

if TYPE_CHECKING:
    from toolcrib_mcp.front import Request
    from toolcrib_mcp.gateway import ExecuteResult, Gateway

_MAX_READ: Final = 4 * 1024 * 1024
_VIEW_CALL: Final = "tool_view "


def run_call(
    *, choice: Choice, tool: str, pairs: Sequence[str], args: str | None, timeout: float, as_json: bool, yes: bool
) -> int:
    """Make the call, print its result, and give the exit code; with `yes` nobody is asked whether it may run.

    Raises:
        ToolError: The call could not be made.
        BadParameter: The arguments cannot be read.
    """
    from toolcrib_cli.consent import request_of_this_person

    async def work(gateway: Gateway) -> ExecuteResult:
        snapshot = gateway.hub.catalog.snapshot()
        hydrated = snapshot.hydrate(tool)
        arguments = read_arguments(pairs, args, hydrated.input_schema)
        with working(f"Calling {hydrated.tool_id} …") as line:
            request = request_of_this_person(yes=yes, before_asking=line.stop)
            return await execute(gateway, tool, arguments, request=request)

    try:
        result = with_gateway(choice, work, timeout=timeout, keeping=True)
    except ApprovalRequired as failure:
        failure.hint = _how_to_allow(failure, choice, tool)
        raise
    if as_json:
        print_json(call_json(result))
    else:
        show(result)
    return FAILED if result.is_error else 0


async def execute(
    gateway: Gateway, tool_id: str, arguments: dict[str, Any], *, request: Request | None = None
) -> ExecuteResult:
    """Call a tool.

    Raises:
        ToolError: The call could not be made, or the server answered with an error.
    """
    from toolcrib_mcp.rpc import RpcError

    try:
        return await gateway.execute(tool_id, arguments, request=request)
    except RpcError as failure:
        raise GatewayError(f"The server of {quoted(tool_id)} answered with an error: {failure.message}") from None


def call_json(result: ExecuteResult) -> dict[str, Any]:
    """What `toolcrib call --json` prints."""
    told = {"tool": result.tool_id, "isError": result.is_error, "result": result.result}
    return told if result.envelope is None else told | {"kept": result.envelope.to_json()}


def _how_to_allow(failure: ApprovalRequired, choice: Choice, tool: str) -> str:
    """What a person types next, where nobody could be asked; the hint of the gateway is written for a model."""
    where = _same_catalogue(choice)
    named = shlex.quote(tool.partition("#")[0])
    waiting = failure.details.get("approvalId")
    once = f"`toolcrib approvals grant {waiting}{where}`, and make it again; or " if waiting else ""
    return (
        f"Nothing was run. To allow this call: {once}add `--yes`. "
        f"To see why it is asked about, and what changes that: `toolcrib policy explain {named}{where}`."
    )


def _same_catalogue(choice: Choice) -> str:
    """The options of a command that is about the same catalogue."""
    chosen: list[tuple[str, object]] = [("--config", choice.config)]
    chosen += [("--toolpacks", each) for each in choice.toolpacks]
    chosen += [("--toolbox", each) for each in choice.python_tools]
    chosen.append(("--state-dir", choice.state_dir))
    said = "".join(f" {option} {shlex.quote(str(value))}" for option, value in chosen if value is not None)
    return f"{said}{' --contextpacks' if choice.context_packs else ''}{' --demo' if choice.demo else ''}"


def show(result: ExecuteResult) -> None:
    """Print a result for people; what a tool says of its failure goes to standard error."""
    for block in result.result.get("content") or ():
        if isinstance(block, dict) and isinstance(block.get("text"), str):
            if result.is_error:
                _tell_failure(block["text"])
            else:
                print_text(_readable(block["text"]) if result.envelope is None else for_people(block["text"]))
    others = sum(not (isinstance(each, dict) and "text" in each) for each in result.result.get("content") or ())
    if others:
        tell(f"{count(others, 'block is', 'blocks are')} not text: `--json` has all of it.")


def for_people(summary: str) -> str:
    """The summary of a large result, with commands to type in place of calls of `tool_view`."""
    return "\n".join(map(_with_command, summary.replace("with tool_view.", "with `toolcrib view`.").split("\n")))


def _with_command(line: str) -> str:
    if not line.startswith(_VIEW_CALL):
        return line
    try:
        call, end = json.JSONDecoder().raw_decode(line, len(_VIEW_CALL))
        selector = json.dumps(call["selector"], ensure_ascii=False)
        typed = f"toolcrib view {shlex.quote(call['handle'])} --selector {shlex.quote(selector)}"
    except (ValueError, KeyError, TypeError):
        return line
    more = line[end:].lstrip("; ")
    return f"{typed}\n{more}" if more else typed


def _tell_failure(text: str) -> None:
    """What a tool says of its failure: in our own form it is a sentence and what to do; else as it came."""
    told = _value(text)
    if isinstance(told, dict) and isinstance(told.get("message"), str):
        tell(f"error: {printable(told['message'])}")
        if told.get("excerpt"):
            tell(f"  {printable(str(told['excerpt']))}")
        if told.get("hint"):
            tell(f"hint: {printable(str(told['hint']))}")
    else:
        tell("\n  ".join(map(printable, f"error: {text}".splitlines())))


def _readable(text: str) -> str:
    """JSON is indented for people; whatever else stays as it is."""
    value = _value(text)
    return text if value is None else json.dumps(value, indent=2, ensure_ascii=False)


def _value(text: str) -> Any:
    if len(text) > _MAX_READ or not text.startswith(("{", "[")):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
