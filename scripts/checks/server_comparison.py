"""Real servers, directly and through toolcrib: what they list and answer, and where the two differ."""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import signal
import sys
import tempfile
from collections.abc import Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, TypeVar

from checks.descendants import adopt_orphans, end_descendants
from checks.real_servers import install, select_parts
from checks.server_catalogue import Server, Unavailable, read_catalogue, select_servers
from checks.server_fixtures import Fixtures, serve_fixtures
from checks.stdio_client import Message, ServerCommand, ServerEnded, StdioClient, connect

Mode: TypeAlias = Literal["transparent", "gateway"]
MODES: Final[tuple[Mode, ...]] = ("transparent", "gateway")

ALLOW: Final = 'version = 1\ndefault = "allow"\n'

_MASKED: Final = (
    "The temporary folder has a random name and stands in `DB_URL` of another server, so it is masked as a part of a "
    "variable that looks like a key."
)
EXPLAINED: Final[Mapping[tuple[str, Mode, str], str]] = {
    ("word", "transparent", "list_available_documents: result"): _MASKED,
    ("word", "gateway", "list_available_documents: result"): _MASKED,
}
"""By server (`*` for each), mode and place: why a difference is right."""

_Result = TypeVar("_Result")
_AT_ONCE: Final = 6
_START_SECONDS: Final = 180.0
_READY_SECONDS: Final = 240.0
_CALL_SECONDS: Final = 180.0
_SHOWN_CHARACTERS: Final = 300
_UNAVAILABLE: Final = "io.toolcrib/unavailable"
_END_SECONDS: Final = 20.0
_PAUSE_SECONDS: Final = 0.5


@dataclass(frozen=True, kw_only=True)
class Observation:
    """What one way to a server showed."""

    tools: Mapping[str, Message] | None
    """By the server's own names; nothing where this way lists none."""
    answers: tuple[Message, ...] = ()
    failure: str | None = None
    """Why there is nothing at all."""


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One place where a mode does not show what the server shows directly."""

    server: str
    mode: Mode
    place: str
    direct: str
    through: str

    @property
    def reason(self) -> str | None:
        """Why it is right; nothing where nobody has explained it."""
        named = ((self.server, self.mode, self.place), ("*", self.mode, self.place))
        return next((EXPLAINED[key] for key in named if key in EXPLAINED), None)


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One server."""

    server: str
    tools: int = 0
    calls: int = 0
    skipped: str | None = None
    """Why it was not compared."""
    differences: tuple[Difference, ...] = field(default=())

    @property
    def unexplained(self) -> tuple[Difference, ...]:
        """What makes the script fail."""
        return tuple(each for each in self.differences if each.reason is None)


def compare(server: Server, mode: Mode, direct: Observation, through: Observation) -> Iterator[Difference]:
    """Every place where the two differ."""

    def difference(place: str, left: object, right: object) -> Difference:
        return Difference(server=server.name, mode=mode, place=place, direct=_shown(left), through=_shown(right))

    if direct.failure or through.failure:
        if direct.failure != through.failure:
            yield difference("start", direct.failure or "it works", through.failure or "it works")
        return
    if direct.tools is not None and through.tools is not None:
        listed = (normalise(dict(each.tools or {}), server.volatile) for each in (direct, through))
        for place, left, right in _listed_differences(*listed):
            yield difference(place, left, right)
    for call, left, right in zip(server.calls, direct.answers, through.answers, strict=True):
        if call.holds not in json.dumps(left, ensure_ascii=False):
            yield difference(f"{call.tool}: answer", left, f"it should hold: {call.holds}")
        if mode == "gateway" and "error" in left:
            left, right = _failures_of(left, right)  # noqa: PLW2901  # the two in another form
        expected, found = (normalise(each, server.volatile) for each in (left, right))
        for place, one, other in _value_differences(call.tool, expected, found):
            yield difference(place, one, other)


