"""Which system calls a sandboxed child may not make, as a filter that the kernel runs.

The filter is made here and handed to the launcher as bytes, which needs nothing but the standard library.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_LOAD, _AND, _RETURN = 0x20, 0x54, 0x06
_IF_EQUAL, _IF_AT_LEAST = 0x15, 0x35
_NUMBER, _ARCHITECTURE = 0, 4
# Calls of the x32 ABI have this bit, and would pass by a filter that knows only the numbers of x86-64.
_X32 = 0x40000000
_CLONE_THREAD = 0x00010000
_CLONE_NAMESPACES = 0x7E020000
_STREAM, _TYPE_MASK = 1, 0xF
_GET_ACTION_AVAILABLE = 2

# What reaches into other processes or the user's keys, changes the machine where root may, or makes calls unseen.
_ALWAYS = {
    **dict.fromkeys(("ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd"), errno.EPERM),
    **dict.fromkeys(("keyctl", "add_key", "request_key", "bpf", "perf_event_open"), errno.EPERM),
    **dict.fromkeys(("mount", "umount2", "reboot", "kexec_load", "init_module", "finit_module"), errno.EPERM),
    **dict.fromkeys(("delete_module", "clock_settime", "settimeofday", "sethostname"), errno.EPERM),
    "io_uring_setup": errno.ENOSYS,
}
# Landlock lets whoever owns a file change its mode, owner, attributes and times, wherever it lies.
_METADATA = dict.fromkeys(
    "chmod fchmodat fchmodat2 chown lchown fchown fchownat utime utimes futimesat "
    "setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr".split(),
    errno.EPERM,
)
# What a process shares with all others of the machine, or reaches them by: scheduling, memory and queues that outlive
# it, namespaces, mounts, the clock and the names of the machine. Most of it is for root, and packs may run as root.
_MACHINE = dict.fromkeys(
    "setpriority sched_setparam sched_setscheduler sched_setaffinity sched_setattr ioprio_set "
    "shmget shmat shmctl shmdt msgget msgsnd msgrcv msgctl semget semop semctl semtimedop mq_open mq_unlink "
    "unshare setns chroot pivot_root open_tree move_mount fsopen fsconfig fsmount fspick mount_setattr "
    "adjtimex clock_adjtime setdomainname swapon swapoff acct quotactl quotactl_fd syslog vhangup iopl ioperm "
    "kexec_file_load kcmp migrate_pages move_pages process_madvise process_mrelease userfaultfd fanotify_init "
    "name_to_handle_at open_by_handle_at".split(),
    errno.EPERM,
)
_CHILDREN = {"fork": errno.EPERM, "vfork": errno.EPERM}
_PROGRAMS = {"execve": errno.EPERM, "execveat": errno.EPERM}


class _Machine(NamedTuple):
    audit: int
    calls: dict[str, int]


_SHARED = (
    {"io_uring_setup": 425, "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432}
    | {"fspick": 433, "clone3": 435, "pidfd_getfd": 438, "process_madvise": 440, "mount_setattr": 442}
    | {"quotactl_fd": 443, "process_mrelease": 448, "fchmodat2": 452}
)
_MACHINES: Final = {
    "x86_64": _Machine(
        0xC000003E,
        {"socket": 41, "socketpair": 53, "clone": 56, "fork": 57, "vfork": 58, "execve": 59, "ptrace": 101}
        | {"process_vm_readv": 310, "process_vm_writev": 311, "seccomp": 317, "execveat": 322, "prlimit64": 302}
        | {"chmod": 90, "fchmod": 91, "chown": 92, "fchown": 93, "lchown": 94, "utime": 132, "settimeofday": 164}
        | {"mount": 165, "umount2": 166, "reboot": 169, "sethostname": 170, "init_module": 175, "delete_module": 176}
        | {"setxattr": 188, "lsetxattr": 189, "fsetxattr": 190, "removexattr": 197, "lremovexattr": 198}
        | {"fremovexattr": 199, "clock_settime": 227, "utimes": 235, "kexec_load": 246, "add_key": 248}
        | {"request_key": 249, "keyctl": 250, "fchownat": 260, "futimesat": 261, "fchmodat": 268, "utimensat": 280}
        | {"perf_event_open": 298, "finit_module": 313, "bpf": 321, "shmget": 29, "shmat": 30, "shmctl": 31}
        | {"semget": 64, "semop": 65, "semctl": 66, "shmdt": 67, "msgget": 68, "msgsnd": 69, "msgrcv": 70, "msgctl": 71}
        | {"syslog": 103, "setpriority": 141, "sched_setparam": 142, "sched_setscheduler": 144, "vhangup": 153}
        | {"pivot_root": 155, "adjtimex": 159, "chroot": 161, "acct": 163, "swapon": 167, "swapoff": 168}
        | {"setdomainname": 171, "iopl": 172, "ioperm": 173, "quotactl": 179, "sched_setaffinity": 203}
        | {"semtimedop": 220, "mq_open": 240, "mq_unlink": 241, "ioprio_set": 251, "migrate_pages": 256, "unshare": 272}
        | {"move_pages": 279, "fanotify_init": 300, "name_to_handle_at": 303, "open_by_handle_at": 304}
        | {"clock_adjtime": 305, "setns": 308, "kcmp": 312, "sched_setattr": 314, "kexec_file_load": 320}
        | {"userfaultfd": 323}
        | _SHARED,
    ),
    "aarch64": _Machine(
        0xC00000B7,
        {"ptrace": 117, "socket": 198, "socketpair": 199, "clone": 220, "execve": 221, "process_vm_readv": 270}
        | {"process_vm_writev": 271, "seccomp": 277, "execveat": 281, "prlimit64": 261, "setxattr": 5, "lsetxattr": 6}
        | {"fsetxattr": 7, "removexattr": 14, "lremovexattr": 15, "fremovexattr": 16, "umount2": 39, "mount": 40}
        | {"fchmod": 52, "fchmodat": 53, "fchownat": 54, "fchown": 55, "utimensat": 88, "kexec_load": 104}
        | {"init_module": 105, "delete_module": 106, "clock_settime": 112, "reboot": 142, "sethostname": 161}
        | {"settimeofday": 170, "add_key": 217, "request_key": 218, "keyctl": 219, "perf_event_open": 241}
        | {"finit_module": 273, "bpf": 280, "ioprio_set": 30, "pivot_root": 41, "chroot": 51, "vhangup": 58}
        | {"quotactl": 60, "acct": 89, "unshare": 97, "syslog": 116, "sched_setparam": 118, "sched_setscheduler": 119}
        | {"sched_setaffinity": 122, "setpriority": 140, "setdomainname": 162, "adjtimex": 171, "mq_open": 180}
        | {"mq_unlink": 181, "msgget": 186, "msgctl": 187, "msgrcv": 188, "msgsnd": 189, "semget": 190, "semctl": 191}
        | {"semtimedop": 192, "semop": 193, "shmget": 194, "shmctl": 195, "shmat": 196, "shmdt": 197, "swapon": 224}
        | {"swapoff": 225, "migrate_pages": 238, "move_pages": 239, "fanotify_init": 262, "name_to_handle_at": 264}
        | {"open_by_handle_at": 265, "clock_adjtime": 266, "setns": 268, "kcmp": 272, "sched_setattr": 274}
        | {"userfaultfd": 282, "kexec_file_load": 294}
        | _SHARED,
    ),
}


def seccomp_works() -> bool:
    """Whether this kernel takes such a filter, on a kind of machine whose calls are known here."""
    machine = _MACHINES.get(platform.machine())
    if machine is None or not sys.platform.startswith("linux"):
        return False
    action = ctypes.c_uint32(_ERRNO)
    answer: int = ctypes.CDLL(None, use_errno=True).syscall(
        machine.calls["seccomp"], _GET_ACTION_AVAILABLE, 0, ctypes.byref(action)
    )
    return answer == 0


@dataclass(frozen=True, kw_only=True)
class DeniedCalls:
    """What a filter denies beyond what every filter does: sockets, further processes and programs, metadata, `machine`.

    A pair of connected stream sockets is allowed: it leads nowhere, and event loops wake themselves by one. Threads are
    allowed. The metadata of files are their modes, owners, attributes and times; `modes` are those of open files, which
    a program that may write somewhere needs. `machine` is what all processes of the machine share.
    """

    sockets: bool = False
    children: bool = False
    programs: bool = False
    metadata: bool = False
    modes: bool = False
    machine: bool = False


def call_filter(denied: DeniedCalls, *, machine: str | None = None) -> bytes:
    """The filter as the kernel takes it. The denied calls fail as a missing permission does; none ends the process."""
    name = platform.machine() if machine is None else machine
    return b"".join(_instructions(_MACHINES[name], denied))


def _instructions(machine: _Machine, wanted: DeniedCalls) -> Iterator[bytes]:
    calls = machine.calls
    yield _step(_LOAD, _ARCHITECTURE)
    yield _step(_IF_EQUAL, machine.audit, then=1)
    yield _step(_RETURN, _KILL)
    yield _step(_LOAD, _NUMBER)
    yield _step(_IF_AT_LEAST, _X32, otherwise=1)
    yield _step(_RETURN, _ERRNO | errno.ENOSYS)
    # Of other processes; of itself a program may ask and lower its limits.
    yield from _unless_argument(calls["prlimit64"], 0, _IF_EQUAL, 0, errno.EPERM)
    denied = dict(_ALWAYS)
    if wanted.metadata:
        denied |= _METADATA
        # Without a path it is about an open file.
        yield from _unless_argument(calls["utimensat"], 1, _IF_EQUAL, 0, errno.EPERM)
    if wanted.modes:
        denied["fchmod"] = errno.EPERM
    if wanted.sockets:
        denied["socket"] = errno.EACCES
        yield from _unless_argument(calls["socketpair"], 1, _IF_EQUAL, _STREAM, errno.EACCES, mask=_TYPE_MASK)
    if wanted.machine:
        denied |= _MACHINE
    if wanted.children or wanted.machine:
        # A thread, if no child may be; and in either case in no other namespaces.
        needed, refused = _CLONE_THREAD * wanted.children, _CLONE_NAMESPACES * wanted.machine
        yield from _unless_argument(calls["clone"], 0, _IF_EQUAL, needed, errno.EPERM, mask=needed | refused)
        # It passes its flags in memory, where no filter looks; the C library falls back to `clone`.
        denied["clone3"] = errno.ENOSYS
    if wanted.children:
        denied |= _CHILDREN
    if wanted.programs:
        denied |= _PROGRAMS
    for call, number in denied.items():
        if call in calls:
            yield _step(_IF_EQUAL, calls[call], otherwise=1)
            yield _step(_RETURN, _ERRNO | number)
    yield _step(_RETURN, _ALLOW)


def _unless_argument(
    call: int, argument: int, condition: int, value: int, number: int, *, mask: int = 0xFFFFFFFF
) -> Iterator[bytes]:
    """Deny a call unless one of its arguments meets a condition; every path ends here, so the number may be lost."""
    yield _step(_IF_EQUAL, call, otherwise=5)
    yield _step(_LOAD, 16 + 8 * argument)
    yield _step(_AND, mask)
    yield _step(condition, value, otherwise=1)
    yield _step(_RETURN, _ALLOW)
    yield _step(_RETURN, _ERRNO | number)


def _step(code: int, value: int, *, then: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("=HBBI", code, then, otherwise, value)
