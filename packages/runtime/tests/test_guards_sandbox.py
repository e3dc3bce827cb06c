"""The layers around a child: what they deny, what the report says, and what happens where they are missing."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from process_children import PYTHON, needs_proc, nothing_left, python, shell

from toolcrib_runtime.errors import ProcessLimitReached, ProcessNotStarted
from toolcrib_runtime.guards.process import launch, sandbox, start
from toolcrib_runtime.guards.process.limits import ProcessLimits, Rlimit
from toolcrib_runtime.guards.process.run import run_process
from toolcrib_runtime.guards.process.sandbox import Layers, SandboxWishes, available_layers, plan_launch

pytestmark = needs_proc
BARE = Layers(linux=False, setpriv=None, prlimit=None, unshare=None, landlock_abi=0)
FULL = Layers(linux=True, setpriv="/setpriv", prlimit="/prlimit", unshare="/unshare", landlock_abi=7)
LIMITS = (Rlimit("as", 100, 100), Rlimit("cpu", 1, 2))
needs_landlock = pytest.mark.skipif(not available_layers().landlock_abi, reason="the kernel has no Landlock")
needs_namespaces = pytest.mark.skipif(not available_layers().unshare, reason="user namespaces are not permitted here")


def prefix(wishes: SandboxWishes, layers: Layers) -> list[str]:
    return list(plan_launch(wishes, rlimits=LIMITS, granted=("/g",), own=("/o",), layers=layers).prefix)


@needs_landlock
@pytest.mark.fault("D9")
async def test_files_outside_what_is_granted_are_denied(tmp_path: Path) -> None:
    inside, outside, shared = tmp_path / "inside", tmp_path / "outside", tmp_path / "shared"
    for directory in (inside, outside, shared):
        directory.mkdir()
        (directory / "file").write_text(directory.name)
    script = f"""
        cat /etc/passwd; cat {outside}/file; echo x > {outside}/new; echo x > {shared}/new; ls /
        cat {shared}/file; echo mine > new && cat new file; echo private > $TMPDIR/note && cat $TMPDIR/note
    """
    wishes = SandboxWishes(restrict_files=True, readable=(str(shared), "/no/such/path"), required=True)

    async with nothing_left() as family:
        spec = shell(script, family=family, cwd=str(inside), sandbox=wishes)
        result = await run_process(spec, timeout=10)

    assert result.stdout == b"sharedmine\ninsideprivate\n"
    assert result.stderr.decode().count("ermission denied") == 5
    assert result.sandbox.landlock == f"abi{available_layers().landlock_abi}"


@needs_landlock
async def test_what_is_granted_for_writing_can_be_written(tmp_path: Path) -> None:
    wishes = SandboxWishes(restrict_files=True, writable=(str(tmp_path),))

    result = await run_process(
        shell(f"cd {tmp_path}; mkdir d; echo x > d/f; mv d/f g; cat g", sandbox=wishes), timeout=10
    )

    assert result.stdout == b"x\n"


@needs_namespaces
@pytest.mark.fault("D9")
async def test_an_isolated_network_reaches_nobody_not_even_this_machine() -> None:
    code = """
        import socket
        try:
            socket.create_connection(("127.0.0.1", 9), timeout=2)
        except OSError as error:
            print(error.strerror)
    """
    wishes = SandboxWishes(isolate_network=True, required=True)

    result = await run_process(python(code, sandbox=wishes), timeout=10)

    assert result.stdout == b"Network is unreachable\n"
    assert result.sandbox.network == "isolated"


@pytest.mark.fault("D9")
async def test_without_a_wish_the_report_says_that_nothing_is_isolated() -> None:
    result = await run_process(shell("true"), timeout=10)

    assert result.sandbox.to_dict() == {
        "rlimits": "on",
        "processTree": "group-and-sweep",
        "diesWithParent": True,
        "noNewPrivileges": True,
        "landlock": "off",
        "network": "not isolated",
        "children": "not denied",
    }


@pytest.mark.fault("D9")
async def test_no_new_privileges_are_gained() -> None:
    result = await run_process(shell("grep NoNewPrivs /proc/self/status"), timeout=10)
    waived = shell("grep NoNewPrivs /proc/self/status", sandbox=SandboxWishes(no_new_privileges=False))

    assert result.stdout.split() == [b"NoNewPrivs:", b"1"]
    assert (await run_process(waived, timeout=10)).stdout.split() == [b"NoNewPrivs:", b"0"]


@pytest.mark.parametrize(
    "wish",
    [
        "pid_namespace",
        "isolate_network",
        "restrict_files",
        "no_new_privileges",
        "deny_sockets",
        "deny_children",
        "deny_metadata",
        "deny_machine",
    ],
)
def test_a_required_layer_that_is_missing_stops_the_start(wish: str) -> None:
    wishes = replace(SandboxWishes(no_new_privileges=False, required=True), **{wish: True})

    with pytest.raises(ProcessNotStarted, match=f"it lacks `{wish}`") as caught:
        prefix(wishes, BARE)

    assert not caught.value.retryable


def test_a_layer_that_is_missing_and_not_required_is_reported() -> None:
    wishes = SandboxWishes(pid_namespace=True, isolate_network=True, restrict_files=True)

    report = plan_launch(wishes, rlimits=LIMITS, granted=(), own=(), layers=BARE).report

    assert report.to_dict() == {
        "rlimits": "best-effort",
        "processTree": "group",
        "diesWithParent": False,
        "noNewPrivileges": False,
        "landlock": "unavailable",
        "network": "not isolated",
        "children": "not denied",
    }


def test_limits_are_set_by_programs_that_replace_each_other() -> None:
    assert prefix(SandboxWishes(), FULL) == [
        *("/setpriv", "--pdeathsig", "KILL", "--no-new-privs", "--"),
        *("/prlimit", "--as=100:100", "--cpu=1:2", "--"),
    ]


def test_namespaces_stand_between_the_tie_to_the_parent_and_the_limits() -> None:
    argv = prefix(SandboxWishes(no_new_privileges=False, pid_namespace=True, isolate_network=True), FULL)

    assert argv == [
        *("/setpriv", "--pdeathsig", "KILL", "--"),
        *("/unshare", "--user", "--map-current-user", "--pid", "--net", "--fork", "--kill-child", "--"),
        *("/prlimit", "--as=100:100", "--cpu=1:2", "--"),
    ]


def test_without_those_programs_a_python_does_all_of_it() -> None:
    *command, plan = prefix(SandboxWishes(), replace(FULL, prlimit=None))

    assert command[:3] == [sys.executable, "-I", "-S"]
    assert json.loads(plan) == {
        "rlimits": [["as", 100, 100], ["cpu", 1, 2]],
        "diesWithParent": True,
        "noNewPrivileges": True,
        "files": None,
        "ports": None,
        "filter": None,
        "script": False,
    }


@pytest.mark.fault("D3", "D5")
async def test_the_launcher_alone_limits_ties_and_starts_as_the_programs_do(monkeypatch: pytest.MonkeyPatch) -> None:
    layers = replace(available_layers(), setpriv=None)
    monkeypatch.setattr(start, "available_layers", lambda: layers)
    code = "import resource; print(*resource.getrlimit(resource.RLIMIT_NOFILE))"
    limits = ProcessLimits(open_files=64, file_bytes=1000)

    async with nothing_left() as family:
        result = await run_process(python(code, family=family, limits=limits), timeout=10)
        with pytest.raises(ProcessLimitReached, match="file size"):
            await run_process(shell("head -c 2000 /dev/zero > f", family=family, limits=limits), timeout=10)
        status = await run_process(shell("grep NoNewPrivs /proc/self/status", family=family), timeout=10)

    assert result.stdout == b"64 64\n"
    assert status.stdout.split()[1] == b"1"


@pytest.mark.parametrize(("name", "status"), [("missing", 127), ("unusable", 126)])
def test_the_launcher_says_like_a_shell_when_the_program_cannot_run(name: str, status: int, tmp_path: Path) -> None:
    (tmp_path / "unusable").write_text("x")
    nothing = {"files": None, "ports": None, "filter": None, "script": False}
    plan = json.dumps({"rlimits": [], "diesWithParent": False, "noNewPrivileges": False, **nothing})

    done = subprocess.run(
        [PYTHON, "-I", "-S", launch.__file__, plan, str(tmp_path / name)], check=False, capture_output=True
    )

    assert done.returncode == status
    assert b"Traceback" not in done.stderr


def test_namespaces_are_tried_out_before_they_are_promised(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    refusing = tmp_path / "unshare"
    refusing.write_text("#!/bin/sh\nexit 1\n")
    refusing.chmod(0o755)

    assert not sandbox._namespaces_work(None)
    assert not sandbox._namespaces_work(str(refusing))
    assert not sandbox._namespaces_work(str(tmp_path / "missing"))
