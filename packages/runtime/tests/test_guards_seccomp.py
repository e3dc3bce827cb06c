"""What a child may not ask the kernel for: sockets, processes, programs, ports."""

from __future__ import annotations

import json
import platform
import struct
from dataclasses import replace
from pathlib import Path

import pytest
from process_children import needs_proc, nothing_left, python, shell
from test_guards_sandbox import BARE, FULL, LIMITS

from toolcrib_runtime.errors import ProcessNotStarted
from toolcrib_runtime.guards.process import levels, sandbox, seccomp
from toolcrib_runtime.guards.process.run import run_process
from toolcrib_runtime.guards.process.sandbox import SandboxWishes, available_layers, plan_launch
from toolcrib_runtime.guards.process.spec import ProcessSpec

pytestmark = needs_proc
needs_seccomp = pytest.mark.skipif(not available_layers().seccomp, reason="the kernel takes no seccomp filter")
needs_ports = pytest.mark.skipif(available_layers().landlock_abi < 4, reason="the kernel's Landlock knows no ports")

TRIES = """
    import asyncio, os, socket, subprocess, threading
    def attempt(name, act):
        try:
            act()
        except OSError as error:
            print(name, type(error).__name__, flush=True)
        else:
            print(name, "went through", flush=True)
    def thread():
        one = threading.Thread(target=print, args=("a thread",)); one.start(); one.join()
    attempt("inet", lambda: socket.socket(socket.AF_INET))
    attempt("unix", lambda: socket.socket(socket.AF_UNIX))
    attempt("datagrams", lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM))
    attempt("pair", lambda: socket.socketpair())
    attempt("loop", lambda: asyncio.run(asyncio.sleep(0)))
    attempt("fork", lambda: os.fork() or os._exit(0))
    attempt("program", lambda: subprocess.run(["/bin/true"], check=True))
    attempt("exec", lambda: os.execv("/bin/true", ["true"]))
    attempt("thread", thread)
"""


@needs_seccomp
@pytest.mark.fault("D9")
async def test_denied_sockets_and_children_are_refused_and_all_else_goes_on() -> None:
    wishes = SandboxWishes(deny_sockets=True, deny_children=True, required=True)

    async with nothing_left() as family:
        result = await run_process(python(TRIES, family=family, sandbox=wishes), timeout=10)

    # A program that was started by `exec` may itself become another; a script may not, see below.
    assert result.stdout.decode().splitlines()[:7] == [
        "inet PermissionError",
        "unix PermissionError",
        "datagrams PermissionError",
        "pair went through",
        "loop went through",
        "fork PermissionError",
        "program PermissionError",
    ]
    assert (result.sandbox.network, result.sandbox.children) == ("no sockets", "denied")
    assert result.sandbox.no_new_privileges


@needs_seccomp
async def test_a_script_restricts_itself_before_its_first_line_and_becomes_no_other_program(tmp_path: Path) -> None:
    script, other = tmp_path / "tries.py", tmp_path / "other.txt"
    script.write_text("import sys, json, pydantic\n" + "\n".join(line[4:] for line in TRIES.splitlines()))
    with script.open("a") as file:
        file.write(f"\nattempt('neighbour', lambda: open({str(other)!r}))\nprint(sys.argv[1:], __name__)\n")
    other.write_text("x")
    wishes = SandboxWishes(restrict_files=True, deny_sockets=True, deny_children=True, write_cwd=False, required=True)

    async with nothing_left() as family:
        spec = ProcessSpec(
            argv=(str(script), "one", "--two"),
            script=True,
            cwd=str(tmp_path),
            sandbox=wishes,
            env={"TEST_FAMILY": family},
        )
        result = await run_process(spec, timeout=20)

    said = result.stdout.decode().splitlines()
    assert said[-5:] == [
        "exec PermissionError",
        "a thread",
        "thread went through",
        "neighbour PermissionError",
        "['one', '--two'] __main__",
    ]


@needs_seccomp
async def test_only_sockets_are_denied_where_only_they_are_to_be() -> None:
    result = await run_process(
        shell("echo $(echo a child)", sandbox=SandboxWishes(deny_sockets=True, required=True)), timeout=10
    )

    assert result.stdout == b"a child\n"
    assert result.sandbox.children == "not denied"


@needs_ports
@pytest.mark.fault("D9")
async def test_only_the_granted_ports_can_be_connected_to_and_none_listened_on() -> None:
    code = """
        import socket
        for name, act in {
            "granted": lambda: socket.create_connection(("127.0.0.1", 1), timeout=5),
            "other": lambda: socket.create_connection(("127.0.0.1", 2), timeout=5),
            "listen": lambda: socket.create_server(("127.0.0.1", 0)),
        }.items():
            try:
                act()
            except OSError as error:
                print(name, type(error).__name__)
    """
    wishes = SandboxWishes(restrict_files=True, readable=("/etc",), tcp_ports=(1,), required=True)

    result = await run_process(
        python(code, sandbox=replace(wishes, readable=(*wishes.readable, *_python()))), timeout=10
    )

    assert result.stdout.decode().splitlines() == [
        "granted ConnectionRefusedError",
        "other PermissionError",
        "listen PermissionError",
    ]
    assert result.sandbox.network == "some ports"


