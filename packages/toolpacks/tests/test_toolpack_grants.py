"""What a pack may do without capabilities, and what an operator grants beyond its file."""

from __future__ import annotations

import os
import sys
import venv
from pathlib import Path

import pytest
from running_packs import ask, load, needs_walls, running, write_file, write_pack, write_python

from toolcrib_core import ToolError
from toolcrib_toolpacks import CapabilityRefused, PathGrant, RunSettings, permissions, plan_of

pytestmark = pytest.mark.req("CT-23", "TP-24")

BASE = os.path.realpath(sys.base_prefix)
READ = "def run(payload):\n    return open(payload['file']).read()\n"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "words.txt").write_text("words")
    return folder


@needs_walls
async def test_without_capabilities_a_program_runs_and_starts_no_other_one(tmp_path: Path) -> None:
    write_pack(tmp_path, "alone", {"kind": "cli", "cmd": ["printf", '"alone"']}, caps={})
    script = "if /bin/true; then echo '\"started another\"'; else echo '\"alone\"'; fi"
    write_pack(tmp_path, "shell", {"kind": "cli", "cmd": ["/bin/sh", "-c", script]}, caps={})
    write_pack(tmp_path, "reader", {"kind": "cli", "cmd": ["cat", str(tmp_path / "alone.tool.yaml")]}, caps={})

    async with running(tmp_path) as toolbox:
        alone, shell, reader = [await ask(toolbox, name) for name in ("alone", "shell", "reader")]

    assert alone.unwrap() == "alone"
    assert shell.error is not None or shell.unwrap() == "alone"
    assert reader.error is not None
    assert "Permission denied" in reader.error.message
    assert "--grant-path" in str(reader.error.hint)


@needs_walls
async def test_a_granted_folder_can_be_read_and_is_written_only_if_that_is_granted(tmp_path: Path, data: Path) -> None:
    write = "def run(payload):\n    open(payload['file'], 'w').write('new')\n    return 'written'\n"
    write_python(tmp_path / "packs", "read", READ)
    write_python(tmp_path / "packs", "write", write, risk={"effects": "write", "idempotent": True})
    file = str(data / "words.txt")

    async with running(tmp_path / "packs") as toolbox:
        refused = await ask(toolbox, "read", file=file)
    async with running(tmp_path / "packs", granted_paths=(PathGrant.parse(str(data)),)) as toolbox:
        read, unwritten = await ask(toolbox, "read", file=file), await ask(toolbox, "write", file=file)
    async with running(tmp_path / "packs", granted_paths=(PathGrant.parse(f"{data}:rw"),)) as toolbox:
        written = await ask(toolbox, "write", file=file)

    assert "PermissionError" in str(refused.error)
    assert read.unwrap() == "words"
    assert not unwritten.ok
    assert written.unwrap() == "written"


@needs_walls
@pytest.mark.parametrize("name", ["test.one", "test:one", "test:one@1.0.0"])
async def test_a_grant_may_be_for_one_pack_alone(tmp_path: Path, data: Path, name: str) -> None:
    write_python(tmp_path / "packs", "one", READ)
    write_python(tmp_path / "packs", "two", READ)
    file = str(data / "words.txt")

    async with running(tmp_path / "packs", granted_paths=(PathGrant.parse(f"{name}={data}"),)) as toolbox:
        one, two = await ask(toolbox, "one", file=file), await ask(toolbox, "two", file=file)

    assert one.unwrap() == "words"
    assert "PermissionError" in str(two.error)