def _failures_of(direct: Message, through: Message) -> tuple[Message, Message]:
    """A JSON-RPC error, and the failed call as which the gateway tells a model of it."""
    told = through.get("result", {})
    with suppress(IndexError, KeyError, TypeError, json.JSONDecodeError):
        envelope = json.loads(told["content"][0]["text"])
        found = {"code": envelope["details"]["rpcCode"], "message": envelope["message"]}
        return direct["error"], {**found, **({"data": direct["error"]["data"]} if "data" in direct["error"] else {})}
    return direct, through


def normalise(value: Any, volatile: Iterable[tuple[str, str]]) -> Any:
    """The value with each pattern in its texts replaced."""
    if isinstance(value, str):
        for pattern, replacement in volatile:
            value = re.sub(pattern, replacement, value)
        return value
    if isinstance(value, Mapping):
        return {key: normalise(each, volatile) for key, each in value.items()}
    return [normalise(each, volatile) for each in value] if isinstance(value, list) else value


def _listed_differences(
    direct: Mapping[str, Message], through: Mapping[str, Message]
) -> Iterator[tuple[str, object, object]]:
    for name in sorted(direct.keys() | through.keys()):
        if name not in through:
            yield f"{name}: tool", "listed", "not listed"
        elif name not in direct:
            yield f"{name}: tool", "not listed", "listed"
        else:
            yield from _value_differences(name, {**direct[name], "name": name}, {**through[name], "name": name})


def _value_differences(name: str, direct: Message, through: Message) -> Iterator[tuple[str, object, object]]:
    """Key by key at the first level, so that a reader sees where."""
    for key in sorted(direct.keys() | through.keys()):
        left, right = direct.get(key), through.get(key)
        if left != right:
            yield f"{name}: {key}", left, right


async def observe_directly(server: Server, command: ServerCommand) -> Observation:
    """List and call without anything between."""
    try:
        async with connect(command) as client:
            tools = {tool["name"]: tool for tool in await client.list_tools()}
            answers = [
                await client.call_tool(each.tool, each.arguments, seconds=_CALL_SECONDS) for each in server.calls
            ]
    except (OSError, ServerEnded, TimeoutError) as failure:
        return Observation(tools=None, failure=_shown(f"{type(failure).__name__}: {failure}"))
    return Observation(tools=tools, answers=tuple(answers))


async def observe_through(
    mode: Mode, commands: Mapping[str, ServerCommand], servers: Sequence[Server], folder: Path
) -> dict[str, Observation]:
    """List and call through one toolcrib that has all these servers behind it."""
    config = write_config(folder, {each.name: commands[each.name] for each in servers})
    try:
        async with connect(serve_command(config, mode)) as client:
            if mode == "gateway":
                return {each.name: await _execute_calls(client, each) for each in servers}
            tools, missing = await list_all(client)
            return {
                each.name: Observation(tools=None, failure=_shown(missing[each.name]))
                if each.name in missing
                else await _call_listed(client, each, tools, prefix=f"{each.name}__" if len(servers) > 1 else "")
                for each in servers
            }
    except (ServerEnded, TimeoutError) as failure:
        failed = Observation(tools=None, failure=_shown(f"{type(failure).__name__}: {failure}"))
        return dict.fromkeys((each.name for each in servers), failed)


async def observe_starts(server: Server, command: ServerCommand, folder: Path) -> list[Observation]:
    """List through toolcrib in further processes that keep their state in the same folder."""
    config = write_config(folder, {server.name: command})
    found = []
    for _ in range(server.starts - 1):
        async with connect(serve_command(config, "transparent")) as client:
            found.append(Observation(tools=_by_name((await list_all(client))[0])))
    return found


async def list_all(client: StdioClient) -> tuple[list[Message], dict[str, str]]:
    """The tools once all servers are there or have failed, and why those that are missing are."""
    async with asyncio.timeout(_READY_SECONDS):
        while True:
            page = (await client.request("tools/list", {}, seconds=_READY_SECONDS)).get("result", {})
            missing = {each["server"]: each for each in page.get("_meta", {}).get(_UNAVAILABLE, ())}
            if not any(each.get("retryable") for each in missing.values()):
                return await client.list_tools(), {name: each["message"] for name, each in missing.items()}
            await asyncio.sleep(_PAUSE_SECONDS)


