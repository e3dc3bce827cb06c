"""`toolcrib toolpack`: tool files are checked, shown, planned, run, begun and tested, as a stranger would do it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from tests.real_parts import real_part_missing
from toolcrib_cli.app import app
from toolcrib_cli.toolpack import planning
from toolcrib_cli.toolpack.beginning import run_new
from toolcrib_cli.toolpack.loading import load_folders
from toolcrib_core import CatalogError, InvalidArguments, UnknownTool
from toolcrib_toolpacks import ToolpackLoader, ToolpackValidationError

PROCESS_KINDS = ["python", "node", "php", "cli"]
PROGRAMS = {"node": "node", "php": "php"}


def run(*words: str, **options: Any) -> Result:
    return CliRunner().invoke(app, ["toolpack", *words], catch_exceptions=False, **options)


def begin(kind: str, folder: Path, *, tool: str = "text.greet", url: str = "https://example.com/greet") -> None:
    program = PROGRAMS.get(kind)
    if program is not None and shutil.which(program) is None:
        real_part_missing(f"{program} is not installed")
    run_new(kind, tool, folder=folder, url=url, force=False)


@pytest.fixture
def packs(tmp_path: Path) -> Path:
    begin("python", tmp_path / "packs")
    begin("cli", tmp_path / "packs", tool="text.shout")
    return tmp_path / "packs"


@pytest.mark.req("TP-28")
def test_lint_says_that_all_is_fine_and_gives_advice(packs: Path) -> None:
    (packs / "bare.tool.yaml").write_text(
        'id: a.bare\nversion: "1.0.0"\ndeterministic: true\ntimeoutMs: 1\n'
        "limits: {maxInputBytes: 1, maxOutputBytes: 1}\n"
        "inputSchema: {type: object}\noutputSchema: {}\nexecution: {kind: python, module: 'x:y'}\n"
    )

    result = run("lint", str(packs))

    assert result.exit_code == 0
    assert result.stdout == ""
    assert "3 tool files are fine." in result.stderr
    assert "bare.tool.yaml: `description` is missing" in result.stderr


@pytest.mark.req("CT-24")
def test_lint_warns_of_a_value_that_a_call_may_leave_out(packs: Path) -> None:
    file = packs / "shout.tool.yaml"
    file.write_text(file.read_text().replace("  required: [name]\n", ""))

    told, as_json = run("lint", str(packs)), json.loads(run("lint", str(packs), "--json").stdout)

    advice = "`execution.cmd[2]` uses `input.name`, which a call may leave out"
    assert told.exit_code == 0
    assert advice in " ".join(told.stderr.split())
    assert [each["tool"] for each in as_json["advice"] if each["message"].startswith(advice)] == ["text.shout"]


@pytest.mark.req("TP-28")
def test_lint_prints_file_and_line_of_everything_and_its_exit_code_is_one(packs: Path) -> None:
    file = packs / "greet.tool.yaml"
    file.write_text(file.read_text().replace("timeoutMs: 10000", "timeout_ms: 10000").replace("[name]", "name"))

    result = run("lint", str(packs), str(packs / "missing"))

    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0].startswith(f"{file}:13: timeout_ms: is not a key here; keys are in camelCase: write `timeoutMs`.")
    assert lines[1].startswith(f"{file}:23: inputSchema.required: ")
    assert lines[-1].startswith(f"{packs / 'missing'}: The folder cannot be loaded")
    assert "must be mended" in result.stderr


@pytest.mark.req("TP-28")
def test_lint_of_one_file_looks_at_no_other(packs: Path) -> None:
    (packs / "broken.tool.yaml").write_text("[")

    assert run("lint", str(packs / "greet.tool.yaml")).exit_code == 0
    assert run("lint", str(packs / "broken.tool.yaml")).exit_code == 1


@pytest.mark.req("TP-28")
def test_lint_as_json_has_every_violation(packs: Path) -> None:
    (packs / "broken.tool.yaml").write_text("id: [\n")

    bad = json.loads(run("lint", str(packs), "--json").stdout)
    (packs / "broken.tool.yaml").unlink()
    good = json.loads(run("lint", str(packs), "--json").stdout)

    assert bad["ok"] is False
    assert [(Path(each["file"]).name, each["code"]) for each in bad["violations"]] == [("broken.tool.yaml", "not-yaml")]
    assert (good["ok"], good["files"], good["violations"]) == (True, 2, [])


@pytest.mark.req("TP-28")
def test_list_shows_the_tools_of_a_folder(packs: Path) -> None:
    shown, as_json = run("list", str(packs)), json.loads(run("list", str(packs), "--json").stdout)

    assert [line.split()[:4] for line in shown.stdout.splitlines()[1:]] == [
        ["text:greet", "0.1.0", "python", "none"],
        ["text:shout", "0.1.0", "cli", "read"],
    ]
    assert [each["id"] for each in as_json["toolpacks"]] == ["text.greet", "text.shout"]
    assert run("list", "--dir", str(packs)).stdout == shown.stdout


@pytest.mark.req("CT-23")
def test_list_says_what_each_tool_may_do_and_what_it_is_granted(packs: Path, tmp_path: Path) -> None:
    begin("http", packs, tool="text.ask")
    data = tmp_path / "data"
    data.mkdir()

    shown = run("list", str(packs)).stdout
    granted = json.loads(run("list", str(packs), "--json", "--grant-path", f"text:shout={data}:rw").stdout)

    assert "asks https://example.com" in " ".join(shown.split())
    assert {each["tool"]: each["permissions"] for each in granted["toolpacks"]} == {
        "text:ask": ["asks https://example.com"],
        "text:greet": ["runs greet_tool:greet with python"],
        "text:shout": ["runs printf", f"writes {data}"],
    }


def test_lint_of_a_folder_without_tool_files_does_not_say_that_they_are_fine(tmp_path: Path) -> None:
    assert "There are no `*.tool.yaml` files there" in run("lint", str(tmp_path)).output


def test_list_of_an_empty_folder_says_how_to_begin(tmp_path: Path) -> None:
    assert "toolcrib toolpack new" in run("list", str(tmp_path)).stdout


def test_a_folder_that_is_broken_is_told_line_by_line(packs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(30):
        (packs / f"b{number:02}.tool.yaml").write_text("id: [\n")

    with pytest.raises(ToolpackValidationError):
        CliRunner().invoke(app, ["toolpack", "list", str(packs)], catch_exceptions=False)
    with pytest.raises(ToolpackValidationError):
        load_folders([packs])

    err = capsys.readouterr().err
    assert err.startswith("b00.tool.yaml:2: The YAML cannot be read")
    assert "and 10 more" in err


def test_show_prints_all_that_a_file_says(packs: Path) -> None:
    shown = run("show", "text.greet", "--dir", str(packs)).stdout
    as_json = json.loads(run("show", str(packs / "greet.tool.yaml"), "--json").stdout)

    assert "text:greet 0.1.0 (python), greet.tool.yaml" in shown
    assert '"minLength": 1' in shown
    assert (as_json["id"], as_json["toolId"], as_json["file"]) == ("text.greet", "text:greet@0.1.0", "greet.tool.yaml")
    assert as_json["effectiveRisk"]["effects"] == "none"


def test_a_tool_that_is_not_there_is_told_with_the_one_that_was_meant(packs: Path) -> None:
    with pytest.raises(UnknownTool, match=r"Did you mean `text:greet`"):
        run("show", "text.gret", "--dir", str(packs))
    with pytest.raises(UnknownTool, match=r"There are `text:greet`, `text:shout`"):
        run("show", "zzz", "--dir", str(packs))


@pytest.mark.req("TP-28")
def test_plan_shows_command_limits_risk_and_the_forms_of_providers(packs: Path) -> None:
    shown = run("plan", "text.shout", "name=O'Neil $(id)", "--dir", str(packs)).stdout
    as_json = json.loads(run("plan", "text.shout", "--dir", str(packs), "--json").stdout)

    assert """command: printf '{"greeting": "Hello, %s!"}' 'O'"'"'Neil $(id)'""" in shown
    assert "limits: 10,000 ms, 16,384 bytes in, 65,536 bytes out" in shown
    assert "Nothing was run." in shown
    assert as_json["argv"] == ["printf", '{"greeting": "Hello, %s!"}', "Ada"]
    assert as_json["arguments"] == {"name": "Ada"}
    assert as_json["risk"]["systemAccess"] is True
    assert {"openai", "anthropic", "gemini", "claude-agent"} <= as_json["providers"].keys()
    assert "name" in json.dumps(as_json["providers"]["openai"]["tools"])


@pytest.mark.req("TP-28")
def test_plan_of_a_request_shows_it_without_values_that_may_be_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin("http", tmp_path)
    file = tmp_path / "greet.tool.yaml"
    text = file.read_text().replace("  # headers:\n  #   A", "  headers:\n    A")
    text = text.replace("# env:\n#   passthrough", "env:\n  passthrough")
    file.write_text(text.replace("url: https://example.com/greet", "url: https://example.com/greet/{{ input.name }}"))
    monkeypatch.setenv("API_TOKEN", "s3cret-value")

    ungranted = run("plan", str(file), "name=a/b").stdout
    shown = run("plan", str(file), "name=a/b", "--grant-env", "API_TOKEN").stdout
    called = run("run", str(file), "name=a/b", "--json")

    assert "request: POST https://example.com/greet/a%2Fb" in shown
    assert "headers: Authorization" in shown
    assert "variables: API_TOKEN\n" in shown
    assert "variables: API_TOKEN (a call needs `--grant-env API_TOKEN`)\n" in ungranted
    assert json.loads(called.stdout)["error"]["code"] == "toolbox.capability-refused"
    assert "s3cret-value" not in shown + ungranted + called.output


def test_plan_refuses_arguments_that_the_tool_would_refuse(packs: Path) -> None:
    with pytest.raises(InvalidArguments):
        run("plan", "text.greet", "nam=Ada", "--dir", str(packs))
    assert run("plan", "text.greet", "nonsense", "--dir", str(packs)).exit_code == 2


AUDITED = """
import sys
FORBIDDEN = "socket. subprocess. os.exec os.fork os.posix_spawn os.system os.spawn pty. os.kill".split()
seen = []
def hook(event, args):
    if event.startswith(tuple(FORBIDDEN)):
        seen.append(event)