@needs_walls
async def test_a_tool_runs_in_the_interpreter_of_a_granted_virtual_environment(tmp_path: Path) -> None:
    home = tmp_path / "home/reports"
    venv.create(home, symlinks=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    (home / f"lib/{version}/site-packages/greetings.py").write_text("WORD = 'hello'\n")
    write_file(
        tmp_path / "packs", "greet.py", "import greetings, json, sys\nprint(json.dumps([greetings.WORD, sys.prefix]))\n"
    )
    caps = {"filesystem": {"read": ["greet.py"]}}
    write_pack(tmp_path / "packs", "greet", {"kind": "cli", "cmd": ["python", "greet.py"]}, caps=caps)

    async with running(tmp_path / "packs") as toolbox:
        refused = await ask(toolbox, "greet")
    async with running(tmp_path / "packs", granted_paths=(PathGrant.parse(str(home)),)) as toolbox:
        ran = await ask(toolbox, "greet")

    assert not refused.ok
    assert ran.unwrap() == ["hello", str(home)]


@needs_walls
async def test_a_tool_runs_in_the_interpreter_of_a_granted_folder_of_versions(tmp_path: Path) -> None:
    # As pyenv and nvm lay them out: `bin` and `lib` beneath the folder of a version.
    base = Path(BASE)
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    if not (base / "bin" / name).exists():
        pytest.skip("this Python does not lie in a `bin` folder")
    write_file(tmp_path, "where.py", "import json, sys\nprint(json.dumps(sys.prefix))\n")
    caps = {"filesystem": {"read": ["where.py"]}}
    write_pack(tmp_path, "where", {"kind": "cli", "cmd": [name, "where.py"]}, caps=caps)

    async with running(tmp_path, granted_paths=(PathGrant.parse(str(base)),)) as toolbox:
        ran = await ask(toolbox, "where")

    assert ran.unwrap() == str(base)


def test_programs_of_granted_folders_come_before_those_of_the_system(tmp_path: Path) -> None:
    (tmp_path / "tools/bin").mkdir(parents=True)
    write_pack(tmp_path / "packs", "cli", {"kind": "cli", "cmd": ["jq"]})
    (pack,) = load(tmp_path / "packs")
    grants = (PathGrant.parse(str(tmp_path / "tools")), PathGrant.parse(str(tmp_path / "tools/bin")))

    plan = plan_of(pack, {}, settings=RunSettings(granted_paths=grants))

    assert grants[0].programs == grants[1].programs == (str(tmp_path / "tools/bin"),)
    assert "PATH" in plan.env
    assert str(tmp_path / "tools") in plan.reads


def test_a_virtual_environment_grants_no_more_of_its_interpreter_than_the_library(tmp_path: Path) -> None:
    base, made = tmp_path / "home", tmp_path / "made"
    for folder in (base / "bin", base / "lib/python3.11", base / "secrets", made / "bin"):
        folder.mkdir(parents=True)
    (base / "bin/python3.11").touch()
    (base / "lib/libpython3.11.so").touch()
    (made / "pyvenv.cfg").touch()
    (made / "bin/python").symlink_to(base / "bin/python3.11")

    readable = PathGrant.parse(str(made)).readable

    assert readable == tuple(map(str, (made, base / "lib/python3.11", base / "lib/libpython3.11.so")))


@pytest.mark.parametrize("path", ["/", "/proc", "/proc/self", "/dev/shm", "/sys"])
def test_what_leads_to_everything_is_never_granted(path: str) -> None:
    with pytest.raises(CapabilityRefused, match=r"never granted|no such file"):
        PathGrant.parse(path)


def test_a_path_that_is_not_there_cannot_be_granted(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="there is no such file or folder"):
        PathGrant.parse(str(tmp_path / "missing"))


def test_a_path_with_an_equals_sign_or_a_tilde_is_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a=b").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    assert PathGrant.parse("./a=b") == PathGrant.parse("~/a=b") == PathGrant(path=tmp_path / "a=b")


def test_what_a_pack_may_do_is_said_in_words(tmp_path: Path, data: Path) -> None:
    caps = {"network": ["https"], "filesystem": {"read": ["in"], "write": ["out"]}, "subprocess": True}
    write_pack(tmp_path / "packs", "all", {"kind": "cli", "cmd": ["jq", "."]}, caps=caps, env={"passthrough": ["TZ"]})
    write_pack(tmp_path / "packs", "http", {"kind": "http", "url": "http://api.example:81/{{ input.x }}"})
    write_python(tmp_path / "packs", "module", "")
    write_python(tmp_path / "packs", "script", "", way="script")

    said = {pack.tool: permissions(pack, [PathGrant.parse(f"test:all={data}:rw")]) for pack in load(tmp_path / "packs")}

    assert said == {
        "test:all": (
            "runs jq",
            "starts other programs",
            "reads in",
            "writes out",
            f"writes {data}",
            "connects to port 443 of any host",
            "gets $TZ",
        ),
        "test:http": ("asks http://api.example:81",),
        "test:module": ("runs module:run with python",),
        "test:script": ("runs script_script.py with python",),
    }
