"""Browse, search, call, view, export and stats: on the demo, where there is no configuration at all."""

from __future__ import annotations

import io
import json
import sys

import pytest
from typer.testing import CliRunner

from toolcrib_cli.app import app
from toolcrib_cli.call_arguments import read_arguments
from toolcrib_cli.call_command import execute, for_people, show
from toolcrib_cli.view_command import read_fields
from toolcrib_core import InvalidArguments, PathNotFound, ResolutionError
from toolcrib_mcp import ExecuteResult, GatewayError, ViewFailed
from toolcrib_mcp.rpc import RpcError
from toolcrib_toolpacks.examples import EXAMPLES

LOANS = "SELECT * FROM loans"


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """An empty directory with a state of its own, and a file to read."""
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "note.txt").write_text("Remember the \x1b[31msaw\x1b[0m.", encoding="utf-8")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("TOOLCRIB_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.delenv("TOOLCRIB_CONFIG", raising=False)
    return tmp_path


def _run(*arguments, code=0, **options):
    result = CliRunner().invoke(app, arguments, catch_exceptions=False, **options)
    assert result.exit_code == code, result.output
    return result


def _json(*arguments, **options):
    return json.loads(_run(*arguments, "--json", **options).stdout)


def test_with_no_configuration_the_demo_is_browsed_and_that_is_said():
    result = _run("browse")

    assert "/database\n    3 tools: " in result.stdout
    assert result.stderr.startswith("demo: there is no configuration here")
    assert "toolcrib init" in result.stderr


def test_a_demo_that_was_asked_for_is_not_remarked_on():
    result = _run("browse", "/time", "--demo", "--limit", "2")

    assert result.stderr == ""
    assert result.stdout.count("time:") == 2
    assert "3 more entries with a higher limit." in result.stdout


def test_tools_are_found_by_what_is_to_be_done():
    found = _json("search", "who", "borrowed", "a", "saw", "--schema")

    assert found["cards"][0]["id"].startswith("database:query#")
    assert '"sql"' in found["schemas"][found["cards"][0]["id"]]
    shown = _run("search", "convert a time zone", "--schema", "--limit", "1").stdout
    assert "time:convert_time" in shown
    assert "needs time, from_timezone, to_timezone" in shown


def test_where_nothing_fits_it_is_said_what_to_do(monkeypatch):
    assert "None may fit" in _run("search", "xyzzy").stdout
    monkeypatch.setattr("toolcrib_cli.semantic_search.open_vectors", lambda: None)
    assert "No tool fits." in _run("search", "xyzzy").stdout


def test_a_path_may_be_typed_without_its_first_slash():
    assert _json("browse", "time", "--demo") == _json("browse", "/time", "--demo")


def test_a_path_that_leads_nowhere_is_an_error():
    with pytest.raises(PathNotFound):
        _run("browse", "/fils")


def test_a_terminal_is_told_what_to_type_next(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")

    assert "Next: toolcrib browse /data" in _run("browse").stdout
    assert "Next: toolcrib call data:calculate expression=…" in _run("search", "calculate arithmetic").stdout


def test_a_tool_is_called_by_its_name_with_arguments_typed_by_its_schema():
    weeks = _run("call", "month_calendar", "year=2026", "month=2")

    assert json.loads(weeks.stdout)["weeks"][0] == [0, 0, 0, 0, 0, 0, 1]
    assert _run("call", "files:read_file", "path=note.txt").stdout == "Remember the \x1b[31msaw\x1b[0m.\n"


@pytest.mark.parametrize("given", ['{"text": "a b"}', "@arguments.json", "-"])
def test_arguments_come_as_json_from_a_file_or_from_standard_input(place, given):
    (place / "here" / "arguments.json").write_text('{"text": "a b"}', encoding="utf-8")

    told = _json("call", "count_text", "--args", given, input='{"text": "a b"}')

    assert told["isError"] is False
    assert told["result"]["structuredContent"]["words"] == 2


def test_a_large_result_is_kept_and_can_be_viewed_later():
    told = _json("call", "database:query", f"sql={LOANS}")
    handle = told["kept"]["artifacts"][0]["handle"]

    rows = _run("view", handle, "rows", "columns=id,person_id", "count=2")
    assert "\n0|1|1\n" in rows.stdout
    page = _json("view", handle, "--selector", '{"type": "pointer", "pointer": "/0/taken_on"}')
    assert "2026-01-05" in page["pages"][0]["text"]
    whole = _json("view", handle, "all", "--all-pages")["pages"]
    assert len(whole) > 1
    assert whole[-1]["cursor"] is None
    second = _json("view", handle, "all", "--cursor", whole[0]["cursor"])["pages"]
    assert second == [whole[1]]
    text = _run("call", "database:query", f"sql={LOANS}").stdout
    assert "400 records with 5 fields" in text
    assert f"toolcrib view {handle} --selector '{{" in text
    assert "tool_view" not in text


@pytest.mark.parametrize("line", ["tool_view nonsense", 'tool_view {"handle": 1}', "tool_view [1]"])
def test_a_line_that_is_no_call_of_a_view_stays_as_it_is(line):
    assert for_people(line) == line


def test_a_handle_that_is_none_is_told():
    with pytest.raises(ViewFailed):
        _run("view", "art_0000000000000000")


def test_a_tool_that_fails_ends_with_one_and_says_why_on_standard_error():
    result = _run("call", "read_file", "path=../secret", code=1)

    assert result.stdout == ""
    assert "\nerror: " in result.stderr
    assert "\nhint: " in result.stderr
    assert "{" not in result.stderr


def test_arguments_that_do_not_fit_are_told_before_anything_runs():
    with pytest.raises(InvalidArguments) as caught:
        _run("call", "database:query", "sqll=1", "limit=many")

    assert len(caught.value.details["violations"]) == 3


@pytest.mark.parametrize("name", ["no_such_tool", "database:query#00000000", "quer"])
def test_a_tool_that_is_not_there_is_told(name):
    with pytest.raises(ResolutionError) as caught:
        _run("call", name)

    assert caught.value.hint


SCHEMA = {
    "properties": {
        "text": {"type": "string"},
        "number": {"type": "integer"},
        "maybe": {"type": ["integer", "null"]},
        "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        "one": {"enum": [1, 2]},
        "word": {"enum": ["a"]},
        "list": {"oneOf": [{"type": "array"}]},
        "any": True,
    }
}


@pytest.mark.parametrize(
    ("pair", "value"),
    [
        ("text=1", "1"),
        ("number=1", 1),
        ("number=x", "x"),
        ("maybe=null", None),
        ("either=1", "1"),
        ("either:=1", 1),
        ("one=2", 2),
        ("word=a", "a"),
        ("list=[1]", [1]),
        ("any=1", "1"),
        ("unknown=1", "1"),
        ("text=a=b", "a=b"),
        ("text=", ""),
    ],
)
def test_a_pair_is_typed_by_the_schema(pair, value):
    assert list(read_arguments([pair], None, SCHEMA).values()) == [value]


def test_a_pair_counts_before_the_same_key_of_the_object():
    assert read_arguments(["text=new"], '{"text": "old", "number": 1}', SCHEMA) == {"text": "new", "number": 1}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nonsense",), "is no `KEY=VALUE`"),
        (("=1",), "is no `KEY=VALUE`"),
        (("a:={",), "It is not JSON"),
        (("--args", "{"), "at line 1"),
        (("--args", "[1]"), "a list of 1 item"),
        (("--args", "@no-such-file"), "cannot be read"),
        (("--args", "@latin.json"), "is not UTF-8"),
        (("--args", "[" * 300 + "]" * 300), "nested"),
    ],
)
def test_arguments_that_cannot_be_read_are_a_wrong_command_line(place, arguments, said):
    (place / "here" / "latin.json").write_bytes(b"\xff")

    result = _run("call", "count_text", *arguments, code=2)

    assert said in " ".join(result.stderr.replace("│", " ").split())