sys.addaudithook(hook)
from toolcrib_cli.app import app
for tool in sys.argv[2:]:
    try:
        app(["toolpack", "plan", tool, "name=Ada", "--dir", sys.argv[1], "--json"])
    except SystemExit as ended:
        assert ended.code == 0, (tool, ended.code)
print("SEEN", seen)
"""


@pytest.mark.req("TP-28")
@pytest.mark.slow
def test_planning_any_kind_runs_nothing_and_reaches_nothing(tmp_path: Path) -> None:
    kinds = ["python", "node", "php", "cli", "http"]
    for kind in kinds:
        run_new(kind, f"a.{kind}", folder=tmp_path, url="https://example.com/", force=False)
    canary = tmp_path / "canary"
    for code in (tmp_path / "python_tool.py", tmp_path / "node.mjs", tmp_path / "php.php"):
        assert code.exists()
    (tmp_path / "python_tool.py").write_text(f"open({str(canary)!r}, 'w').close()\n")

    ended = subprocess.run(
        [sys.executable, "-c", AUDITED, tmp_path, *(f"a.{kind}" for kind in kinds)],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip

    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines()[-1] == "SEEN []"
    assert not canary.exists()


@pytest.mark.req("TP-28")
@pytest.mark.parametrize("kind", PROCESS_KINDS)
def test_what_new_writes_loads_runs_and_passes_its_own_tests(tmp_path: Path, kind: str) -> None:
    begin(kind, tmp_path)

    called = run("run", "text.greet", "name=Ada", "--dir", str(tmp_path))
    tested = json.loads(run("test", str(tmp_path), "--json").stdout)

    assert run("lint", str(tmp_path)).exit_code == 0
    assert (called.exit_code, json.loads(called.stdout)) == (0, {"greeting": "Hello, Ada!"})
    assert tested["passed"] == len(tested["cases"]) == 2


class _Greeter(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = json.dumps({"greeting": f"Hello, {asked['name']}!"}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture
def greeter(socket_enabled: None) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Greeter) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        yield f"http://127.0.0.1:{server.server_port}/greet"
        server.shutdown()
        serving.join()


@pytest.mark.req("TP-28")
def test_what_new_writes_for_http_asks_the_server(tmp_path: Path, greeter: str) -> None:
    begin("http", tmp_path, url=greeter)

    refused = run("run", "text.greet", "name=Ada", "--dir", str(tmp_path))
    called = run("run", "text.greet", "name=Ada", "--dir", str(tmp_path), "--allow", "loopback")

    assert refused.exit_code == 1
    assert "error: " in refused.stderr
    assert json.loads(called.stdout) == {"greeting": "Hello, Ada!"}


@pytest.mark.req("TP-28")
def test_run_tells_what_went_wrong_and_its_exit_code_is_one(packs: Path) -> None:
    result = run("run", "text.greet", "--dir", str(packs))
    as_json = run("run", "text.greet", "--args", '{"name": ""}', "--dir", str(packs), "--json")

    assert (result.exit_code, result.stdout) == (1, "")
    assert "error: " in result.stderr
    assert as_json.exit_code == 1
    assert json.loads(as_json.stdout)["error"]["category"] == "validation"


def test_new_does_not_replace_a_file_unless_it_is_told_to(tmp_path: Path) -> None:
    begin("python", tmp_path)
    (tmp_path / "greet_tool.py").write_text("mine")

    with pytest.raises(CatalogError, match="is there already"):
        begin("python", tmp_path)
    assert (tmp_path / "greet_tool.py").read_text() == "mine"
    assert run("new", "python", "text.greet", "--dir", str(tmp_path), "--force").exit_code == 0
    assert (tmp_path / "greet_tool.py").read_text() != "mine"


@pytest.mark.parametrize("tool", ["greet", "Text.greet", "text.greet!", "../x.y"])
def test_new_takes_only_an_id(tmp_path: Path, tool: str) -> None:
    assert run("new", "python", tool, "--dir", str(tmp_path)).exit_code == 2
    assert list(tmp_path.iterdir()) == []


def test_new_takes_only_a_url_and_tells_what_is_wrong_with_its_host(tmp_path: Path) -> None:
    for url in ("ftp://x/", "https://x/ y", 'https://x/"\n'):
        with pytest.raises(typer.BadParameter):
            begin("http", tmp_path, url=url)
    with pytest.raises(CatalogError, match="must be mended"):
        begin("http", tmp_path, url="https://127.1/")


@pytest.mark.parametrize("tool", ["text.json", "text.2nd-one", "a.b_c"])
def test_new_gives_a_module_a_name_that_can_be_imported(tmp_path: Path, tool: str) -> None:
    begin("python", tmp_path, tool=tool)

    assert ToolpackLoader().load_dir(tmp_path)[0].id == tool


def test_new_into_a_place_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(CatalogError, match="cannot be written"):
        begin("cli", tmp_path / "file")


@pytest.mark.req("TP-28")
def test_test_tells_which_examples_and_search_cases_do_not_pass(packs: Path) -> None:
    file = packs / "greet.tool.yaml"
    more = [
        "  - {input: {name: Bob}, output: {greeting: 'Bye'}}",
        "  - {input: {name: Bob}, output: {greeting: 'Hello, Bob!'}, request: greet Bob}",
        "  - {input: {name: ''}, error: validation}",
        "  - {input: {name: Eve}, error: validation}",
        "  - {input: {name: ''}, error: timeout}",
        "  - {input: {name: Eve}}",
        "searchCases:\n  - zebra crossings",
    ]
    file.write_text(file.read_text().replace("searchCases:", "\n".join(more)))

    result = run("test", str(packs))

    assert result.exit_code == 1
    told = [line for line in result.stdout.splitlines() if "text:greet" in line]
    assert [line.split()[0] for line in told[:7]] == [
        "passed", "FAILED", "passed", "passed", "FAILED", "FAILED", "passed",
    ]  # fmt: skip
    assert "different in `greeting`" in told[1]
    assert "was to end with `validation`, and gave a value" in told[4]
    assert "was to end with `timeout`, and ended with `toolbox.invalid-arguments`" in told[5]
    assert any("zebra crossings" in line and "not among the first ten" in line for line in told)


def test_test_names_the_tools_that_have_nothing_to_test(packs: Path) -> None:
    file = packs / "greet.tool.yaml"
    file.write_text(file.read_text().partition("# `toolcrib toolpack test`")[0])

    assert "Without examples and search cases: `text:greet`." in run("test", str(packs)).stdout


@pytest.mark.req("TP-28")
def test_schema_prints_the_schema_of_the_format() -> None:
    schema = json.loads(run("schema").stdout)

    assert schema["title"] == "Toolpack"
    assert set(schema["required"]) >= {"id", "version", "execution"}


@pytest.mark.req("TP-28")
@pytest.mark.parametrize("command", ["lint", "list", "show", "plan", "run", "new", "test", "schema"])
def test_every_command_has_help_with_an_example(command: str) -> None:
    assert f"Example: toolcrib toolpack {command}" in run(command, "--help").stdout


@pytest.mark.req("TP-28")
@pytest.mark.slow
def test_help_loads_neither_yaml_nor_templates() -> None:
    program = (
        "import sys\nfrom toolcrib_cli.app import app\n"
        "try:\n    app(['toolpack', '--help'])\nexcept SystemExit:\n    pass\n"
        "print(sorted({'yaml', 'jinja2', 'mcp', 'jsonschema_rs'} & sys.modules.keys()))"
    )

    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert ended.stdout.splitlines()[-1] == "[]"


def test_plan_leaves_out_adapters_that_are_not_installed_and_tells_what_one_refuses(
    packs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: object) -> None:
        raise CatalogError("This tool has no form here.")

    monkeypatch.setattr(planning, "refuse", refuse, raising=False)
    adapters = {"gone": ("toolcrib_gone", "to_tools"), "picky": (planning.__name__, "refuse")}
    monkeypatch.setattr(planning, "_ADAPTERS", adapters)

    shown = run("plan", "text.shout", "--dir", str(packs)).stdout

    assert "picky: This tool has no form here." in shown
    assert "gone" not in shown