async def _execute_calls(client: StdioClient, server: Server) -> Observation:
    calls = [{"tool_id": f"{server.name}:{each.tool}", "args": each.arguments} for each in server.calls]
    answers = [await client.call_tool("tool_execute", each, seconds=_CALL_SECONDS) for each in calls]
    return Observation(tools=None, answers=tuple(answers))


async def _call_listed(client: StdioClient, server: Server, listed: Sequence[Message], *, prefix: str) -> Observation:
    """In transparent mode: a server alone keeps the names of its tools, several have theirs before them."""
    own = _by_name((tool for tool in listed if tool["name"].startswith(prefix)), prefix=prefix)
    calls = [(f"{prefix}{each.tool}", each.arguments) for each in server.calls]
    answers = [await client.call_tool(name, arguments, seconds=_CALL_SECONDS) for name, arguments in calls]
    return Observation(tools=own, answers=tuple(answers))


def _by_name(tools: Iterable[Message], *, prefix: str = "") -> dict[str, Message]:
    return {tool["name"].removeprefix(prefix): tool for tool in tools}


async def compare_all(
    servers: Sequence[Server], fixtures: Fixtures, folder: Path, *, at_once: int = _AT_ONCE
) -> list[Comparison]:
    """Every server: directly, then a few at once through each mode."""
    found = []
    remaining = iter(servers)
    while batch := list(islice(remaining, at_once)):
        place = folder / batch[0].name
        place.mkdir()
        found += await _compare_batch(batch, fixtures, place)
    return found


async def _compare_batch(batch: Sequence[Server], fixtures: Fixtures, folder: Path) -> list[Comparison]:
    commands, skipped = {}, {}
    for server in batch:
        try:
            commands[server.name] = server.command(fixtures)
        except Unavailable as missing:
            skipped[server.name] = Comparison(server=server.name, skipped=str(missing))
    present = [server for server in batch if server.name in commands]
    direct = {}
    for server in present:
        _progress(f"{server.name}: directly")
        direct[server.name] = await observe_directly(server, commands[server.name])
    through = {}
    for mode in MODES if present else ():
        _progress(f"{', '.join(commands)}: through toolcrib, {mode}")
        through[mode] = await observe_through(mode, commands, present, folder)
    compared = {}
    for server in present:
        seen = direct[server.name]
        found = [each for mode in MODES for each in compare(server, mode, seen, through[mode][server.name])]
        if server.starts > 1 and seen.tools is not None:
            _progress(f"{server.name}: {server.starts} starts")
            later = await observe_starts(server, commands[server.name], folder)
            found += _start_differences(server, seen.tools, later)
        compared[server.name] = Comparison(
            server=server.name, tools=len(seen.tools or ()), calls=len(seen.answers), differences=tuple(found)
        )
    return [compared.get(each.name) or skipped[each.name] for each in batch]


def _start_differences(
    server: Server, direct: Mapping[str, Message], later: Sequence[Observation]
) -> Iterator[Difference]:
    for number, each in enumerate(later, start=2):
        missing = sorted(direct.keys() - (each.tools or {}).keys())
        if missing:
            place, listed = f"start {number}: tools", f"{len(direct)} listed"
            through = _shown(f"not listed: {', '.join(missing)}")
            yield Difference(server=server.name, mode="transparent", place=place, direct=listed, through=through)


def write_config(folder: Path, commands: Mapping[str, ServerCommand], *, policy: str | None = ALLOW) -> Path:
    """A configuration of these servers: with a policy that allows every call, or with the default one."""
    entries = {name: each.entry for name, each in commands.items()}
    patient = {name: {"startTimeout": _START_SECONDS} for name in commands}  # several start at once, on two cores
    file = folder / "mcp.json"
    file.write_text(json.dumps({"mcpServers": entries, "toolcrib": {"servers": patient}}), encoding="utf-8")
    if policy is not None:
        file.with_name("toolcrib.policy.toml").write_text(policy, encoding="utf-8")
    return file