@pytest.mark.parametrize(
    ("fields", "selector"),
    [
        ([], {"type": "head"}),
        (["lines=5"], {"type": "head", "lines": 5}),
        (["text=5", "columns=a,b"], {"type": "head", "text": "5", "columns": ["a", "b"]}),
        (['columns=["a"]', "op=<"], {"type": "head", "columns": ["a"], "op": "<"}),
    ],
)
def test_a_selector_is_read_from_its_fields(fields, selector):
    assert read_fields("head", fields) == selector


@pytest.mark.parametrize("arguments", [("head", "lines"), ("--selector", "{"), ("--selector", "[]")])
def test_a_selector_that_cannot_be_read_is_a_wrong_command_line(arguments):
    assert "Traceback" not in _run("view", "art_1", *arguments, code=2).stderr


@pytest.mark.parametrize(
    ("provider", "names"),
    [
        ("openai", lambda value: [each["name"] for each in value]),
        ("openai-chat", lambda value: [each["function"]["name"] for each in value]),
        ("anthropic", lambda value: [each["name"] for each in value]),
        ("gemini", lambda value: [each["name"] for each in value[0]["function_declarations"]]),
        ("claude-agent", lambda value: [each["name"] for each in value]),
        ("mcp", lambda value: [each["name"] for each in value["tools"]]),
        ("neutral", lambda value: [f"{each['namespace']}__{each['name']}" for each in value["tools"]]),
    ],
)
def test_definitions_are_exported_for_every_provider(provider, names):
    result = _run("export", "now", "database:query", "--provider", provider)

    assert sorted(names(json.loads(result.stdout))) == ["database__query", "time__now"]


