"""What a pack must say, and what it may not: one case for each rule, and for each hole that other loaders leave."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from loading_packs import CHILDREN, CLI, GONE, loaded, places, violations, write, write_text
from packaging.version import InvalidVersion, Version

from toolcrib_core import parse_version
from toolcrib_toolpacks import ToolpackLoader
from toolcrib_toolpacks.checks import cross_faults
from toolcrib_toolpacks.file_shape import check_shape
from toolcrib_toolpacks.model import CliExecution, HttpExecution, NodeExecution, PhpExecution, PythonExecution

HTTPS = {"network": ["https"]}
URL = {"kind": "http", "url": "https://example.com/"}
REQUIRED = ["id", "version", "deterministic", "timeoutMs", "limits", "inputSchema", "outputSchema", "execution"]


@pytest.mark.req("TP-3", "D0-2a", "D0-2f", "D0-3e", "D0-4c")
@pytest.mark.parametrize("key", REQUIRED)
def test_a_key_that_every_pack_needs_is_missed(tmp_path: Path, key: str) -> None:
    write(tmp_path, {key: GONE})

    assert places(tmp_path) == [(key, "missing-key")]


@pytest.mark.req("TP-3", "D0-2r")
def test_every_optional_key_is_kept(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "name": "Forecast",
            "title": "The forecast",
            "description": "What the weather will be.",
            "tags": ["weather", "city"],
            "examples": [{"request": "rain in Ulm?", "input": {"city": "Ulm"}, "output": {"rain": True}}],
            "searchCases": ["will it rain"],
            "risk": {"effects": "read", "dataSensitivity": "public"},
            "metadata": {"owner": "me"},
            "caps": {
                "network": ["http", "https"],
                "filesystem": {"read": ["."], "write": ["out"]},
                "subprocess": False,
            },
            "env": {"passthrough": ["LANG", "_X9"], "set": {"MODE": "x"}},
            "templating": {"engine": "jinja2", "context": {"a": [1]}, "cacheKey": "{{ input.city }}"},
        },
    )

    pack = loaded(tmp_path)

    assert (pack.name, pack.title, pack.tags) == ("Forecast", "The forecast", ("weather", "city"))
    assert (pack.examples[0].request, pack.examples[0].output) == ("rain in Ulm?", {"rain": True})
    assert pack.search_cases == ("will it rain",)
    assert pack.caps.filesystem.write == ("out",)
    assert pack.env["set"] == {"MODE": "x"}
    assert pack.templating.cache_key == "{{ input.city }}"
    assert pack.metadata == {"owner": "me"}


@pytest.mark.req("TP-3", "D0-0d", "D0-4b")
@pytest.mark.fault("C4")
@pytest.mark.parametrize(
    ("changes", "path", "code", "hint"),
    [
        ({"descripton": "x"}, "descripton", "unknown-key", "Did you mean `description`?"),
        ({"onSuccess": {"path": "$"}}, "onSuccess", "unknown-key", "Known are `id`"),
        ({"limits.maxTime": 1}, "limits.maxTime", "unknown-key", "`maxInputBytes`"),
        ({"execution.shell": True}, "execution.shell", "unknown-key", "Known are `kind`, `module`, `script`, `args`"),
        ({"risk": {"efects": "read"}}, "risk.efects", "unknown-key", "Did you mean `effects`?"),
        ({"caps": {"filesystem": {"delete": []}}}, "caps.filesystem.delete", "unknown-key", "`read`, `write`"),
        ({"examples": [{"input": {"city": "x"}, "outptu": 1}]}, "examples[0].outptu", "unknown-key", "`output`?"),
        ({"timeout_ms": 1, "timeoutMs": GONE}, "timeout_ms", "snake-case-key", "write `timeoutMs`"),
        ({"input_schema": {}}, "input_schema", "snake-case-key", "write `inputSchema`"),
        ({"limits": {"max_input_bytes": 1, "maxOutputBytes": 1}}, "limits.max_input_bytes", "snake-case-key", "`maxIn"),
        ({"templating": {"cache_key": "x"}}, "templating.cache_key", "snake-case-key", "write `cacheKey`"),
        ({"metadata": {"toolpack": 1}}, "metadata.toolpack", "reserved-key", "fills in itself"),
    ],
)
def test_a_key_that_does_not_belong_is_refused_with_the_one_that_was_meant(
    tmp_path: Path, changes: dict[str, Any], path: str, code: str, hint: str
) -> None:
    write(tmp_path, changes)

    (found,) = violations(tmp_path)

    assert (found.path, found.code) == (path, code)
    assert hint in found.message


@pytest.mark.req("TP-4", "D0-2b")
@pytest.mark.parametrize("tool_id", ["a.b", "pkg.tool", "planner.multi_perspective", "hitl.outline-review", "a1.b2.c3"])
def test_an_id_of_dotted_lower_case_segments_is_taken(tmp_path: Path, tool_id: str) -> None:
    write(tmp_path, {"id": tool_id})

    assert loaded(tmp_path).id == tool_id


@pytest.mark.req("TP-4", "D0-2b", "D0-4d")
@pytest.mark.parametrize(
    "tool_id", ["tool", "a:b", "mcp.tool:docs", "A.b", "a..b", ".a.b", "a.b.", "a.-b", "a.b_", "a b.c", "ä.b", "a.b\n"]
)
def test_any_other_id_is_refused(tmp_path: Path, tool_id: str) -> None:
    write(tmp_path, {"id": tool_id})

    assert places(tmp_path) == [("id", "bad-id")]


@pytest.mark.req("TP-4", "D0-2c")
@pytest.mark.parametrize("version", ["1.0.0", "0.0.1", "1.0.0-x.7.z.92", "1.0.0-rc.1+build.5", "10.20.30"])
def test_a_version_by_semver_is_taken(tmp_path: Path, version: str) -> None:
    write(tmp_path, {"version": version})

    assert loaded(tmp_path).version == version


@pytest.mark.req("TP-4", "D0-2c", "D0-4d")
@pytest.mark.parametrize(
    "version", ["v1.0.0", "01.2.3", "1!1.0.0", " 1.2.3 ", "1.0.0.post1", "1.0", "1", "1.0.0-", "latest", "1.2.3\n", ""]
)
def test_any_other_version_is_refused(tmp_path: Path, version: str) -> None:
    write(tmp_path, {"version": version})

    assert places(tmp_path) == [("version", "bad-version")]


@pytest.mark.req("TP-4")
@pytest.mark.fault("C3")
@pytest.mark.parametrize("version", [1.1, 1, True])
def test_a_version_that_yaml_reads_as_a_number_is_refused_with_the_advice_to_quote_it(
    tmp_path: Path, version: object
) -> None:
    write(tmp_path, {"version": version})

    (found,) = violations(tmp_path)

    assert found.path == "version"
    assert version is True or "put it in quotes" in found.message


@pytest.mark.req("TP-4", "D0-2d")
@given(
    st.from_regex(
        r"(0|[1-9][0-9]{0,3})\.(0|[1-9][0-9]{0,3})\.(0|[1-9][0-9]{0,3})(-(a|b|rc)(0|[1-9][0-9]?))?", fullmatch=True
    )
)
def test_what_both_standards_can_express_is_read_by_both(version: str) -> None:
    parts, _ = check_shape({})

    faults = [each for each in cross_faults({"version": version}, parts) if each.path == ("version",)]

    assert faults == []
    assert Version(version).release == parse_version(version).triple


@pytest.mark.req("TP-4")
def test_a_version_that_only_semver_can_express_is_taken() -> None:
    with pytest.raises(InvalidVersion):
        Version("1.0.0-x.7.z.92")
    assert parse_version("1.0.0-x.7.z.92") is not None


@pytest.mark.req("TP-5", "D0-2e", "D0-2g")
@pytest.mark.parametrize("key", ["timeoutMs", "limits.maxInputBytes", "limits.maxOutputBytes"])
@pytest.mark.parametrize(
    ("value", "code"),
    [
        (True, "wrong-type"),
        (0, "out-of-bounds"),
        (-1, "out-of-bounds"),
        (1.5, "wrong-type"),
        (2.0, "wrong-type"),
        ("100", "wrong-type"),
        (None, "wrong-type"),
        ([1], "wrong-type"),
        (10**13, "out-of-bounds"),
    ],
)
def test_a_number_must_be_a_positive_integer_within_bounds(tmp_path: Path, key: str, value: object, code: str) -> None:
    write(tmp_path, {key: value})

    assert places(tmp_path) == [(key, code)]


@pytest.mark.req("TP-6", "D0-0e", "D0-2h", "D0-2j", "D0-2o", "D0-2p")
@pytest.mark.parametrize(
    ("execution", "caps", "model"),
    [
        ({"kind": "python", "module": "pkg.mod:call"}, {}, PythonExecution),
        ({"kind": "python", "script": "run.py", "args": ["-v"]}, {}, PythonExecution),
        (CLI, CHILDREN, CliExecution),
        ({**URL, "method": "GET", "headers": {"X-Key": "{{ input.city }}"}}, HTTPS, HttpExecution),
        ({"kind": "node", "script": "run.py"}, CHILDREN, NodeExecution),
        ({"kind": "node", "node": "run.py", "args": ["{{ input.city }}"]}, CHILDREN, NodeExecution),
        ({"kind": "node", "module": "run.py:slug"}, CHILDREN, NodeExecution),
        ({"kind": "php", "php": "run.py"}, CHILDREN, PhpExecution),
        ({"kind": "php", "script": "run.py", "phpBinary": "php8"}, CHILDREN, PhpExecution),
    ],
)
def test_every_kind_is_taken_with_what_it_needs(
    tmp_path: Path, execution: dict[str, Any], caps: dict[str, Any], model: type
) -> None:
    write_text(tmp_path, "run.py", "")
    write(tmp_path, {"execution": execution, "caps": caps})

    assert type(loaded(tmp_path).execution) is model


@pytest.mark.req("TP-6")
@pytest.mark.parametrize("url", ["http://127.0.0.1:8000/x", "http://localhost/", "https://10.0.0.1/", "http://[::1]/"])
def test_whether_a_private_address_may_be_reached_is_not_for_the_file_to_say(tmp_path: Path, url: str) -> None:
    write(tmp_path, {"execution": {"kind": "http", "url": url}, "caps": {"network": ["http", "https"]}})

    assert loaded(tmp_path).execution["url"] == url


@pytest.mark.req(
    "TP-6", "TP-11", "D0-2i", "D0-2j", "D0-2k", "D0-2l", "D0-2m", "D0-2n", "D0-2o", "D0-2p", "D0-3h", "D0-4f"
)
@pytest.mark.parametrize(
    ("execution", "found"),
    [
        ({"kind": "ruby"}, ("execution.kind", "unknown-kind")),
        ({"kind": ["python"]}, ("execution.kind", "wrong-type")),
        ({"kind": None}, ("execution.kind", "wrong-type")),
        ({"module": "a:b"}, ("execution.kind", "missing-key")),
        ("python", ("execution", "wrong-type")),
        ({"kind": "python"}, ("execution", "bad-execution")),
        ({"kind": "python", "module": "a:b", "script": "run.py"}, ("execution", "bad-execution")),
        ({"kind": "python", "module": "a:b", "args": ["x"]}, ("execution.args", "bad-execution")),
        ({"kind": "python", "module": "a:b:c"}, ("execution.module", "bad-module")),
        ({"kind": "python", "module": "os.path : join"}, ("execution.module", "bad-module")),
        ({"kind": "python", "module": "os"}, ("execution.module", "bad-module")),
        ({"kind": "python", "module": ":join"}, ("execution.module", "bad-module")),
        ({"kind": "python", "script": ""}, ("execution.script", "out-of-bounds")),
        ({"kind": "python", "script": "missing.py"}, ("execution.script", "no-file")),
        ({"kind": "python", "script": "../run.py"}, ("execution.script", "outside-root")),
        ({"kind": "python", "script": "/etc/passwd"}, ("execution.script", "outside-root")),
        ({"kind": "cli", "cmd": []}, ("execution.cmd", "out-of-bounds")),
        ({"kind": "cli", "cmd": "echo hi"}, ("execution.cmd", "wrong-type")),
        ({"kind": "cli", "cmd": ["echo", ""]}, ("execution.cmd[1]", "out-of-bounds")),
        ({"kind": "cli", "cmd": ["echo", 3]}, ("execution.cmd[1]", "wrong-type")),
        ({"kind": "cli", "cmd": ["{{ input.city }}"]}, ("execution.cmd[0]", "bad-execution")),
        ({"kind": "node"}, ("execution", "bad-execution")),
        ({"kind": "node", "script": "run.py", "args": [1]}, ("execution.args[0]", "wrong-type")),
        ({"kind": "php"}, ("execution", "bad-execution")),
        ({"kind": "http"}, ("execution.url", "missing-key")),
        ({"kind": "http", "url": ""}, ("execution.url", "out-of-bounds")),
        ({**URL, "method": "FROB"}, ("execution.method", "unknown-value")),
        ({**URL, "method": 1}, ("execution.method", "wrong-type")),
        ({**URL, "headers": {"X": 1}}, ("execution.headers.X", "wrong-type")),
        ({**URL, "headers": {"X Y": "1"}}, ("execution.headers[`X Y`]", "bad-header")),
        ({"kind": "http", "url": "example.com/x"}, ("execution.url", "bad-url")),
        ({"kind": "http", "url": "ftp://example.com/x"}, ("execution.url", "bad-url")),
        ({"kind": "http", "url": "https://{{ input.city }}/"}, ("execution.url", "bad-url")),
        ({"kind": "http", "url": "{{ input.city }}://x/"}, ("execution.url", "bad-url")),
        ({"kind": "http", "url": "https://me:pw@example.com/"}, ("execution.url", "bad-url")),
        ({"kind": "http", "url": "https://exa mple.com/"}, ("execution.url", "bad-url")),
        ({"kind": "http", "url": "https://127.1/"}, ("execution.url", "bad-url")),
    ],
)
def test_what_does_not_fit_its_kind_is_refused(
    tmp_path: Path, execution: dict[str, Any], found: tuple[str, str]
) -> None:
    write_text(tmp_path, "packs/run.py", "")
    write_text(tmp_path, "run.py", "")
    write(tmp_path / "packs", {"execution": execution, "caps": {**CHILDREN, **HTTPS}})

    assert places(tmp_path / "packs") == [found]


@pytest.mark.req("TP-7", "D0-2s", "D0-2t", "D0-2u", "D0-4e")
@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"caps": {"network": ["ftp"]}}, ("caps.network[0]", "unknown-value")),
        ({"caps": {"network": ["HTTP"]}}, ("caps.network[0]", "unknown-value")),
        ({"caps": {"network": "http"}}, ("caps.network", "wrong-type")),
        ({"caps": {"filesystem": ["../../etc"]}}, ("caps.filesystem", "wrong-type")),
        ({"caps": {"filesystem": {"read": ["../../etc"]}}}, ("caps.filesystem.read[0]", "outside-root")),
        ({"caps": {"filesystem": {"write": ["x", "/etc"]}}}, ("caps.filesystem.write[1]", "outside-root")),
        ({"caps": {"filesystem": {"read": ["a/../../b"]}}}, ("caps.filesystem.read[0]", "outside-root")),
        ({"caps": {"filesystem": {"read": ["c:\\x"]}}}, ("caps.filesystem.read[0]", "outside-root")),
        ({"caps": {"subprocess": "yes"}}, ("caps.subprocess", "wrong-type")),
        ({"caps": {"subprocess": 1}}, ("caps.subprocess", "wrong-type")),
        ({"caps": None}, ("caps", "wrong-type")),
    ],
)
def test_capabilities_are_checked(tmp_path: Path, changes: dict[str, Any], found: tuple[str, str]) -> None:
    write_text(tmp_path, "run.py", "")
    write(tmp_path, changes)

    assert places(tmp_path) == [found]


@pytest.mark.req("CT-23")
@pytest.mark.parametrize(
    "caps",
    [GONE, {}, {"subprocess": False}, {"network": []}, {"network": ["http"]}],
    ids=["left-out", "empty", "no-subprocess", "no-network", "http"],
)
@pytest.mark.parametrize(
    "execution", [CLI, {"kind": "node", "script": "run.py"}, {"kind": "php", "php": "run.py"}, URL]
)
def test_a_kind_may_do_what_it_needs_without_capabilities(tmp_path: Path, execution: dict[str, Any], caps: Any) -> None:
    write_text(tmp_path, "run.py", "")
    write(tmp_path, {"execution": execution, "caps": caps} if caps is not GONE else {"execution": execution})

    assert loaded(tmp_path).execution["kind"] == execution["kind"]


@pytest.mark.req("TP-8", "D0-2v", "D0-2w", "D0-2x", "D0-4e")
@pytest.mark.fault("C9")
@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"env": {"passthrough": ["path"]}}, ("env.passthrough[0]", "bad-variable")),
        ({"env": {"passthrough": ["9A"]}}, ("env.passthrough[0]", "bad-variable")),
        ({"env": {"passthrough": "PATH"}}, ("env.passthrough", "wrong-type")),
        ({"env": {"set": {"lower": "x"}}}, ("env.set.lower", "bad-variable")),
        ({"env": {"set": {"A": 1}}}, ("env.set.A", "wrong-type")),
        ({"env": {"set": ["A"]}}, ("env.set", "wrong-type")),
        ({"env": {"set": {"A": "1"}, "passthrough": ["A"]}}, ("env.set.A", "variable-twice")),
        ({"env": {"passthrough": ["LD_PRELOAD"]}}, ("env.passthrough[0]", "loader-variable")),
        ({"env": {"passthrough": ["LANG", "PYTHONPATH"]}}, ("env.passthrough[1]", "loader-variable")),
        ({"env": {"set": {"NODE_OPTIONS": "--require x"}}}, ("env.set.NODE_OPTIONS", "loader-variable")),
        ({"env": {"set": {"BASH_ENV": "x"}}}, ("env.set.BASH_ENV", "loader-variable")),
        ({"templating": {"engine": "jinja3"}}, ("templating.engine", "unknown-value")),
        ({"templating": {"engine": 2}}, ("templating.engine", "wrong-type")),
        ({"templating": {"context": [1]}}, ("templating.context", "wrong-type")),
        ({"templating": {"cacheKey": ""}}, ("templating.cacheKey", "out-of-bounds")),
        ({"templating": {"cacheKey": "{{ input.city"}}, ("templating.cacheKey", "template")),
        ({"templating": {"cacheKey": "{{ input.town }}"}}, ("templating.cacheKey", "template")),
    ],
)
def test_variables_and_templates_are_checked(tmp_path: Path, changes: dict[str, Any], found: tuple[str, str]) -> None:
    write(tmp_path, changes)

    assert places(tmp_path) == [found]


@pytest.mark.req("TP-8", "D0-2y")
def test_a_context_that_is_not_json_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path)
    path.write_text(f"{path.read_text()}templating:\n  context:\n    day: 2024-01-01\n    x: !!set {{a, b}}\n")

    assert places(tmp_path) == [("templating.context.day", "ambiguous-value"), ("templating.context.x", "tag")]


@pytest.mark.req("TP-3")
@pytest.mark.parametrize(
    ("example", "found"),
    [
        ({"input": {"town": "Ulm"}}, {("examples[0].input", "bad-example"), ("examples[0].input.town", "bad-example")}),
        ({"input": {"city": 3}}, {("examples[0].input.city", "bad-example")}),
        ({"input": {"city": "Ulm"}, "output": [1]}, {("examples[0].output", "bad-example")}),
        ({"input": {"city": 3}, "error": "validation"}, set()),
    ],
)
def test_an_example_must_fit_the_schemas_unless_it_shows_an_error(
    tmp_path: Path, example: dict[str, Any], found: set[tuple[str, str]]
) -> None:
    write(tmp_path, {"examples": [example]})

    assert (set(places(tmp_path)) if found else set()) <= found
    assert found or loaded(tmp_path).examples[0].error == "validation"


@pytest.mark.req("TP-3")
@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"deterministic": "true"}, "deterministic"),
        ({"description": ["x"]}, "description"),
        ({"tags": "weather"}, "tags"),
        ({"tags": [1]}, "tags[0]"),
        ({"examples": {"input": {}}}, "examples"),
        ({"risk": {"destructive": "no"}}, "risk.destructive"),
        ({"limits": [1, 2]}, "limits"),
        ({"inputSchema": "x"}, "inputSchema"),
        ({"outputSchema": True}, "outputSchema"),
    ],
)
def test_nothing_is_taken_for_what_it_is_not(tmp_path: Path, changes: dict[str, Any], path: str) -> None:
    write(tmp_path, changes)

    assert places(tmp_path) == [(path, "wrong-type")]


@pytest.mark.req("TP-3")
@pytest.mark.parametrize(
    ("changes", "path", "code"),
    [
        ({"title": "x" * 300}, "title", "out-of-bounds"),
        ({"risk": {"effects": "reads"}}, "risk.effects", "unknown-value"),
        ({"execution": {"kind": "cli", "cmd": ["x"] * 300}, "caps": CHILDREN}, "execution.cmd", "out-of-bounds"),
        ({"tags": ["weather \u0000"]}, "tags[0]", "not-text"),
    ],
)
def test_values_have_bounds(tmp_path: Path, changes: dict[str, Any], path: str, code: str) -> None:
    write(tmp_path, changes)

    assert places(tmp_path) == [(path, code)]


@pytest.mark.req("TP-3", "D0-4b")
def test_a_file_in_the_older_dialect_of_others_is_refused_as_a_whole(tmp_path: Path) -> None:
    write_text(
        tmp_path,
        "old.tool.yaml",
        "id: util.echo\nkind: cli\nentry: [echo, '{{ input.text }}']\nschema: {input: {}, output: {}}\n"
        "timeoutMs: 1000\nlimits: {input: 1, output: 2}\nenv: [PATH]\ndeterministic: true\n",
    )

    # Nobody is told to add `inputSchema` who is asked whether `schema` was meant to be that.
    assert set(places(tmp_path)) == {
        ("kind", "unknown-key"),
        ("entry", "unknown-key"),
        ("schema", "unknown-key"),
        ("limits.input", "unknown-key"),
        ("limits.output", "unknown-key"),
        ("limits.maxInputBytes", "missing-key"),
        ("env", "wrong-type"),
        ("version", "missing-key"),
        ("outputSchema", "missing-key"),
        ("execution", "missing-key"),
    }


@pytest.mark.req("TP-3", "CT-25")
def test_the_output_of_an_example_may_be_any_json(tmp_path: Path) -> None:
    for name, output, wrong in (("text", "a b", ["a"]), ("list", ["a"], "a"), ("number", 3, "3"), ("null", None, 0)):
        schema = {"const": output}
        example = {"input": {"city": "Ulm"}}
        write(
            tmp_path / "good",
            {"id": f"a.{name}", "outputSchema": schema, "examples": [{**example, "output": output}]},
            name=name,
        )
        write(
            tmp_path / "bad",
            {"id": f"a.{name}", "outputSchema": schema, "examples": [{**example, "output": wrong}]},
            name=name,
        )

    assert len(ToolpackLoader().load_dir(tmp_path / "good")) == 4
    assert places(tmp_path / "bad") == [("examples[0].output", "bad-example")] * 4
