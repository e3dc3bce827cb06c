"""Capabilities are walls: what a pack does not declare, the kernel refuses its process."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from process_children import nothing_left
from running_packs import ask, load, need, needs_walls, running, write_file, write_pack, write_python

from toolcrib_core import ToolErrorCategory
from toolcrib_runtime.guards.process.sandbox import Layers, available_layers
from toolcrib_toolpacks import planning
from toolcrib_toolpacks.capabilities import sandbox_for, unenforced
from toolcrib_toolpacks.commands import Command
from toolcrib_toolpacks.errors import CapabilityRefused

pytestmark = pytest.mark.req("TP-24")

BARE = Layers(linux=False, setpriv=None, prlimit=None, unshare=None, landlock_abi=0)
PROBE = """
    import os, socket, subprocess, sys
    from pathlib import Path

    def attempt(act):
        try:
            act()
        except BaseException as error:
            return type(error).__name__
        return "went through"

    def run(payload):
        return {
            "system": attempt(lambda: Path("/etc/passwd").read_bytes()),
            "home": attempt(lambda: list(Path("/root").iterdir())),
            "neighbour": attempt(lambda: Path("secret.txt").read_text()),
            "listed": attempt(lambda: Path("data/words.txt").read_text()),
            "write listed": attempt(lambda: Path("data/new.txt").write_text("x")),
            "write out": attempt(lambda: Path("out/new.txt").write_text("x")),
            "write code": attempt(lambda: Path(__file__).write_text("x")),
            "write temporary": attempt(lambda: Path(os.environ["TMPDIR"], "x").write_text("x")),
            "mode": attempt(lambda: os.chmod("secret.txt", 0o777)),
            "times": attempt(lambda: os.utime("secret.txt")),
            "limits": attempt(lambda: __import__("resource").prlimit(os.getppid(), 4, (0, 0))),
            "socket": attempt(lambda: socket.socket()),
            "local socket": attempt(lambda: socket.socket(socket.AF_UNIX)),
            "program": attempt(lambda: subprocess.run(["/bin/true"], check=True)),
            "fork": attempt(lambda: os.fork() or os._exit(0)),
            "other processes": attempt(lambda: os.kill(os.getppid(), 0)),
            "import": attempt(lambda: __import__("jinja2")),
        }
