"""Restricts itself and then becomes the program: run as a script, `python -I -S launch.py <plan> <program> …`.

It stands alone, on the standard library only, because it runs without site-packages. It is used for Landlock, and for
everything else where `setpriv` and `prlimit` are missing: a Python that starts costs 18 ms or more, those two 3 ms.
"""

from __future__ import annotations

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
_PR_SET_NO_NEW_PRIVS = 38
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_RULESET_VERSION = 1
_RULE_PATH_BENEATH = 1
# Number of file access rights by Landlock ABI; 5 and later have all of them.
_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}
_ALL_RIGHTS = 16
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _TRUNCATE, _IOCTL_DEV = (1 << bit for bit in (0, 1, 2, 3, 14, 15))
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


def main(argv: list[str]) -> NoReturn:
    """Do what the plan says, then become the program."""
    plan: dict[str, Any] = json.loads(argv[1])
    if plan["diesWithParent"]:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if plan["noNewPrivileges"] or plan["files"]:
        _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    if plan["files"]:
        _restrict_files(plan["files"]["read"], plan["files"]["write"])
    for name, soft, hard in plan["rlimits"]:
        _limit(name, soft, hard)
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


def _restrict_files(read: list[str], write: list[str]) -> None:
    handled = (1 << _RIGHTS.get(landlock_abi(), _ALL_RIGHTS)) - 1
    attributes = struct.pack("=Q", handled)
    ruleset = _syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0)
    for path in read:
        _allow(ruleset, path, handled & _READ)
    for path in write:
        _allow(ruleset, path, handled)
    _syscall(_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return  # nothing is there, so there is nothing to allow
    allowed = rights if stat.S_ISDIR(os.fstat(handle).st_mode) else rights & _OF_FILES
    _syscall(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, struct.pack("=Qi", allowed, handle), 0)
    os.close(handle)


def _prctl(option: int, value: int) -> None:
    if _libc().prctl(option, value, 0, 0, 0) != 0:
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
