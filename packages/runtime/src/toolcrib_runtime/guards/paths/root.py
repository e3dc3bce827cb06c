"""Files beneath one granted directory, opened so that nothing outside is reached, whoever changes links meanwhile.

The rule is the same on every system: no symbolic link is followed, only regular files are opened, and every step
starts at a handle that was checked before. What is not covered: a hard link to a file outside, and what is mounted
inside, cannot be told from a file of the directory; so grant no directory that somebody else may add hard links to.
"""

from __future__ import annotations

import os
import secrets
import stat
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import TracebackType
from typing import IO, Final, Literal, NamedTuple, Self, TypeAlias

from toolcrib_core import ToolErrorCategory
from toolcrib_core.wording import count
from toolcrib_runtime.errors import FileUnusable
from toolcrib_runtime.guards.paths.beneath import Mechanism, best_mechanism, open_directory
from toolcrib_runtime.guards.paths.relative import link_refused, root_refused, split_relative, system_refused, unusable

FileMode: TypeAlias = Literal["rb", "wb", "ab", "xb"]
FileKind: TypeAlias = Literal["file", "directory", "link", "other"]

MAX_FILE_BYTES: Final = 4 * 1024 * 1024
"""How much of a file is read, unless the caller says otherwise: as much as JSON text of a result may have."""

MAX_ENTRIES: Final = 10_000
"""How many entries of a directory are listed, unless the caller says otherwise."""

_FLAGS: dict[FileMode, int] = {
    "rb": os.O_RDONLY,
    "wb": os.O_WRONLY | os.O_CREAT | os.O_TRUNC,
    "ab": os.O_WRONLY | os.O_CREAT | os.O_APPEND,
    "xb": os.O_WRONLY | os.O_CREAT | os.O_EXCL,
}
# O_NONBLOCK: opening a FIFO would wait for its other end.
_CAREFULLY = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_FILE_PERMISSIONS = 0o600
_KINDS: dict[int, FileKind] = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "link"}


@dataclass(frozen=True, kw_only=True)
class FileInfo:
    """What is known of an entry without opening it; `modified` is in seconds since 1970."""

    name: str
    kind: FileKind
    size: int
    modified: float


