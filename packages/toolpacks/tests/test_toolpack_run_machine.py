"""What a pack shares with all processes of the machine: it changes nothing of that, and leaves nothing behind."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

import pytest
from running_packs import ask, need, needs_walls, running, write_file, write_pack, write_python

pytestmark = [
    needs_walls,
    pytest.mark.req("TP-24"),
    pytest.mark.fault("K13"),
    pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers of the calls are those of x86-64"),
]

# Each asks for what is there already, so that nothing changes where it goes through; the gateway is the parent.
CALLS = """
import ctypes, errno, json, os, sys

def attempts():
    libc = ctypes.CDLL(None, use_errno=True)
    gateway = os.getppid()
    zero, room = ctypes.byref(ctypes.c_int(0)), ctypes.create_string_buffer(256)
    calls = {
        "setpriority": (141, 0, gateway, 0),
        "setpriority of a user": (141, 2, 0, 0),
        "ioprio_set": (251, 1, gateway, 0),
        "sched_setparam": (142, gateway, zero),
        "sched_setscheduler": (144, gateway, 0, zero),
        "sched_setattr": (314, gateway, room, 0),
        "shmget": (29, 0, 4096, 0o1600),
        "shmat": (30, 0, None, 0o10000),
        "shmctl": (31, 0, 0, None),
        "msgget": (68, 0, 0o1600),
        "msgsnd": (69, 0, room, 0, 0o4000),
        "semget": (64, 0, 1, 0o1600),
        "semctl": (66, 0, 0, 0, 0),
        "mq_open": (240, b"toolcrib", 0o102, 0o600, None),
        "unshare a user": (272, 0x10000000),
        "unshare a network": (272, 0x40000000),
        "setns": (308, -1, 0),
        "chroot": (161, b"/"),
        "open_tree": (428, -100, b"/", 1),
        "adjtimex": (159, room),
        "clock_adjtime": (305, 0, room),
        "clock_settime": (227, 0, None),
        "settimeofday": (164, None, None),
        "sethostname": (170, b"", -1),
        "setdomainname": (171, b"", -1),
        "swapon": (167, b"/none", 0),
        "acct": (163, b"/none"),
        "kexec_file_load": (320, -1, -1, 0, b"", 0),
        "open_by_handle_at": (304, -1, room, 0),
    }
    went = []
    for name, call in calls.items():
        ctypes.set_errno(0)
        if libc.syscall(*call) >= 0 or ctypes.get_errno() != errno.EPERM:
            went.append(name)
    try:
        os.sched_setaffinity(gateway, os.sched_getaffinity(gateway))
        went.append("sched_setaffinity")
    except PermissionError:
        pass
    for flag in (0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000, 0x00020000):
        ctypes.set_errno(0)
        child = libc.syscall(56, flag | 17, None, None, None, 0)
        if child == 0:
            os._exit(0)
        if child > 0:
            os.waitpid(child, 0)
            went.append(f"clone {flag:#x}")
    return went
"""
PLACES = (
    *("net/tcp", "net/unix", "net/dev", "net/arp", "mountinfo", "mounts", "mountstats", "cgroup", "ns", "io"),
    *("oom_score_adj", "attr/current", "environ"),
)
FILES = f"""
import os

def readable():
    found = []
    for name in {PLACES!r}:
        for owner in ("self", "thread-self", f"self/task/{{os.getpid()}}"):
            place = f"/proc/{{owner}}/{{name}}"
            try:
                os.listdir(place) if os.path.isdir(place) else open(place, "rb").read()
            except OSError:
                continue
            found.append(place)
    return found
"""


def left_behind() -> dict[str, int]:
    """How many memories, queues and semaphores of this user the machine has."""
    owner = str(os.getuid())
    tables = {kind: Path(f"/proc/sysvipc/{kind}").read_text().splitlines() for kind in ("shm", "msg", "sem")}
    return {kind: sum(owner in line.split() for line in lines[1:]) for kind, lines in tables.items()}


async def test_no_pack_changes_what_all_processes_of_the_machine_share(tmp_path: Path) -> None:
    write_python(tmp_path, "module", f"{CALLS}\ndef run(_):\n    return attempts()\n")
    write_python(tmp_path, "script", f"{CALLS}\nprint(json.dumps(attempts()))\n", way="script")
    write_python(
        tmp_path, "parent", f"{CALLS}\nprint(json.dumps(attempts()))\n", way="script", caps={"subprocess": True}
    )
    before = left_behind(), os.getpriority(os.PRIO_PROCESS, 0), os.sched_getaffinity(0), os.uname()

    async with running(tmp_path) as toolbox:
        went = {name: (await ask(toolbox, name)).unwrap() for name in ("module", "script", "parent")}

    assert went == {"module": [], "script": [], "parent": []}
    assert (left_behind(), os.getpriority(os.PRIO_PROCESS, 0), os.sched_getaffinity(0), os.uname()) == before


async def test_the_networks_and_mounts_of_the_machine_are_read_by_no_kind(tmp_path: Path) -> None:
    need("node")
    need("php")
    places = [f"/proc/{each}/{name}" for each in ("self", "thread-self") for name in PLACES]
    read = "for (const read of [fs.readFileSync, fs.readdirSync]) try { read(p); return true } catch {}"
    node = f"places.filter(p => {{ {read} }})"
    write_python(tmp_path, "module", f"{FILES}\ndef run(_):\n    return readable()\n")
    write_python(tmp_path, "script", f"import json\n{FILES}\nprint(json.dumps(readable()))\n", way="script")
    write_file(tmp_path, "x.mjs", f"import fs from 'node:fs'; const places = {places!r}; export default () => {node}")
    php = "array_values(array_filter($p, fn($x) => @file_get_contents($x) !== false || @scandir($x)))"
    write_file(tmp_path, "x.php", f"<?php $p = {places!r}; echo json_encode({php});")
    write_pack(tmp_path, "node", {"kind": "node", "module": "x.mjs"})
    write_pack(tmp_path, "php", {"kind": "php", "script": "x.php"})
    loop = "for f in " + " ".join(places) + "; do (cat $f || ls $f/) >/dev/null 2>&1 && echo $f; done | wc -l"
    write_pack(tmp_path, "cli", {"kind": "cli", "cmd": ["/bin/sh", "-c", loop]})

    async with running(tmp_path) as toolbox:
        seen = {name: (await ask(toolbox, name)).unwrap() for name in ("module", "script", "node", "php", "cli")}

    assert seen == {"module": [], "script": [], "node": [], "php": [], "cli": 0}


async def test_a_pack_still_starts_programs_and_threads_and_asks_about_itself(tmp_path: Path) -> None:
    code = """
        import os, subprocess, sys, threading

        def run(_):
            seen = []
            thread = threading.Thread(target=lambda: seen.append("thread"))
            thread.start()
            thread.join()
            seen.append(subprocess.run(["/bin/sh", "-c", "echo $(echo child)"], capture_output=True, text=True).stdout)
            seen.append(str(os.getpid()) in open("/proc/self/stat").read())
            seen.append(len(os.listdir("/proc/self/fd")) > 2)
            seen.append("stack" in open("/proc/self/maps").read())
            return seen
    """
    write_python(tmp_path, "module", code, caps={"subprocess": True})

    async with running(tmp_path) as toolbox:
        seen: Any = (await ask(toolbox, "module")).unwrap()

    assert seen == ["thread", "child\n", True, True, True]