"""
REFUSED = "PermissionError"
FILES = "files that it does not list"
HTTPS = {"network": ["https"], "subprocess": True}
NOTHING = {
    "system": REFUSED,
    "home": REFUSED,
    "neighbour": REFUSED,
    "listed": REFUSED,
    "write listed": REFUSED,
    "write out": REFUSED,
    "write code": REFUSED,
    "write temporary": "went through",
    "mode": REFUSED,
    "times": REFUSED,
    "limits": REFUSED,
    "socket": REFUSED,
    "local socket": REFUSED,
    "program": REFUSED,
    "fork": REFUSED,
    # Landlock keeps signals inside from its sixth version on.
    "other processes": REFUSED if available_layers().landlock_abi >= 6 else "went through",
    "import": "went through",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("data", "out"):
        (tmp_path / name).mkdir()
    (tmp_path / "data" / "words.txt").write_text("words")
    (tmp_path / "secret.txt").write_text("canary")
    return tmp_path


@needs_walls
@pytest.mark.fault("D9")
@pytest.mark.parametrize("way", ["module", "script"])
async def test_a_python_pack_without_capabilities_reaches_nothing(way: str, folder: Path) -> None:
    code = PROBE if way == "module" else PROBE + "\n    import json\n    print(json.dumps(run({})))\n"
    async with nothing_left() as family:
        write_python(folder, "probe", code, way=way, env={"set": {"TEST_FAMILY": family}})
        async with running(folder) as toolbox:
            seen = (await ask(toolbox, "probe")).unwrap()

    assert seen == NOTHING


@needs_walls
@pytest.mark.fault("D9")
async def test_what_a_pack_declares_it_may_reach_and_no_more(folder: Path) -> None:
    caps = {"filesystem": {"read": ["data"], "write": ["out"]}, "subprocess": True, "network": ["https"]}
    write_python(folder, "probe", PROBE, caps=caps, risk={"effects": "write", "idempotent": True})

    async with running(folder) as toolbox:
        from toolcrib_runtime import ToolCall

        result = await toolbox.execute(ToolCall("test:probe", {}))

    reached = {"listed", "write out", "socket", "local socket", "program", "fork"}
    assert result.unwrap() == {name: "went through" if name in reached else seen for name, seen in NOTHING.items()}


@needs_walls
@pytest.mark.fault("D9")
async def test_programs_node_and_php_are_held_as_well(folder: Path) -> None:
    need("node")
    need("php")
    write_file(
        folder,
        "probe.cjs",
        """
        const fs = require("node:fs"), net = require("node:net");
        const attempt = (act) => { try { act(); return "went through"; } catch (error) { return error.code; } };
        const seen = {
          system: attempt(() => fs.readFileSync("/etc/passwd")),
          neighbour: attempt(() => fs.readFileSync("secret.txt")),
          listed: attempt(() => fs.readFileSync("data/words.txt")),
          write: attempt(() => fs.writeFileSync("data/new.txt", "x")),
        };
        const socket = net.connect(443, "127.0.0.1");
        socket.on("error", (error) => console.log(JSON.stringify({ ...seen, socket: error.code })));
        """,
    )
    write_file(
        folder,
        "probe.php",
        """<?php
        error_reporting(0);
        echo json_encode([
            "system" => file_get_contents("/etc/passwd"),
            "listed" => file_get_contents("data/words.txt"),
            "socket" => stream_socket_client("tcp://127.0.0.1:443") !== false,
        ]);
        """,
    )
    caps = {"subprocess": True, "filesystem": {"read": ["data/words.txt"]}}
    write_pack(folder, "node", {"kind": "node", "script": "probe.cjs"}, caps=caps)
    write_pack(folder, "php", {"kind": "php", "script": "probe.php"}, caps=caps)
    cmd = ["/bin/sh", "-c", 'cat /etc/passwd secret.txt >&2; printf \'"%s"\' "$(cat data/words.txt)"']
    write_pack(folder, "cli", {"kind": "cli", "cmd": cmd}, caps=caps)

    async with running(folder) as toolbox:
        node = (await ask(toolbox, "node")).unwrap()
        php = (await ask(toolbox, "php")).unwrap()
        cli = (await ask(toolbox, "cli")).unwrap()

    assert node == {
        "system": "EACCES",
        "neighbour": "EACCES",
        "listed": "went through",
        "write": "EACCES",
        "socket": "EACCES",
    }
    assert php == {"system": False, "listed": "words", "socket": False}
    assert cli == "words"


@needs_walls
async def test_a_process_with_network_connects_to_the_ports_of_its_schemes_only(folder: Path) -> None:
    code = """
        import socket
        def run(payload):
            seen = {}
            for port in (80, 443, 22):
                try:
                    socket.create_connection(("127.0.0.1", port), timeout=5).close()
                    seen[str(port)] = "connected"
                except OSError as error:
                    seen[str(port)] = type(error).__name__
            return seen
    """
    write_python(folder, "net", code, caps={"network": ["http"]})

    async with running(folder) as toolbox:
        seen = (await ask(toolbox, "net")).unwrap()

    # Nobody need listen there: what counts is who refused, the far side or the kernel.
    assert seen["80"] in {"ConnectionRefusedError", "connected"}
    assert (seen["443"], seen["22"]) == (REFUSED, REFUSED)


@needs_walls
async def test_two_packs_never_share_a_process(folder: Path) -> None:
    code = "import os\nkept = []\ndef run(word):\n    kept.append(word)\n    return [os.getpid(), kept]\n"
    schema = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
    for name in ("one", "two"):
        write_python(folder, name, code, inputSchema=schema)

    async with running(folder) as toolbox:
        one = (await ask(toolbox, "one", word="a")).unwrap()
        two = (await ask(toolbox, "two", word="b")).unwrap()
        again = (await ask(toolbox, "one", word="c")).unwrap()

    assert one[0] == again[0] != two[0]
    assert (two[1], again[1]) == (["b"], ["a", "c"])


@pytest.mark.fault("D9")
async def test_what_this_machine_cannot_hold_is_refused_unless_it_is_trusted(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "available_layers", lambda: BARE)
    write_python(folder, "plain", "def run(payload):\n    return 1\n")

    async with running(folder) as toolbox:
        refused = (await ask(toolbox, "plain")).error
    async with running(folder, trust=True) as toolbox:
        trusted = await ask(toolbox, "plain")

    assert refused is not None
    assert (refused.code, refused.category) == ("toolbox.capability-refused", ToolErrorCategory.PERMISSION)
    assert refused.details["unenforced"] == ["files that it does not list", "the network", "starting other programs"]
    assert trusted.unwrap() == 1


@pytest.mark.parametrize(
    ("caps", "layers", "lacking"),
    [
        ({}, {"landlock_abi": 7, "seccomp": True}, ()),
        ({}, {"landlock_abi": 7, "unshare": "/u"}, (FILES, "starting other programs")),
        ({"subprocess": True}, {"landlock_abi": 7, "unshare": "/u"}, (FILES,)),
        ({"subprocess": True}, {"landlock_abi": 7}, (FILES, "the network")),
        ({"subprocess": True}, {"seccomp": True}, (FILES,)),
        (HTTPS, {"landlock_abi": 3, "seccomp": True}, ("ports other than those of its schemes",)),
        (HTTPS, {"landlock_abi": 4, "seccomp": True}, ()),
    ],
)
def test_each_capability_needs_a_layer_that_holds_it(
    caps: dict[str, Any], layers: dict[str, Any], lacking: tuple[str, ...], folder: Path
) -> None:
    write_python(folder, "plain", "", caps=caps)
    (pack,) = load(folder)

    assert unenforced(pack, replace(BARE, linux=True, **layers)) == lacking


def test_a_namespace_holds_the_network_where_there_is_no_seccomp(folder: Path) -> None:
    write_python(folder, "plain", "", caps={"subprocess": True})
    (pack,) = load(folder)
    layers = replace(BARE, linux=True, landlock_abi=7, unshare="/usr/bin/unshare")

    wishes = sandbox_for(pack, Command(argv=("/x",)), layers=layers, trust=True)

    assert wishes.isolate_network


def test_a_listed_path_that_became_a_link_to_the_outside_is_refused(folder: Path) -> None:
    write_python(folder / "packs", "plain", "", caps={"filesystem": {"read": ["data"]}})
    (folder / "packs" / "data").mkdir()
    (pack,) = load(folder / "packs")
    (folder / "packs" / "data").rmdir()
    (folder / "packs" / "data").symlink_to(folder)

    with pytest.raises(Exception, match="leads out of its root"):
        sandbox_for(pack, Command(argv=("/x",)), layers=available_layers(), trust=True)


def test_a_refusal_says_what_to_do(folder: Path) -> None:
    write_python(folder, "plain", "")
    (pack,) = load(folder)

    with pytest.raises(CapabilityRefused) as refused:
        sandbox_for(pack, Command(argv=("/x",)), layers=BARE, trust=False)

    assert refused.value.hint == "Run it on Linux with Landlock and seccomp; or trust the pack, if you know its code."


@needs_walls
async def test_a_module_beside_the_pack_is_read_alone_and_its_neighbours_only_where_listed(folder: Path) -> None:
    code = "import neighbour\ndef run(payload):\n    return neighbour.VALUE\n"
    write_file(folder, "neighbour.py", "VALUE = 7\n")
    write_python(folder, "alone", code)
    write_python(folder, "listing", code, caps={"filesystem": {"read": ["neighbour.py"]}})
    (folder / "package").mkdir()
    write_file(
        folder / "package", "__init__.py", "from package.inner import VALUE\ndef run(payload):\n    return VALUE\n"
    )
    write_file(folder / "package", "inner.py", "VALUE = 8\n")
    write_pack(folder, "package", {"kind": "python", "module": "package:run"})

    async with running(folder) as toolbox:
        alone = (await ask(toolbox, "alone")).error
        listing = await ask(toolbox, "listing")
        package = await ask(toolbox, "package")

    assert alone is not None
    assert alone.code == "toolbox.load-failed"
    assert alone.hint is not None
    assert "list the files that it imports" in alone.hint
    assert (listing.unwrap(), package.unwrap()) == (7, 8)