@needs_ports
async def test_a_restricted_child_cannot_signal_who_started_it() -> None:
    if available_layers().landlock_abi < 6:
        pytest.skip("the kernel's Landlock does not scope signals")
    wishes = SandboxWishes(restrict_files=True, required=True)

    result = await run_process(shell("kill -0 $PPID 2>/dev/null || echo refused", sandbox=wishes), timeout=10)

    assert result.stdout == b"refused\n"


def test_names_alone_can_be_granted(tmp_path: Path) -> None:
    wishes = SandboxWishes(restrict_files=True, listable=("/l",), readable=("/r",), tcp_ports=(443,))

    plan = json.loads(plan_launch(wishes, rlimits=LIMITS, granted=("/g",), own=("/o",), layers=FULL).prefix[-1])

    assert plan["files"]["list"] == ["/l"]
    assert plan["files"]["write"] == ["/dev/null", "/o"]
    assert {"/g", "/r"} < set(plan["files"]["read"])
    assert plan["ports"] == [443]


def test_ports_need_a_landlock_that_knows_them() -> None:
    wishes = SandboxWishes(restrict_files=True, tcp_ports=(443,), required=True)

    with pytest.raises(ProcessNotStarted, match="it lacks `tcp_ports`"):
        plan_launch(wishes, rlimits=(), granted=(), own=(), layers=replace(FULL, landlock_abi=3))


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_a_filter_begins_with_the_kind_of_machine_and_ends_by_allowing(machine: str) -> None:
    every = seccomp.DeniedCalls(sockets=True, children=True, programs=True, metadata=True, modes=True, machine=True)
    made = seccomp.call_filter(every, machine=machine)

    steps = list(struct.iter_unpack("=HBBI", made))
    audit = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}[machine]
    assert steps[0][0::3] == (0x20, 4)
    assert steps[1][3] == audit
    assert steps[-1] == (0x06, 0, 0, 0x7FFF0000)
    assert all(at + 1 + max(then, otherwise) < len(steps) for at, (_, then, otherwise, _) in enumerate(steps[:-1]))


def test_a_machine_whose_calls_are_not_known_promises_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")

    assert not seccomp.seccomp_works()


@pytest.mark.fault("D9")
@pytest.mark.req("TP-24")
def test_the_levels_of_a_machine_are_said_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    full = {each.name: each for each in levels.sandbox_levels(replace(FULL, seccomp=True))}
    bare = {each.name: each for each in levels.sandbox_levels(BARE)}
    monkeypatch.setattr(sandbox, "available_layers", lambda: BARE)

    assert all(each.enforced for each in full.values())
    assert full["files"].to_dict() == {"name": "files", "enforced": True, "by": "Landlock, version 7"}
    assert not any(each.enforced for each in bare.values())
    assert bare["sockets"].by == "nothing here; it needs Linux on x86-64 or ARM64 with seccomp"
    assert [each.name for each in levels.sandbox_levels()] == list(full)


def _python() -> tuple[str, ...]:
    import sys

    return (sys.prefix, sys.base_prefix)


@needs_seccomp
@pytest.mark.fault("D9")
@pytest.mark.parametrize("may_write", [True, False])
async def test_the_metadata_of_files_and_the_limits_of_others_are_out_of_reach(
    *, may_write: bool, tmp_path: Path
) -> None:
    code = """
        import os, resource, sys, time
        name = sys.argv[1]
        file = os.open(name, os.O_RDONLY)
        for what, act in {
            "mode": lambda: os.chmod(name, 0o777),
            "mode of an open file": lambda: os.fchmod(file, 0o600),
            "owner": lambda: os.chown(name, os.getuid(), os.getgid()),
            "attribute": lambda: os.setxattr(name, "user.x", b"1"),
            "times": lambda: os.utime(name),
            "times of an open file": lambda: os.utime(file),
            "own limits": lambda: resource.prlimit(0, resource.RLIMIT_CORE),
            "limits of others": lambda: resource.prlimit(os.getppid(), resource.RLIMIT_CORE, (0, 0)),
            "device": lambda: os.mknod("disk", 0o60600, os.makedev(254, 0)),
        }.items():
            try:
                act()
            except OSError as error:
                print(what, type(error).__name__)
            else:
                print(what, "went through")
    """
    (tmp_path / "file").write_text("x")
    wishes = SandboxWishes(
        restrict_files=True,
        readable=_python(),
        writable=(str(tmp_path),) if may_write else (),
        deny_metadata=True,
        required=True,
    )

    result = await run_process(python(code, str(tmp_path / "file"), cwd=str(tmp_path), sandbox=wishes), timeout=10)

    refused = {"mode", "owner", "attribute", "times", "limits of others", "device"}
    refused |= set() if may_write else {"mode of an open file"}
    seen = dict(line.rsplit(" ", 1) for line in result.stdout.decode().replace("went through", "done").splitlines())
    assert {what for what, how in seen.items() if how == "PermissionError"} == refused
    assert {what for what, how in seen.items() if how == "done"} == seen.keys() - refused
