"""Restricts itself and then becomes the program: run as a script, `python -I -S launch.py <plan> <program> …`.

It stands alone, on the standard library only, because it runs without site-packages. It is used for Landlock and
seccomp, and for everything else where `setpriv` and `prlimit` are missing: a Python that starts costs 18 ms or more,
those two 3 ms. A Python script is not started but run in this same process: one start less, and nothing to execute.
"""

from __future__ import annotations

import base64
import ctypes
import json
import os
import resource
import signal
import stat
import struct
import sys
from typing import Any, NoReturn

_PR_SET_PDEATHSIG = 1
_PR_SET_SECCOMP = 22
_SECCOMP_MODE_FILTER = 2
_INSTRUCTION = 8  # bytes
_PR_SET_NO_NEW_PRIVS = 38
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_RULESET_VERSION = 1
_RULE_PATH_BENEATH, _RULE_PORT = 1, 2
# By ABI 4: to bind and to connect TCP; by ABI 6: abstract sockets and signals stay inside.
_NET_ABI, _TCP_RIGHTS, _CONNECT_TCP = 4, 3, 2
_SCOPE_ABI, _SCOPES = 6, 3
# Number of file access rights by Landlock ABI; 5 and later have all of them.
_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}
_ALL_RIGHTS = 16
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _TRUNCATE, _IOCTL_DEV = (1 << bit for bit in (0, 1, 2, 3, 14, 15))
# To make a device is to have it: as root, a disk.
_MAKE_DEVICE = 1 << 6 | 1 << 11
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_NOT_EXECUTED = 126
_NOT_FOUND = 127


def landlock_abi() -> int:
    """The version of Landlock that the kernel offers; 0 without it."""
    if not sys.platform.startswith("linux"):
        return 0
    version: int = _libc().syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _RULESET_VERSION)
    return max(0, version)


def main(argv: list[str]) -> None:
    """Do what the plan says, then become the program, or run the script."""
    plan: dict[str, Any] = json.loads(argv[1])
    if plan["diesWithParent"]:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if plan["noNewPrivileges"] or plan["files"] or plan["filter"]:
        _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    if plan["files"]:
        own = _python_files() if plan["script"] else []
        _restrict_files(plan["files"] | {"read": plan["files"]["read"] + own}, plan["ports"])
    for name, soft, hard in plan["rlimits"]:
        _limit(name, soft, hard)
    if plan["filter"]:
        _filter_calls(base64.b64decode(plan["filter"]))
    if plan["script"]:
        _run_script(argv[2:])
    else:
        _become(argv[2:])


def _limit(name: str, soft: int, hard: int) -> None:
    try:
        resource.setrlimit(getattr(resource, f"RLIMIT_{name.upper()}"), (soft, hard))
    except (ValueError, OSError):
        # macOS refuses some limits; the report calls them best effort there.
        if sys.platform.startswith("linux"):
            raise


def _become(argv: list[str]) -> NoReturn:
    # Python ignores these two for itself, and what is ignored stays ignored in the program.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    try:
        os.execv(argv[0], argv)  # noqa: S606  # no shell is the point
    except FileNotFoundError:
        sys.exit(_NOT_FOUND)
    except OSError as error:
        print(error.strerror, file=sys.stderr)  # noqa: T201  # stderr is all that this process has
        sys.exit(_NOT_EXECUTED)


def _run_script(argv: list[str]) -> None:
    import runpy

    sys.argv[:] = argv
    runpy.run_path(argv[0], run_name="__main__")


def _python_files() -> list[str]:
    """What this interpreter imports from; it is known only here, where the site-packages of the child were found."""
    return [each for each in {sys.prefix, sys.base_prefix, *sys.path} if each.startswith("/")]


def _restrict_files(files: dict[str, list[str]], ports: list[int] | None) -> None:
    abi = landlock_abi()
    handled = (1 << _RIGHTS.get(abi, _ALL_RIGHTS)) - 1
    attributes = struct.pack("=Q", handled)
    if abi >= _NET_ABI:
        attributes += struct.pack("=Q", 0 if ports is None else _TCP_RIGHTS)
    if abi >= _SCOPE_ABI:
        attributes += struct.pack("=Q", _SCOPES)
    ruleset = _syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0)
    for path in files["list"]:
        _allow(ruleset, path, handled & _READ_DIR)
    for path in files["read"]:
        _allow(ruleset, path, handled & _READ)
    for path in files["write"]:
        _allow(ruleset, path, handled & ~_MAKE_DEVICE)
    for port in ports or ():
        _syscall(_ADD_RULE, ruleset, _RULE_PORT, struct.pack("=QQ", _CONNECT_TCP, port), 0)
    _syscall(_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return  # nothing is there, so there is nothing to allow
    allowed = rights if stat.S_ISDIR(os.fstat(handle).st_mode) else rights & _OF_FILES
    _syscall(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, struct.pack("=Qi", allowed, handle), 0)
    os.close(handle)


def _filter_calls(instructions: bytes) -> None:
    kept = ctypes.create_string_buffer(instructions, len(instructions))
    program = struct.pack("@HP", len(instructions) // _INSTRUCTION, ctypes.addressof(kept))
    _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.create_string_buffer(program, len(program)))


def _prctl(option: int, value: int, more: object = 0) -> None:
    if _libc().prctl(option, value, more, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl was refused")


def _syscall(*arguments: object) -> int:
    answer: int = _libc().syscall(*arguments)
    if answer < 0:
        raise OSError(ctypes.get_errno(), "a Landlock call was refused")
    return answer


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


if __name__ == "__main__":
    main(sys.argv)