def serve_command(config: Path, mode: Mode) -> ServerCommand:
    """`toolcrib serve` over a configuration, with its state beside it."""
    options = ("--mode", mode, "--config", str(config), "--state-dir", str(config.parent / "state"))
    return ServerCommand(
        program=sys.executable, arguments=("-m", "toolcrib_cli", "serve", *options), folder=config.parent
    )


def render_table(comparisons: Sequence[Comparison]) -> str:
    """A line for each server, then every difference."""
    lines = []
    for each in comparisons:
        same = f"{each.tools:3} tools, {each.calls} calls: "
        found = (
            f"{len(each.differences)} differences, {len(each.unexplained)} unexplained" if each.differences else "same"
        )
        lines.append(f"{each.server:20} {f'not compared: {each.skipped}' if each.skipped else same + found}")
    for each in comparisons:
        for difference in each.differences:
            lines += ["", f"{difference.server}, {difference.mode}: {difference.place}"]
            lines += [f"  directly  {difference.direct}", f"  through   {difference.through}"]
            lines.append(f"  because   {difference.reason or 'NOT EXPLAINED'}")
    return "\n".join([*lines, "", render_summary(comparisons)])


def render_summary(comparisons: Sequence[Comparison]) -> str:
    """One line."""
    compared = [each for each in comparisons if each.skipped is None]
    explained = sum(len(each.differences) - len(each.unexplained) for each in compared)
    return (
        f"{len(compared)} of {len(comparisons)} servers compared, {sum(each.tools for each in compared)} tools, "
        f"{sum(each.calls for each in compared)} calls in {len(MODES)} modes: {explained} explained differences, "
        f"{sum(len(each.unexplained) for each in compared)} unexplained"
    )


def to_json(comparisons: Sequence[Comparison]) -> dict[str, Any]:
    """Everything that was found, for programs."""
    rows = []
    for each in comparisons:
        differences = [{**asdict(one), "reason": one.reason} for one in each.differences]
        rows.append({**asdict(each), "differences": differences})
    return {"summary": render_summary(comparisons), "servers": rows}


def main(arguments: list[str] | None = None) -> int:
    """Install, compare and print; 1 on a difference that nothing explains."""
    parser = argparse.ArgumentParser(prog="scripts/servers", description=__doc__)
    parser.add_argument("--only", metavar="NAME", nargs="+", default=[], help="these servers alone")
    parser.add_argument("--json", action="store_true", help="print one object in place of the table")
    options = parser.parse_args(arguments)
    adopt_orphans()
    with tempfile.TemporaryDirectory(prefix="toolcrib-servers-") as name:
        folder = Path(name)
        (folder / "fixtures").mkdir()
        with serve_fixtures(folder / "fixtures") as fixtures:
            try:
                servers = select_servers(options.only, read_catalogue(fixtures))
            except ValueError as unknown:
                parser.error(str(unknown))
            for part, reason in install(select_parts(each.name for each in servers)).items():
                print(f"NOTICE: `{part}` cannot be installed: {reason}", file=sys.stderr)
            try:
                comparisons = asyncio.run(until_ended(compare_all(servers, fixtures, folder)))
            finally:
                for pid, line in end_descendants(patience=_END_SECONDS).items():
                    print(f"NOTICE: killed process {pid}, which was left: {line}", file=sys.stderr)
    print(json.dumps(to_json(comparisons), indent=1) if options.json else render_table(comparisons))
    return 1 if any(each.unexplained for each in comparisons) else 0


async def until_ended(work: Coroutine[Any, Any, _Result]) -> _Result:
    """Cancelled by SIGTERM, too, so that every process is ended."""
    task = asyncio.ensure_future(work)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await task


def _progress(text: str) -> None:
    print(f"-- {text}", file=sys.stderr, flush=True)


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"


if __name__ == "__main__":
    sys.exit(main())
