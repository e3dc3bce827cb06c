"""What is passed to a program, what never is, and how a program is found."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from process_children import PYTHON, python

from toolcrib_core import ToolErrorCategory
from toolcrib_runtime.errors import ProcessNotStarted
from toolcrib_runtime.guards.process.home import remove_with_contents
from toolcrib_runtime.guards.process.run import run_process
from toolcrib_runtime.guards.process.spec import DEFAULT_PATH, TREE_VARIABLE, ProcessSpec, environment, find_program

PRINT_ENVIRONMENT = "import json, os; print(json.dumps(dict(os.environ)))"


def script(directory: Path, text: str, *, mode: int = 0o755) -> str:
    path = directory / "program"
    path.write_text(text)
    path.chmod(mode)
    return str(path)


@pytest.mark.fault("C7")
@pytest.mark.parametrize(
    "argument",
    ["; touch canary", "$(touch canary)", "`touch canary`", "--output=canary", "-rf", "two\nlines", "", "*", "a b"],
)
async def test_an_argument_arrives_as_one_element_and_starts_nothing(argument: str, tmp_path: Path) -> None:
    spec = python("import json, sys; print(json.dumps(sys.argv[1:]))", argument, cwd=str(tmp_path))

    result = await run_process(spec, timeout=10)

    assert json.loads(result.stdout) == [argument]
    assert not _exists(tmp_path / "canary")


@pytest.mark.fault("C7")
@pytest.mark.parametrize("argument", ["secret\0value", "secret\ud800value"])
def test_an_argument_that_cannot_be_passed_is_refused_without_its_value(argument: str) -> None:
    with pytest.raises(ProcessNotStarted, match="Element 1 of `argv`") as caught:
        ProcessSpec(argv=("echo", argument))

    assert caught.value.category is ToolErrorCategory.VALIDATION
    assert "secret" not in str(caught.value.to_dict())


@pytest.mark.parametrize("argv", [(), ("",)])
def test_a_spec_without_a_program_is_refused(argv: tuple[str, ...]) -> None:
    with pytest.raises(ProcessNotStarted, match="No program is named"):
        ProcessSpec(argv=argv)


@pytest.mark.fault("D8", "C9")
async def test_the_environment_is_made_from_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "canary-5f1c")
    spec = ProcessSpec(argv=(PYTHON, "-I", "-S", "-c", PRINT_ENVIRONMENT), env={"GREETING": "hello"})

    result = await run_process(spec, timeout=10)

    seen = json.loads(result.stdout)
    assert set(seen) - {"LC_CTYPE"} == {"PATH", "LANG", "HOME", "TMPDIR", "GREETING", TREE_VARIABLE}
    assert (seen["PATH"], seen["LANG"], seen["GREETING"]) == (DEFAULT_PATH, "C.UTF-8", "hello")
    assert b"canary-5f1c" not in result.stdout + result.stderr


async def test_home_is_a_private_directory_that_goes_away_with_the_child() -> None:
    code = """
        import os, pathlib
        home = pathlib.Path(os.environ["HOME"])
        (home / "deep").mkdir()
        (home / "deep" / "file").write_text("x")
        (home / "link").symlink_to("/")
        (home / "deep").chmod(0)
        print(home, os.environ["TMPDIR"], os.getcwd(), oct(home.stat().st_mode)[-3:])
    """

    result = await run_process(python(code), timeout=10)

    home, temporary, cwd, mode = result.stdout.decode().split()
    assert home == temporary == cwd
    assert mode == "700"
    assert not _exists(Path(home))


@pytest.mark.fault("C9")
@pytest.mark.parametrize(
    "name",
    [
        *("LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "PYTHONPATH", "PYTHONSTARTUP"),
        *("NODE_OPTIONS", "BASH_ENV", "ENV", "PERL5OPT", "RUBYOPT", "PHP_INI_SCAN_DIR", "GIT_SSH_COMMAND"),
    ],
)
def test_loader_variables_are_refused_even_when_declared(name: str) -> None:
    with pytest.raises(ProcessNotStarted, match=f"`{name}`") as caught:
        ProcessSpec(argv=("echo",), env={name: "secret-value", "FINE": "yes"})

    assert caught.value.category is ToolErrorCategory.PERMISSION
    assert "secret-value" not in str(caught.value.to_dict())


def test_whoever_chose_the_program_may_declare_loader_variables() -> None:
    spec = ProcessSpec(argv=("echo",), env={"PYTHONPATH": "/srv/lib"}, trusted_env=True)

    assert environment(spec, private="/p", mark="a1")["PYTHONPATH"] == "/srv/lib"


@pytest.mark.parametrize("env", [{"A=B": "x"}, {TREE_VARIABLE: "x"}, {"A": "nul\0"}])
def test_what_can_never_be_a_variable_is_refused_of_everybody(env: dict[str, str]) -> None:
    with pytest.raises(ProcessNotStarted):
        ProcessSpec(argv=("echo",), env=env, trusted_env=True)


@pytest.mark.parametrize("env", [{"A=B": "x"}, {"": "x"}, {"1A": "x"}, {TREE_VARIABLE: "x"}, {"A": "nul\0"}])
def test_a_variable_that_cannot_be_declared_is_refused(env: dict[str, str]) -> None:
    with pytest.raises(ProcessNotStarted):
        ProcessSpec(argv=("echo",), env=env)


def test_harmless_switches_of_python_may_be_declared() -> None:
    spec = ProcessSpec(argv=("echo",), env={"PYTHONUNBUFFERED": "1"})

    assert environment(spec, private="/p", mark="a1")["PYTHONUNBUFFERED"] == "1"


def test_a_spec_shows_neither_arguments_nor_variables() -> None:
    spec = ProcessSpec(argv=("echo", "secret-argument"), env={"TOKEN": "secret-token"})

    assert "secret" not in repr(spec)
    assert spec.name == "echo"


async def test_our_own_worker_inherits_the_environment_and_the_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUR_SETTING", "kept")
    spec = python("import os; print(os.environ['OUR_SETTING'], os.getcwd())", inherit_env=True)

    result = await run_process(spec, timeout=10)

    assert result.stdout.decode().split() == ["kept", str(Path.cwd())]


@pytest.mark.parametrize(("outer", "marks"), [("", "b2"), ("a1", "a1.b2"), ("not a mark", "b2")])
def test_a_child_of_a_child_carries_both_marks(outer: str, marks: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TREE_VARIABLE, outer)

    env = environment(ProcessSpec(argv=("echo",)), private="/p", mark="b2")

    assert env[TREE_VARIABLE] == marks


def test_a_name_is_looked_up_in_the_path_of_the_child(tmp_path: Path) -> None:
    program = script(tmp_path, "#!/bin/sh\n")

    found = find_program(ProcessSpec(argv=("program",)), f"relative:/nowhere:{tmp_path}")

    assert found == program


@pytest.mark.fault("D5")
@pytest.mark.parametrize(
    ("text", "mode", "message", "category"),
    [
        ("#!/bin/sh\n", 0o644, "`program` is not executable", ToolErrorCategory.PERMISSION),
        ("#!/no/such/interpreter\n", 0o755, "not found: `/no/such/interpreter`", ToolErrorCategory.NOT_FOUND),
        ("#!/usr/bin/env no-such-tool\n", 0o755, "not found: `no-such-tool`", ToolErrorCategory.NOT_FOUND),
        ("#!\n", 0o755, "interpreter of the script `program`", ToolErrorCategory.NOT_FOUND),
        ("echo would run in a shell\n", 0o755, "neither a binary nor a script", ToolErrorCategory.VALIDATION),
    ],
)
async def test_a_program_that_cannot_run_is_refused_before_it_is_started(
    text: str, mode: int, message: str, category: ToolErrorCategory, tmp_path: Path
) -> None:
    spec = ProcessSpec(argv=(script(tmp_path, text, mode=mode),))

    with pytest.raises(ProcessNotStarted, match=message) as caught:
        await run_process(spec, timeout=10)

    assert caught.value.category is category
    assert str(tmp_path) not in str(caught.value.to_dict())


@pytest.mark.fault("D5")
@pytest.mark.parametrize("program", ["no-such-program", "/no/such/program"])
async def test_a_missing_program_is_named(program: str) -> None:
    with pytest.raises(ProcessNotStarted, match=f"`{Path(program).name}` was not found"):
        await run_process(ProcessSpec(argv=(program,)), timeout=10)


def test_a_directory_that_may_not_be_entered_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Root enters every directory.
    monkeypatch.setattr(Path, "is_file", _denied)

    with pytest.raises(ProcessNotStarted, match="`tool` was not found"):
        find_program(ProcessSpec(argv=("tool",)), str(tmp_path))


def test_a_relative_path_is_refused() -> None:
    with pytest.raises(ProcessNotStarted, match="relative path"):
        find_program(ProcessSpec(argv=("bin/tool",)), DEFAULT_PATH)


@pytest.mark.parametrize(
    "line", ["#!/usr/bin/env sh\necho ran\n", "#!/usr/bin/env -S sh -e\necho ran\n", "#!/bin/sh -e\necho ran\n"]
)
async def test_a_script_with_its_interpreter_runs(line: str, tmp_path: Path) -> None:
    result = await run_process(ProcessSpec(argv=(script(tmp_path, line),)), timeout=10)

    assert result.stdout == b"ran\n"


def test_a_program_that_may_be_run_but_not_read_is_left_to_the_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = script(tmp_path, "#!/no/such/interpreter\n", mode=0o111)
    # Root reads every file.
    monkeypatch.setattr(Path, "open", _denied)

    assert find_program(ProcessSpec(argv=(program,)), "") == program


async def test_arguments_that_are_too_long_are_a_clean_error() -> None:
    with pytest.raises(ProcessNotStarted, match="`echo` could not be started: Argument list too long"):
        await run_process(ProcessSpec(argv=("echo", "x" * 10_000_000)), timeout=10)


def test_a_spec_can_be_a_key() -> None:
    first, second = (ProcessSpec(argv=["echo", "a"], env={"A": "1"}) for _ in range(2))

    assert {first: 1}[second] == 1


async def test_a_missing_working_directory_is_a_clean_error() -> None:
    with pytest.raises(ProcessNotStarted, match="could not be started: No such file or directory"):
        await run_process(ProcessSpec(argv=("true",), cwd="/no/such/directory"), timeout=10)


@pytest.mark.parametrize("refusals", [0, 1], ids=["as root", "as anybody else"])
def test_a_directory_that_its_child_made_unreadable_is_removed(
    refusals: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    (home / "locked").mkdir(parents=True)
    (home / "locked" / "file").write_text("x")
    (home / "link").symlink_to(tmp_path)
    (home / "locked").chmod(0)
    remove = shutil.rmtree
    tries = [home] * refusals
    monkeypatch.setattr(shutil, "rmtree", lambda *path, **options: tries.pop() if tries else remove(*path, **options))

    remove_with_contents(str(home))

    assert not home.exists()
    assert tmp_path.exists()


def _denied(*_: object, **__: object) -> None:
    raise PermissionError


def _exists(path: Path) -> bool:
    return path.exists()
