"""Finding and killing every process of a tree, also those that left its group."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

from toolcrib_runtime.guards.process.spec import TREE_VARIABLE

_PROC = "/proc"
_CHUNK = 64 * 1024
_KERNEL_THREAD = 0x00200000
_MAX_ROUNDS = 32
_REAP_TRIES = 50
_REAP_PAUSE = 0.001
_DEAD = frozenset({"Z", "X"})


class ProcessRef(NamedTuple):
    """One process; `started` tells it from a later one with the same number."""

    pid: int
    started: int


class _Status(NamedTuple):
    ref: ProcessRef
    state: str
    parent: int
    session: int


def signal_group(group: int, number: signal.Signals) -> None:
    """Send a signal to all processes of a group; a group that is gone hears nothing."""
    # macOS says "not permitted" for a group that only has zombies.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def kill_tree(leader: int, mark: str) -> tuple[int, ...]:
    """Kill everything that the leader started, and the leader; gives the processes that were seen and could not be.

    Found are the leader's group, its session, its descendants as long as their parents live, and whoever carries its
    mark in the environment. A process that does all of this escapes unseen: leave the session, lose its parent, and
    start a program with an empty environment. A PID namespace holds that one, too.
    """
    # Before the group dies: descendants are known by their parents.
    doomed = find_tree(leader, mark)
    signal_group(leader, signal.SIGKILL)
    dealt_with: set[ProcessRef] = set()
    escaped: set[ProcessRef] = set()
    for _ in range(_MAX_ROUNDS):
        escaped.update(each for each in doomed if not _kill(each))
        dealt_with |= doomed
        doomed = find_tree(leader, mark) - dealt_with
        if not doomed:
            break
    _reap_adopted(each.pid for each in dealt_with if each.pid != leader)
    return tuple(sorted(each.pid for each in escaped | doomed))


def find_tree(leader: int, mark: str) -> set[ProcessRef]:
    """The living processes of a tree, as far as they can be seen; none where there is no `/proc`."""
    every = {each.ref.pid: each for each in _processes()}
    marked = {pid for pid, each in every.items() if leader in {pid, each.session} or _carries(pid, mark)}
    found = _with_descendants(marked, every.values()) - {os.getpid()}
    return {every[pid].ref for pid in found if every[pid].state not in _DEAD}


def open_pidfd(pid: int) -> int | None:
    """A handle on a process that no later one with its number can take; `None` where the system has none."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


def _with_descendants(pids: set[int], every: Iterable[_Status]) -> set[int]:
    children: dict[int, list[int]] = {}
    for each in every:
        children.setdefault(each.parent, []).append(each.ref.pid)
    found, queue = set(pids), list(pids)
    while queue:
        new = [child for child in children.get(queue.pop(), ()) if child not in found]
        found.update(new)
        queue += new
    return found


def _processes() -> Iterator[_Status]:
    if not sys.platform.startswith("linux"):
        return
    with os.scandir(_PROC) as entries:
        for entry in entries:
            if entry.name.isdigit() and (status := _status(int(entry.name))) is not None:
                yield status


def _status(pid: int) -> _Status | None:
    text = _proc_file(pid, "stat")
    # The command name stands in brackets and may hold anything, brackets and spaces too.
    words = text[text.rfind(b")") + 2 :].split()
    if not words or int(words[6]) & _KERNEL_THREAD:
        return None
    return _Status(
        ref=ProcessRef(pid, int(words[19])), state=words[0].decode(), parent=int(words[1]), session=int(words[3])
    )


def _carries(pid: int, mark: str) -> bool:
    variables = _proc_file(pid, "environ")
    if mark.encode() not in variables:
        return False
    name = f"{TREE_VARIABLE}=".encode()
    return any(
        mark.encode() in each.removeprefix(name).split(b".") for each in variables.split(b"\0") if each.startswith(name)
    )


def _proc_file(pid: int, name: str) -> bytes:
    # Without `pathlib` and buffers: every process of the machine is looked at, and this takes a third of the time.
    try:
        handle = os.open(f"{_PROC}/{pid}/{name}", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return b"".join(iter(lambda: os.read(handle, _CHUNK), b""))
    except OSError:
        return b""
    finally:
        os.close(handle)


def _kill(ref: ProcessRef) -> bool:
    # The handle holds on to a process; asking after it was opened makes sure that it is still the one we mean.
    handle = open_pidfd(ref.pid)
    try:
        current = _status(ref.pid)
        if current is None or current.ref != ref:
            return True
        _send_kill(ref.pid, handle)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    finally:
        if handle is not None:
            os.close(handle)
    return True


def _send_kill(pid: int, handle: int | None) -> None:
    if handle is None:
        os.kill(pid, signal.SIGKILL)
    else:
        signal.pidfd_send_signal(handle, signal.SIGKILL)


def _reap_adopted(pids: Iterable[int]) -> None:
    """Collect orphans that became our children: it happens to the first process of a container, and to a subreaper."""
    for pid in pids:
        with suppress(ChildProcessError):
            for _ in range(_REAP_TRIES):
                if os.waitpid(pid, os.WNOHANG)[0]:
                    break
                time.sleep(_REAP_PAUSE)
