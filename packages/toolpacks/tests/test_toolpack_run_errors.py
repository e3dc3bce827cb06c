"""What a failed call is told: which error, which code, what the tool said; and every hole of the loader's ancestor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from running_packs import ask, need, needs_walls, running, write_file, write_pack, write_python

from toolcrib_core import ToolError, ToolErrorCategory
from toolcrib_runtime import Toolbox

pytestmark = needs_walls

LIMITS = {"maxInputBytes": 10_000, "maxOutputBytes": 10_000}


def shell(folder: Path, name: str, script: str, **fields: Any) -> None:
    write_pack(folder, name, {"kind": "cli", "cmd": ["/bin/sh", "-c", script]}, **fields)


async def error_of(toolbox: Toolbox, name: str, **arguments: Any) -> ToolError:
    result = await ask(toolbox, name, **arguments)
    assert result.error is not None, result.value
    return result.error


@pytest.mark.req("TP-22")
async def test_input_and_output_are_held_to_their_schemas(tmp_path: Path) -> None:
    number = {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "required": ["n"],
        "additionalProperties": False,
    }
    ran = "import sys\ndef run(n):\n    print('ran', file=sys.stderr)\n    return {'n': 'text'} if n else {'n': 1}\n"
    write_python(tmp_path, "strict", ran, inputSchema=number, outputSchema=number)

    async with running(tmp_path) as toolbox:
        wrong_input = await error_of(toolbox, "strict", n="3")
        unknown = await error_of(toolbox, "strict", n=1, m=2)
        wrong_output = await error_of(toolbox, "strict", n=1)
        good = await ask(toolbox, "strict", n=0)

    assert wrong_input.category is unknown.category is ToolErrorCategory.VALIDATION
    assert wrong_input.code == "toolbox.invalid-arguments"
    assert wrong_output.category is ToolErrorCategory.OUTPUT_VALIDATION
    assert good.unwrap() == {"n": 1}


@pytest.mark.req("TP-22")
@pytest.mark.fault("D5")
@pytest.mark.parametrize(
    ("script", "code", "words"),
    [
        ("echo oh no", "toolbox.malformed-output", "is not one JSON value"),
        ("echo '{}'; echo broken >&2; exit 1", "toolbox.process-exited", "exit status 1"),
        ("kill -SEGV $$", "toolbox.process-killed", "SIGSEGV"),
        ("/no/such/program", "toolbox.process-not-started", "exit status 127"),
        ("./not_executable", "toolbox.process-not-started", "exit status 126"),
    ],
    ids=["garbage", "exit-1", "signal", "127", "126"],
)
async def test_each_way_to_fail_has_a_code_of_its_own(script: str, code: str, words: str, tmp_path: Path) -> None:
    write_file(tmp_path, "not_executable", "x")
    shell(tmp_path, "fails", script, caps={"subprocess": True, "filesystem": {"read": ["not_executable"]}})
    shell(tmp_path, "good", "cat")

    async with running(tmp_path) as toolbox:
        error = await error_of(toolbox, "fails")
        good = await ask(toolbox, "good", x=1)

    assert (error.code, words in error.message) == (code, True), error.message
    assert "Traceback" not in error.message
    assert good.unwrap() == {"x": 1}
    if code == "toolbox.process-exited":
        assert error.details["stderr"] == "broken\n"


@pytest.mark.req("TP-22")
@pytest.mark.fault("D5")
async def test_a_program_or_an_interpreter_that_is_missing_is_named(tmp_path: Path) -> None:
    script = write_file(tmp_path, "script.cjs", "")
    php = write_file(tmp_path, "script.php", "")
    odd = write_file(tmp_path, "odd.sh", "#!/no/such/interpreter\n")
    (tmp_path / odd).chmod(0o755)
    write_pack(tmp_path, "program", {"kind": "cli", "cmd": ["no-such-program"]})
    write_pack(tmp_path, "node", {"kind": "node", "script": script})
    write_pack(tmp_path, "php", {"kind": "php", "script": php, "phpBinary": "no-such-php"})
    write_pack(tmp_path, "odd", {"kind": "cli", "cmd": ["./odd.sh"]})

    async with running(tmp_path, interpreters=_interpreters(node="no-such-node")) as toolbox:
        errors = {name: await error_of(toolbox, name) for name in ("program", "node", "php", "odd")}

    assert {each.code for each in errors.values()} == {"toolbox.process-not-started"}
    assert {each.category for each in errors.values()} == {ToolErrorCategory.NOT_FOUND}
    for name, missing in {"program": "no-such-program", "node": "no-such-node", "php": "no-such-php"}.items():
        assert errors[name].message == f"The program `{missing}` was not found."
    assert "/no/such/interpreter" in errors["odd"].message


@pytest.mark.req("TP-22")
@pytest.mark.fault("D6")
@pytest.mark.parametrize(
    ("printed", "reason"),
    [
        (r"{\042a\042: 1", "not one JSON value"),
        (r"{} {}", "not one JSON value"),
        (r"\377\376", "not one JSON value"),
        (r"\033[31m{}", "an escape sequence for terminals"),
        (r"\357\273\277{}", "not one JSON value"),
        (r"", "it is empty"),
        (r"NaN", "a number that JSON does not have"),
    ],
    ids=["half", "two", "not-utf-8", "ansi", "bom", "nothing", "nan"],
)
async def test_output_that_is_not_one_json_document_is_shown_as_it_was(
    printed: str, reason: str, tmp_path: Path
) -> None:
    shell(tmp_path, "odd", f"printf '{printed}'; echo said on the side >&2")

    async with running(tmp_path) as toolbox:
        error = await error_of(toolbox, "odd")

    assert error.code == "toolbox.malformed-output"
    assert error.category is ToolErrorCategory.OUTPUT_VALIDATION
    assert reason in error.message
    assert "excerpt" in error.details


@pytest.mark.req("TP-22")
async def test_what_a_function_raises_is_told_without_a_traceback(tmp_path: Path) -> None:
    code = """
        import sys
        def run(how):
            if how == "exit":
                sys.exit(3)
            if how == "raise":
                raise LookupError("no such city: Atlantis")
            if how == "print":
                print("prints do not disturb the answer")
                return how
            return {"nan": float("nan"), "object": object(), "set": {1}, "key": {(1, 2): 3}}[how]
    """
    schema = {"type": "object", "properties": {"how": {"type": "string"}}, "required": ["how"]}
    write_python(tmp_path, "fails", code, inputSchema=schema)

    async with running(tmp_path) as toolbox:
        raised = await error_of(toolbox, "fails", how="raise")
        exited = await error_of(toolbox, "fails", how="exit")
        unusable = [await error_of(toolbox, "fails", how=how) for how in ("nan", "object", "set", "key")]
        printed = await ask(toolbox, "fails", how="print")

    assert raised.message == "`test:fails@1.0.0` failed: LookupError: no such city: Atlantis"
    assert raised.code == "tool.test.fails.failed"
    assert exited.code == "tool.test.fails.tried-to-exit"
    assert {each.code for each in unusable} == {"toolbox.unusable-output"}
    assert printed.unwrap() == "print"


@pytest.mark.req("TP-22", "TP-20")
async def test_a_function_that_cannot_be_had_is_a_clear_error_and_not_remembered(tmp_path: Path) -> None:
    write_pack(tmp_path, "missing", {"kind": "python", "module": "no_such_module_here:run"})
    write_pack(tmp_path, "nothing", {"kind": "python", "module": "json:no_such_name"})
    write_pack(tmp_path, "constant", {"kind": "python", "module": "math:pi"})
    write_pack(tmp_path, "installed", {"kind": "python", "module": "json:dumps"})
    write_python(tmp_path, "broken", "raise SystemExit('no import of mine')\n")
    write_python(
        tmp_path,
        "unsaid",
        "import os\nif not os.path.exists('flag'):\n    raise OSError('not yet')\ndef run(_):\n    return 1\n",
    )

    async with running(tmp_path) as toolbox:
        errors = {
            name: await error_of(toolbox, name) for name in ("missing", "nothing", "constant", "broken", "unsaid")
        }
        installed = await ask(toolbox, "installed", a=1)
        (tmp_path / "flag").write_text("")
        again = await ask(toolbox, "unsaid")

    assert {each.code for each in errors.values()} == {"toolbox.load-failed"}
    assert "cannot be imported: ModuleNotFoundError" in errors["missing"].message
    assert "has no `no_such_name`" in errors["nothing"].message
    assert "is not callable" in errors["constant"].message
    assert "SystemExit" in errors["broken"].message
    assert installed.unwrap() == '{"a": 1}'
    assert again.unwrap() == 1


@pytest.mark.req("TP-22", "TP-20")
async def test_a_node_module_says_what_is_wrong_with_it(tmp_path: Path) -> None:
    need("node")
    write_file(
        tmp_path,
        "tool.mjs",
        "export const number = 1; export const odd = (input) => ({ nan: NaN, fn: () => 1 })[input.how];",
    )
    write_file(tmp_path, "syntax.mjs", "export default (")
    write_pack(tmp_path, "default", {"kind": "node", "module": "tool.mjs"})
    write_pack(tmp_path, "export", {"kind": "node", "module": "tool.mjs:number"})
    write_pack(tmp_path, "syntax", {"kind": "node", "module": "syntax.mjs"})
    write_pack(tmp_path, "odd", {"kind": "node", "module": "tool.mjs:odd"})

    async with running(tmp_path) as toolbox:
        loads = {name: await error_of(toolbox, name) for name in ("default", "export", "syntax")}
        unusable = [await error_of(toolbox, "odd", how=how) for how in ("nan", "fn")]
        nothing = await ask(toolbox, "odd", how="other")

    assert {each.code for each in loads.values()} == {"toolbox.load-failed"}
    assert "default export" in loads["default"].message
    assert "exports no function `number`" in loads["export"].message
    assert "SyntaxError" in loads["syntax"].message
    assert {each.code for each in unusable} == {"toolbox.unusable-output"}
    assert nothing.unwrap() is None


@pytest.mark.req("TP-22")
async def test_a_secret_that_a_tool_prints_is_not_in_its_error(tmp_path: Path) -> None:
    secret = "canary-" + "7f3a9b2c41"
    passes = {"passthrough": ["SERVICE_TOKEN"]}
    shell(tmp_path, "exits", "echo the token $SERVICE_TOKEN is wrong >&2; exit 1", env=passes)
    shell(tmp_path, "leaks", "echo $SERVICE_TOKEN; exit 0", env=passes)
    write_python(
        tmp_path, "raises", "import os\ndef run(_):\n    raise ValueError(os.environ['SERVICE_TOKEN'])\n", env=passes
    )

    async with running(
        tmp_path, environment={"SERVICE_TOKEN": secret}, granted_env=frozenset({"SERVICE_TOKEN"})
    ) as toolbox:
        errors = [await error_of(toolbox, name) for name in ("leaks", "raises", "exits")]

    assert secret not in str([each.to_dict() for each in errors])
    assert errors[2].message.startswith("`test:exits` failed with exit status 1: the token ")


@pytest.mark.req("TP-22")
async def test_a_script_that_is_gone_or_was_replaced_by_a_link_is_refused(tmp_path: Path) -> None:
    packs, outside = tmp_path / "packs", tmp_path / "outside.sh"
    outside.write_text("#!/bin/sh\necho 1\n")
    outside.chmod(0o755)
    for name in ("gone", "linked"):
        write_file(packs, f"{name}.sh", "#!/bin/sh\necho 1\n")
        (packs / f"{name}.sh").chmod(0o755)
        write_pack(packs, name, {"kind": "cli", "cmd": [f"./{name}.sh"]})

    async with running(packs) as toolbox:
        (packs / "gone.sh").unlink()
        (packs / "linked.sh").unlink()
        (packs / "linked.sh").symlink_to(outside)
        gone, linked = await error_of(toolbox, "gone"), await error_of(toolbox, "linked")

    assert gone.code == "toolbox.process-not-started"
    assert linked.code == "toolbox.outside-root"


@pytest.mark.req("TP-20")
async def test_a_pack_called_as_a_function_says_where_it_can_be_called(tmp_path: Path) -> None:
    write_python(tmp_path, "one", "def run(_):\n    return 1\n")

    async with running(tmp_path) as toolbox:
        tool = toolbox.resolve("test:one")
        assert await tool.run({}) == 1
        with pytest.raises(TypeError, match="call it through its toolbox"):
            tool(x=1)


def _interpreters(**names: str) -> Any:
    from toolcrib_toolpacks.commands import Interpreters

    return Interpreters(**names)


@pytest.mark.req("TP-22")
async def test_a_failure_is_told_in_the_name_of_the_pack_with_the_reason_it_gave(tmp_path: Path) -> None:
    noise = "i=0; while [ $i -lt 300 ]; do echo line $i >&2; i=$((i+1)); done; exit 3"
    shell(tmp_path, "noisy", noise)
    write_python(tmp_path, "raises", "raise LookupError('no such city')\n", way="script")
    shell(tmp_path, "slow", "sleep 60", timeoutMs=300)
    shell(tmp_path, "quiet", "exit 5")

    async with running(tmp_path, grace=0.1) as toolbox:
        noisy, raises, slow, quiet = [await error_of(toolbox, name) for name in ("noisy", "raises", "slow", "quiet")]

    assert noisy.message == "`test:noisy` failed with exit status 3: line 0"
    assert str(noisy.details["stderrHead"]).startswith("line 0\nline 1\n")
    assert str(noisy.details["stderr"]).endswith("line 299\n")
    assert raises.message == "`test:raises` failed with exit status 1: LookupError: no such city"
    assert slow.message == "`test:slow` did not end within 300 ms, and was stopped."
    assert quiet.message == "`test:quiet` failed with exit status 5."
    assert quiet.hint == "See what it wrote to standard error."