class Root:
    """A directory, opened once; every path given to it is relative and stays beneath it.

    The calls block, so run them in a thread where there is an event loop. They may come from several threads, and
    `close` may come from any of them. A directory that is moved away during a call is still the one that was checked.
    Every method raises `OutsideRoot` for a path that leads out or goes through a symbolic link, `FileUnusable` for one
    that leads to nothing it can use, and `ValueError` once the root is closed.
    """

    def __init__(self, handle: int, *, mechanism: Mechanism) -> None:
        self.mechanism: Final = mechanism
        self._fd = handle
        self._lock = threading.Lock()
        self._finalizer = weakref.finalize(self, os.close, handle)

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, mechanism: Mechanism | None = None) -> Self:
        """Open a directory that the application grants; links on the way to it are followed.

        Without a mechanism, the best one of this system is taken.

        Raises:
            FileUnusable: It is no directory, or may not be opened. The message does not have its path.
        """
        try:
            handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as failure:
            raise root_refused(failure) from None
        return cls(handle, mechanism=mechanism or best_mechanism())

    def close(self) -> None:
        """Give the handle back; closing twice is fine."""
        with self._lock:
            self._finalizer()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def open_file(self, relative: str, mode: FileMode = "rb") -> IO[bytes]:
        """Open a regular file; the caller closes it.

        Raises:
            OutsideRoot: The path leads out, or goes through a symbolic link.
            FileUnusable: There is no regular file, or the system refuses.
        """
        with self._place(relative) as place:
            handle = _open_regular(place, _FLAGS[mode])
        return os.fdopen(handle, mode)

    def read_bytes(self, relative: str, *, max_bytes: int = MAX_FILE_BYTES) -> bytes:
        """The content of a file; at most `max_bytes` are ever read, even while the file grows.

        Raises:
            OutsideRoot: The path leads out, or goes through a symbolic link.
            FileUnusable: There is no regular file, it is larger than allowed, or the system refuses.
        """
        with _told(relative), self.open_file(relative) as file:
            data = file.read(max_bytes + 1)
        if len(data) > max_bytes:
            reason = f"is larger than the {count(max_bytes, 'byte')} that may be read"
            raise unusable(relative, reason, ToolErrorCategory.LIMIT)
        return data

    def read_text(self, relative: str, *, max_bytes: int = MAX_FILE_BYTES) -> str:
        """The content of a UTF-8 file, with its line ends as they are.

        Raises:
            OutsideRoot: The path leads out, or goes through a symbolic link.
            FileUnusable: As for `read_bytes`, or the content is not UTF-8.
        """
        try:
            return self.read_bytes(relative, max_bytes=max_bytes).decode()
        except UnicodeDecodeError as failure:
            reason = f"is not UTF-8 text: byte {failure.start:,} does not fit"
        raise unusable(relative, reason, ToolErrorCategory.VALIDATION)

    def write_bytes(self, relative: str, data: bytes) -> None:
        """Put a file in place, whole or not at all: it is written beside, flushed to the disk, then renamed.

        The new file is readable for this account only. A process killed meanwhile leaves a `.toolcrib-….tmp` behind.

        Raises:
            OutsideRoot: The path leads out, or goes through a symbolic link.
            FileUnusable: Something else than a file has the name, or the system refuses.
        """
        with self._place(relative) as place:
            _look(place)
            _replace(place, data)

    def list(self, relative: str = ".", *, max_entries: int = MAX_ENTRIES) -> tuple[FileInfo, ...]:
        """The entries of a directory, by name; links and special files are named but cannot be opened.

        Raises:
            OutsideRoot: The path leads out, or goes through a symbolic link.
            FileUnusable: There is no directory, or it has more entries than allowed.
        """
        found: list[FileInfo] = []
        with self._directory(relative, split_relative(relative)) as directory, os.scandir(directory) as entries:
            for entry in entries:
                if len(found) == max_entries:
                    reason = f"has more than the {count(max_entries, 'entry', 'entries')} that may be listed"
                    raise unusable(relative, reason, ToolErrorCategory.LIMIT)
                with suppress(FileNotFoundError):
                    found.append(_info(entry.name, entry.stat(follow_symlinks=False)))
        return tuple(sorted(found, key=lambda each: each.name))

    def stat(self, relative: str) -> FileInfo:
        """What is at the path.

        Raises:
            OutsideRoot: The path leads out, or to or through a symbolic link.
            FileUnusable: There is nothing, or the system refuses.
        """
        with self._place(relative) as place:
            info = _info(place.name, place.stat())
        if info.kind == "link":
            raise link_refused(relative)
        return info

    def exists(self, relative: str) -> bool:
        """Whether there is a file, a directory or anything else but a link.

        Raises:
            OutsideRoot: The path leads out, or to or through a symbolic link.
            FileUnusable: The path is no path, or the system refuses to look.
        """
        try:
            self.stat(relative)
        except FileUnusable as failure:
            if failure.category is not ToolErrorCategory.NOT_FOUND:
                raise
            return False
        return True

    def delete(self, relative: str) -> None:
        """Remove a file, an empty directory, or a link (never what it leads to).

        Raises:
            OutsideRoot: The path leads out, or goes through a symbolic link before its last part.
            FileUnusable: There is nothing, the directory is not empty, or the system refuses.
        """
        with self._place(relative) as place:
            remove = os.rmdir if stat.S_ISDIR(place.stat().st_mode) else os.unlink
            remove(place.name, dir_fd=place.directory)

    @contextmanager
    def _place(self, relative: str) -> Iterator[_Place]:
        *folders, name = split_relative(relative) or (".",)
        with self._directory(relative, folders) as directory:
            yield _Place(directory, name, relative)

    @contextmanager
    def _directory(self, relative: str, parts: Sequence[str]) -> Iterator[int]:
        with _told(relative):
            with _closing(self._handle()) as root:
                handle = open_directory(root, parts, mechanism=self.mechanism)
            with _closing(handle):
                yield handle

    def _handle(self) -> int:
        # A copy for each call: after `close` in another thread, the number may be that of a file of somebody else.
        with self._lock:
            if not self._finalizer.alive:
                raise ValueError("the root is closed")
            return os.dup(self._fd)


class _Place(NamedTuple):
    """A name in a directory that was checked, and the path that led there."""

    directory: int
    name: str
    relative: str

    def stat(self) -> os.stat_result:
        return os.stat(self.name, dir_fd=self.directory, follow_symlinks=False)


def _open_regular(place: _Place, flags: int) -> int:
    _look(place)
    handle = os.open(place.name, flags | _CAREFULLY, _FILE_PERMISSIONS, dir_fd=place.directory)
    try:
        _require_file(place, os.fstat(handle))
    except BaseException:
        os.close(handle)
        raise
    return handle


def _look(place: _Place) -> None:
    """Refuse what is no file before it is opened: opening a device may already do something."""
    with suppress(FileNotFoundError):
        _require_file(place, place.stat())


def _require_file(place: _Place, status: os.stat_result) -> None:
    kind = _info(place.name, status).kind
    if kind == "link":
        raise link_refused(place.relative)
    if kind != "file":
        reason = "is a directory" if kind == "directory" else "is a device, a pipe or a socket"
        raise unusable(place.relative, f"{reason}, not a file", ToolErrorCategory.VALIDATION)


def _replace(place: _Place, data: bytes) -> None:
    directory, temporary = place.directory, f".toolcrib-{secrets.token_hex(8)}.tmp"
    handle = os.open(temporary, _FLAGS["xb"] | _CAREFULLY, _FILE_PERMISSIONS, dir_fd=directory)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(handle)
        os.rename(temporary, place.name, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=directory)
        raise
    os.fsync(directory)


def _info(name: str, status: os.stat_result) -> FileInfo:
    kind = _KINDS.get(stat.S_IFMT(status.st_mode), "other")
    return FileInfo(name=name, kind=kind, size=status.st_size, modified=status.st_mtime)


@contextmanager
def _told(relative: str) -> Iterator[None]:
    """What the system refuses inside the block is told about the path."""
    try:
        yield
    except OSError as failure:
        raise system_refused(relative, failure) from None


@contextmanager
def _closing(handle: int) -> Iterator[int]:
    try:
        yield handle
    finally:
        os.close(handle)