def test_without_names_everything_is_exported_and_losses_are_told():
    result = _run("export", "--provider", "openai-chat", "--demo")

    assert len(json.loads(result.stdout)) == 28
    assert result.stderr.startswith("lost: ")
    assert "outputSchema" in result.stderr
    assert " more\n" in result.stderr


_ODD = """
from toolcrib_runtime import create_tool, create_toolbox

schema = {"type": "object", "properties": {"$top": {"type": "integer"}}}
toolbox = create_toolbox([
    create_tool(schema, lambda arguments: 1, name="list", namespace="drive"),
    create_tool({"type": "object"}, lambda arguments: 1, name="sync", namespace="drive"),
])
"""


@pytest.mark.req("CT-15")
def test_a_tool_that_the_provider_cannot_take_is_left_out_and_named(tmp_path):
    (tmp_path / "drive.py").write_text(_ODD, encoding="utf-8")

    result = _run("export", "--provider", "anthropic", "--toolbox", f"{tmp_path}/drive.py:toolbox")

    assert [each["name"] for each in json.loads(result.stdout)] == ["drive__sync"]
    assert result.stderr.startswith(
        "left out: 1 tool that this provider cannot take\n  Anthropic refuses 1 parameter of `drive:list"
    )


def test_a_part_that_is_not_installed_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "toolcrib_gemini", None)

    result = CliRunner().invoke(app, ["export", "--provider", "gemini"])

    assert result.exception is not None
    assert result.exception.hint == "pip install toolcrib-gemini"


def test_the_tokens_of_definitions_and_cards_are_counted_for_every_server():
    told = _json("stats")
    shown = _run("stats").stdout

    assert told["total"]["tools"] == 28 == sum(each["tools"] for each in told["servers"].values())
    assert told["total"]["definitions"] > 2 * told["total"]["cards"]
    assert told["gateway"] <= 600
    assert f"{told['total']['definitions']:,}" in shown
    assert "█" in shown


def test_where_nothing_is_saved_that_is_said(capsys):
    from toolcrib_cli.screen import screen
    from toolcrib_cli.stats_command import CatalogueTokens, ServerTokens, _show

    _show(
        CatalogueTokens(servers=(ServerTokens(name="one", tools=1, definitions=60, cards=20),), gateway=486), screen()
    )

    assert "in place of 60: nothing is saved with so few" in capsys.readouterr().out


def test_a_result_on_a_terminal_holds_no_orders_for_it(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    from toolcrib_cli.screen import print_text

    monkeypatch.setattr(sys, "stdout", Terminal())
    print_text("a\x1b[31m\tb\nc")

    assert sys.stdout.getvalue() == "a\\x1b[31m\tb\nc\n"


class Answering:
    """A gateway whose every tool answers with the same."""

    def __init__(self, answer):
        self._answer = answer

    async def execute(self, tool_id, arguments, *, request=None):
        if isinstance(self._answer, Exception):
            raise self._answer
        return ExecuteResult(tool_id=tool_id, result=self._answer)


async def test_an_error_of_the_protocol_becomes_one_of_ours():
    with pytest.raises(GatewayError, match=r"The server of `a:b` answered with an error: No\."):
        await execute(Answering(RpcError(-32042, "No.")), "a:b", {})


@pytest.mark.parametrize(
    ("result", "out", "err"),
    [
        ({"content": [{"type": "image", "data": "", "mimeType": "image/png"}]}, "", "1 block is not text: "),
        ({"content": [{"type": "text", "text": "{not json"}]}, "{not json\n", ""),
        ({"content": [{"type": "text", "text": "It\x1b[0m broke."}], "isError": True}, "", "error: It\\x1b[0m broke."),
        ({"content": [{"type": "text", "text": '{"message": "No."}'}], "isError": True}, "", "error: No.\n"),
        ({}, "", ""),
    ],
)
def test_results_of_every_kind_are_shown(result, out, err, capsys):
    show(ExecuteResult(tool_id="a:b", result=result))

    said = capsys.readouterr()
    assert said.out == out
    assert said.err.startswith(err)


def test_the_status_of_the_demo_is_told():
    shown = _run("status").stdout

    assert shown.startswith("The demo: no running gateway")
    assert "in process" in shown
    assert _json("status")["config"] is None


def test_whatever_else_is_installed_can_be_added(place, monkeypatch):
    monkeypatch.setenv("TOOLCRIB_PACKS", str(place / "packs.db"))

    found = _json("browse", "--contextpacks", "--toolpacks", str(EXAMPLES))

    assert {"/contextpacks", "/data", "/text"} <= {each["id"] for each in found["cards"]}
