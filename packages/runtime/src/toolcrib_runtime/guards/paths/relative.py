"""Relative paths as text: how one is taken apart, and what is said when it is refused."""

from __future__ import annotations

import errno
import os
from typing import Final

from toolcrib_core import ToolErrorCategory
from toolcrib_core.wording import quoted
from toolcrib_runtime.errors import FileUnusable, OutsideRoot, PathError

MAX_PATH_BYTES: Final = 4_095
"""The longest path that Linux takes in one call; the walk would take longer ones, and must not differ."""

MAX_NAME_BYTES: Final = 255
"""The longest name that common file systems take."""

_HINT = (
    "Give a path relative to the granted directory, with `/` between its parts and without `..`, as in `notes/a.md`."
)
_MISSING = ToolErrorCategory.NOT_FOUND
_DENIED = ToolErrorCategory.PERMISSION
_FULL = ToolErrorCategory.LIMIT
_TAKEN = ToolErrorCategory.CONFLICT
_WRONG = ToolErrorCategory.VALIDATION
_REASONS: dict[int, tuple[str, ToolErrorCategory]] = {
    errno.ENOENT: ("does not exist", _MISSING),
    errno.ENOTDIR: ("does not exist, since a part of its path is not a directory", _MISSING),
    errno.EACCES: ("may not be used by this account", _DENIED),
    errno.EPERM: ("may not be used by this account", _DENIED),
    errno.ENXIO: ("is a device, a pipe or a socket, not a file", _WRONG),
    errno.ENAMETOOLONG: ("has a name that is too long for its file system", _WRONG),
    errno.EROFS: ("is on a file system that cannot be written", _DENIED),
    errno.EEXIST: ("exists already", _TAKEN),
    errno.ENOTEMPTY: ("is a directory that is not empty", _TAKEN),
    errno.ENOSPC: ("does not fit: the disk is full", _FULL),
    errno.EDQUOT: ("does not fit: the quota is used up", _FULL),
    errno.EFBIG: ("does not fit: the file would be larger than this process may write", _FULL),
    errno.EMFILE: ("cannot be opened: too many files are open", ToolErrorCategory.UNAVAILABLE),
    errno.ENFILE: ("cannot be opened: too many files are open", ToolErrorCategory.UNAVAILABLE),
}


def split_relative(relative: str) -> tuple[str, ...]:
    """The parts of a relative path; none for `.`, the root itself.

    Empty parts and `.` are dropped, as the system does. A backslash is refused because what reads the path next may
    take it for a separator.

    Raises:
        OutsideRoot: The path is absolute, or has `..` or a backslash.
        FileUnusable: The path is empty, too long, or has a character that no path can have.
    """
    if not relative or "\x00" in relative:
        raise _unfit("is empty" if not relative else "has a NUL character")
    if _bytes_of(relative) > MAX_PATH_BYTES:
        raise _unfit(f"is longer than {MAX_PATH_BYTES:,} bytes")
    if relative.startswith("/") or "\\" in relative:
        raise _outside("it is absolute" if relative.startswith("/") else "it has a backslash")
    parts = tuple(part for part in relative.split("/") if part not in ("", "."))
    if ".." in parts:
        raise _outside("it has a part `..`")
    if any(_bytes_of(part) > MAX_NAME_BYTES for part in parts):
        raise _unfit(f"has a part longer than {MAX_NAME_BYTES} bytes")
    return parts


def link_refused(relative: str) -> OutsideRoot:
    """The error for a path on which there is a symbolic link."""
    return OutsideRoot(
        f"The path {quoted(relative)} goes through a symbolic link, and links are never followed.",
        hint="Use the path of the file itself, inside the granted directory.",
        details={"reason": "symbolic link"},
    )


def unusable(relative: str, reason: str, category: ToolErrorCategory) -> FileUnusable:
    """The error for a path that leads to nothing that can be used; the reason follows the path in the sentence."""
    return FileUnusable(f"{quoted(relative)} {reason}.", category=category, details={"reason": reason})


def system_refused(relative: str, failure: OSError) -> PathError:
    """The error for what the operating system said, without its words: they may hold a path and follow the locale."""
    return link_refused(relative) if failure.errno == errno.ELOOP else unusable(relative, *_reason(failure))


def root_refused(failure: OSError) -> FileUnusable:
    """The error for a granted directory that cannot be opened; it does not say where that is."""
    reason, category = _reason(failure)
    return FileUnusable(f"The granted directory {reason}.", category=category, details={"reason": reason})


def _reason(failure: OSError) -> tuple[str, ToolErrorCategory]:
    code = failure.errno or 0
    name = errno.errorcode.get(code, "no error code")
    return _REASONS.get(code, (f"cannot be used ({name})", ToolErrorCategory.INTERNAL))


def _bytes_of(text: str) -> int:
    try:
        return len(os.fsencode(text))
    except UnicodeEncodeError:
        pass
    raise _unfit("has a lone surrogate")


def _outside(reason: str) -> OutsideRoot:
    return OutsideRoot(
        f"The path may lead out of the granted directory: {reason}.", hint=_HINT, details={"reason": reason}
    )


def _unfit(reason: str) -> FileUnusable:
    return FileUnusable(f"The path {reason}.", category=_WRONG, hint=_HINT, details={"reason": reason})
