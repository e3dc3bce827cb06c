"""Opening a directory beneath another one, so that no symbolic link and no race leads out of it.

There are two mechanisms with one rule: a symbolic link is never followed, not even one that stays inside. `openat2` is
one call in which the kernel refuses every link; the walk opens part after part relative to the handle before it.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Literal, TypeAlias

Mechanism: TypeAlias = Literal["openat2", "walk"]

_READ = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# As openat2 does, the walk needs only the right to pass through a directory on its way, not the right to list it.
_PASS = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

_SYS_OPENAT2 = 437
_MACHINES_WITH_THAT_NUMBER = frozenset({"x86_64", "aarch64", "riscv64", "ppc64le", "s390x"})
_RESOLVE_NO_MAGICLINKS, _RESOLVE_NO_SYMLINKS, _RESOLVE_BENEATH = 0x02, 0x04, 0x08
_INTERRUPTIONS = (errno.EINTR, errno.EAGAIN)
_MAX_INTERRUPTIONS = 100


def best_mechanism() -> Mechanism:
    """`openat2` where this kernel has it and lets us use it (a container may forbid it), otherwise the walk."""
    return "openat2" if _openat2_works() else "walk"


def open_directory(root: int, parts: Sequence[str], *, mechanism: Mechanism) -> int:
    """A new handle on the directory that the parts lead to, starting at the handle `root`.

    The parts are single names: no `..`, no `/`.

    Raises:
        OSError: `ELOOP` when a part is a symbolic link; otherwise as `open` does.
    """
    if mechanism == "openat2":
        return _openat2(root, "/".join(parts) or ".")
    return _walk(root, parts)


def _walk(root: int, parts: Sequence[str]) -> int:
    current = os.dup(root)
    try:
        for name in parts:
            below = _open_child(current, name)
            os.close(current)
            current = below
        return os.open(".", _READ, dir_fd=current)
    finally:
        os.close(current)


def _open_child(directory: int, name: str) -> int:
    try:
        return os.open(name, _PASS, dir_fd=directory)
    except NotADirectoryError:
        # `O_DIRECTORY` gives ENOTDIR for a link, too, where openat2 says ELOOP.
        if stat.S_ISLNK(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None
        raise


class _OpenHow(ctypes.Structure):
    """`struct open_how` of linux/openat2.h."""

    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def _openat2(root: int, path: str) -> int:
    how = _OpenHow(_READ, 0, _RESOLVE_BENEATH | _RESOLVE_NO_SYMLINKS | _RESOLVE_NO_MAGICLINKS)
    encoded, code = os.fsencode(path), errno.EAGAIN
    for _ in range(_MAX_INTERRUPTIONS):
        handle = _syscall()(_SYS_OPENAT2, root, encoded, ctypes.byref(how), ctypes.sizeof(how))
        if handle >= 0:
            return handle
        code = ctypes.get_errno()
        if code not in _INTERRUPTIONS:
            break
    raise OSError(code, os.strerror(code))


@cache
def _syscall() -> Callable[..., int]:
    function = ctypes.CDLL(None, use_errno=True).syscall
    function.restype = ctypes.c_long
    function.argtypes = (ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.POINTER(_OpenHow), ctypes.c_size_t)
    return function


@cache
def _openat2_works() -> bool:
    if sys.platform != "linux" or os.uname().machine not in _MACHINES_WITH_THAT_NUMBER:
        return False
    start = os.open("/", _READ)
    try:
        os.close(_openat2(start, "."))
    except OSError:
        return False
    finally:
        os.close(start)
    return True
