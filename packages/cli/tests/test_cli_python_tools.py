"""Python tools by `MODULE:NAME`: served, called, found and exported, and clear errors for what holds no tools."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from toolcrib_cli.asking import Choice, asked_for
from toolcrib_cli.python_tools import bring_python_tools, load_toolbox, parse_target
from toolcrib_cli.wiring import wired
from toolcrib_mcp import ConfigError
from toolcrib_runtime import Toolbox

pytestmark = pytest.mark.req("CL-17")

WEATHER = '''
from toolcrib_core import ToolRisk
from toolcrib_runtime import create_toolbox, tool

print("imported")

@tool(effects="read")
def forecast(city: str, days: int = 1) -> str:
    """The weather of a city."""
    return f"{days} days of sun in {city}"

@tool(risk=ToolRisk(effects="write", destructive=True))
def forget(city: str) -> str:
    """Delete the records of a city."""
    return f"nothing is known of {city}"

toolbox = create_toolbox([forecast, forget])
several = [forecast, forget]
number = 7

def make():
    return toolbox

def fail():
    raise RuntimeError("no database")
'''


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a module of tools, named anew for each test: a module is imported once per process."""
    name = f"weather_{tmp_path.name.lower()}"
    (tmp_path / f"{name}.py").write_text(WEATHER)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path, name
    sys.modules.pop(name, None)


def _load(folder: Path, text: str) -> Toolbox:
    return load_toolbox(parse_target(text), folder=folder)


@pytest.mark.parametrize("name", [":toolbox", "", ":several", ":make", ".py:toolbox"])
def test_a_toolbox_a_list_a_function_and_a_file_name_tools(folder, name, capsys):
    path, module = folder

    toolbox = _load(path, f"{module}{name}")

    assert [each.definition.name for each in toolbox.tools] == ["forecast", "forget"]
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "imported\n")


def test_one_tool_is_a_toolbox_of_one(folder):
    path, module = folder

    assert [each.id for each in _load(path, f"{module}:forecast").tools] == ["default:forecast"]


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("{module}:toolbx", "has no `toolbx`", "Did you mean `{module}:toolbox`?"),
        ("{module}:nothing_like_it", "has no `nothing_like_it`", "Did you mean `{module}:toolbox`?"),
        ("{module}:number", "is of the type `int` and holds no tools", "becomes a tool with `@tool`"),
        ("{module}:fail", "RuntimeError at {module}.py:25: no database", "python -c 'import {module}'"),
        ("no_such_module:toolbox", "There is no module `no_such_module`", "MODULE:NAME"),
        ("no/such/file.py:toolbox", "There is no file `no/such/file.py`", "MODULE:NAME"),
        ("not a module", "does not name Python tools", "MODULE:NAME"),
        ("json:not-a-name", "does not name Python tools", "MODULE:NAME"),
        ("json:decoder", "is of the type `module` and holds no tools", "a toolbox, a tool"),
        ("json:nothing", "has no `nothing`", "It must hold a toolbox"),
        ("broken:toolbox", "SyntaxError", "python -c 'import broken'"),
        ("leaning:toolbox", "ModuleNotFoundError at leaning.py:1: No module named 'not_installed'", "import leaning"),
    ],
)
def test_what_holds_no_tools_is_refused_with_the_way_on(folder, text, message, hint):
    path, module = folder
    (path / "broken.py").write_text("def (:\n")
    (path / "leaning.py").write_text("import not_installed\n")

    with pytest.raises(ConfigError) as caught:
        _load(path, text.format(module=module))

    assert message.format(module=module) in caught.value.message
    assert hint.format(module=module) in (caught.value.hint or "")


def test_python_tools_are_used_without_the_configuration_of_the_folder(folder):
    path, module = folder
    (path / "mcp.json").write_text('{"mcpServers": {"other": {"command": "other"}}}')
    environ = {"HOME": str(path)}

    alone = asked_for(Choice(python_tools=(module,)), environ=environ, directory=path)
    beside = asked_for(Choice(python_tools=(module,), config=path / "mcp.json"), environ=environ, directory=path)

    assert (alone.path, alone.demo, list(alone.config.servers)) == (None, False, [])
    assert list(beside.config.servers) == ["other"]


async def test_each_module_is_a_trusted_server_whose_tools_are_not_pinned(folder):
    path, module = folder
    asked = asked_for(Choice(python_tools=(module, f"{module}:several")), environ={"HOME": str(path)}, directory=path)

    async with bring_python_tools(asked) as brought, wired(asked) as parts:
        assert list(brought) == [module, f"{module}-2"]
        assert {(each.trusted, each.pins) for each in parts.config.settings.servers.values()} == {(True, "off")}


def test_a_module_whose_name_no_id_can_have_gets_another():
    assert parse_target("_1st.py:toolbox").server == "tools-1st"
    assert parse_target("my.Weather:box").server == "weather"


@pytest.mark.slow
async def test_commands_take_python_tools(workshop, folder):
    path, module = folder

    async def run(command: str, *options: str):
        named = ("--toolbox", f"{path / module}.py:toolbox", "--state-dir", str(workshop.state))
        return await workshop.run_raw(sys.executable, "-m", "toolcrib_cli", command, *options, *named, cwd=path)

    found = await run("search", "weather of a city")
    called = await run("call", "forecast", "city=Oslo", "days=2")
    waiting = await run("call", "forget", "city=Oslo")
    allowed = await run("call", "forget", "city=Oslo", "--yes")
    exported = await run("export", "--provider", "mcp")

    assert f"{module}:forecast" in found.out
    assert called.out == "2 days of sun in Oslo\n"
    assert waiting.code == 1
    assert "needs approval" in waiting.err
    assert allowed.out == "nothing is known of Oslo\n"
    assert {each["name"] for each in json.loads(exported.out)["tools"]} == {f"{module}__forecast", f"{module}__forget"}


@pytest.mark.slow
async def test_serve_takes_python_tools_as_its_argument(workshop, folder):
    path, module = folder
    arguments = ["-m", "toolcrib_cli", "serve", f"{path / module}.py:toolbox", "--state-dir", str(workshop.state)]
    server = StdioServerParameters(command=sys.executable, args=arguments, cwd=path)

    async with Client(server, mode="legacy", read_timeout_seconds=120) as client:
        page = await client.call_tool("tool_browse", {"query": "weather of a city"})
        tool_id = page.content[0].text.split(" ")[0]
        result = await client.call_tool("tool_execute", {"tool_id": tool_id, "args": {"city": "Oslo"}})

    assert tool_id.startswith(f"{module}:forecast")
    assert result.content[0].text == "1 days of sun in Oslo"
