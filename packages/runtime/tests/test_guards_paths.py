"""Files beneath a granted directory: what can be done with them, and what is said when it cannot."""

from __future__ import annotations

import ctypes
import errno
import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest
from path_mechanisms import MECHANISMS

from toolcrib_core import ToolErrorCategory
from toolcrib_runtime.errors import FileUnusable
from toolcrib_runtime.guards.paths import beneath
from toolcrib_runtime.guards.paths.beneath import best_mechanism
from toolcrib_runtime.guards.paths.relative import system_refused
from toolcrib_runtime.guards.paths.root import FileMode, Root


@pytest.fixture(params=MECHANISMS)
def root(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Root]:
    (tmp_path / "root" / "notes").mkdir(parents=True)
    (tmp_path / "root" / "notes" / "a.md").write_bytes(b"first\r\nsecond\n")
    with Root.open(tmp_path / "root", mechanism=request.param) as opened:
        yield opened


@pytest.mark.parametrize("path", ["notes/a.md", "./notes/a.md", "notes//a.md", "notes/./a.md"])
def test_a_file_is_read_by_every_harmless_spelling_of_its_path(root: Root, path: str) -> None:
    assert root.read_bytes(path) == b"first\r\nsecond\n"


def test_text_is_read_with_its_line_ends_as_they_are(root: Root) -> None:
    assert root.read_text("notes/a.md") == "first\r\nsecond\n"


@pytest.mark.fault("G10")
@pytest.mark.parametrize("data", [b"ok\xff", b"\xed\xa0\x80", "ok".encode("utf-16")])
def test_text_that_is_not_utf_8_is_refused_with_the_place(root: Root, data: bytes) -> None:
    root.write_bytes("binary", data)

    with pytest.raises(FileUnusable, match=r"`binary` is not UTF-8 text: byte [02] does not fit"):
        root.read_text("binary")

    assert root.read_bytes("binary") == data


@pytest.mark.fault("G10")
def test_no_more_than_the_allowed_bytes_are_read(root: Root) -> None:
    root.write_bytes("ten", b"0123456789")

    assert root.read_bytes("ten", max_bytes=10) == b"0123456789"
    with pytest.raises(FileUnusable, match="larger than the 9 bytes") as caught:
        root.read_bytes("ten", max_bytes=9)
    assert caught.value.category is ToolErrorCategory.LIMIT


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs a file that says it is empty and is not")
def test_a_file_that_holds_more_than_its_size_says_is_still_capped() -> None:
    with Root.open("/proc/self") as proc:
        assert proc.stat("maps").size == 0
        with pytest.raises(FileUnusable, match="larger than"):
            proc.read_bytes("maps", max_bytes=10)


@pytest.mark.parametrize(
    ("mode", "content"), [("wb", b"new"), ("ab", b"first\r\nsecond\nnew")], ids=["anew", "at the end"]
)
def test_an_opened_file_is_written(root: Root, mode: FileMode, content: bytes) -> None:
    with root.open_file("notes/a.md", mode) as file:
        file.write(b"new")

    assert root.read_bytes("notes/a.md") == content


def test_a_file_that_must_be_new_is_refused_when_it_exists(root: Root) -> None:
    with root.open_file("notes/b.md", "xb") as file:
        file.write(b"b")

    with pytest.raises(FileUnusable, match=r"`notes/b\.md` exists already") as caught:
        root.open_file("notes/b.md", "xb")
    assert caught.value.category is ToolErrorCategory.CONFLICT
    assert root.read_bytes("notes/b.md") == b"b"


def test_writing_puts_a_private_file_in_place_and_leaves_nothing_beside_it(root: Root, tmp_path: Path) -> None:
    root.write_bytes("notes/a.md", b"replaced")

    assert root.read_bytes("notes/a.md") == b"replaced"
    assert [each.name for each in root.list("notes")] == ["a.md"]
    assert (tmp_path / "root/notes/a.md").stat().st_mode & 0o777 == 0o600


def test_readers_see_the_old_file_or_the_new_one_and_never_a_part(root: Root) -> None:
    with root.open_file("notes/a.md") as reader:
        root.write_bytes("notes/a.md", b"new")

        assert reader.read() == b"first\r\nsecond\n"
    assert root.read_bytes("notes/a.md") == b"new"


def test_a_write_that_fails_half_way_leaves_the_old_file_and_no_other(root: Root) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, hard))
    try:
        with pytest.raises(FileUnusable, match="does not fit") as caught:
            root.write_bytes("notes/a.md", b"x" * 100_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert caught.value.category is ToolErrorCategory.LIMIT
    assert root.read_bytes("notes/a.md") == b"first\r\nsecond\n"
    assert [each.name for each in root.list("notes")] == ["a.md"]


def test_a_listing_is_sorted_and_says_what_each_entry_is(root: Root, tmp_path: Path) -> None:
    (tmp_path / "root/link").symlink_to("notes")
    os.mkfifo(tmp_path / "root/pipe")
    root.write_bytes("a file", b"123")

    entries = root.list()

    assert [(each.name, each.kind) for each in entries] == [
        ("a file", "file"),
        ("link", "link"),
        ("notes", "directory"),
        ("pipe", "other"),
    ]
    assert entries[0] == root.stat("a file")
    assert (entries[0].size, entries[0].modified) == (3, (tmp_path / "root/a file").stat().st_mtime)


def test_a_directory_with_more_entries_than_allowed_is_refused(root: Root) -> None:
    for name in "abc":
        root.write_bytes(name, b"")

    assert len(root.list(".", max_entries=4)) == 4
    with pytest.raises(FileUnusable, match="more than the 3 entries") as caught:
        root.list(max_entries=3)
    assert caught.value.category is ToolErrorCategory.LIMIT


@pytest.mark.parametrize(
    ("path", "there"), [("notes", True), ("notes/a.md", True), (".", True), ("none", False), ("notes/a.md/x", False)]
)
def test_what_is_there_exists_and_nothing_else(root: Root, path: str, there: bool) -> None:  # noqa: FBT001  # a case
    assert root.exists(path) is there


def test_asking_whether_a_path_exists_that_is_no_path_is_an_error(root: Root) -> None:
    with pytest.raises(FileUnusable, match="NUL"):
        root.exists("a\x00b")


def test_files_and_empty_directories_are_deleted_and_full_ones_are_not(root: Root) -> None:
    with pytest.raises(FileUnusable, match="`notes` is a directory that is not empty"):
        root.delete("notes")
    root.delete("notes/a.md")
    root.delete("notes")

    assert root.list() == ()


def test_deleting_a_link_removes_the_link_and_not_what_it_leads_to(root: Root, tmp_path: Path) -> None:
    (tmp_path / "outside").write_bytes(b"kept")
    (tmp_path / "root/link").symlink_to(tmp_path / "outside")

    root.delete("link")

    assert not os.path.lexists(tmp_path / "root/link")
    assert (tmp_path / "outside").read_bytes() == b"kept"


@pytest.mark.parametrize("path", ["none", "none/a", "notes/none", "notes/a.md/x"])
def test_what_is_missing_is_named_by_its_relative_path(root: Root, tmp_path: Path, path: str) -> None:
    with pytest.raises(FileUnusable) as caught:
        root.read_bytes(path)

    assert f"`{path}` does not exist" in caught.value.message
    assert caught.value.category is ToolErrorCategory.NOT_FOUND
    assert str(tmp_path) not in str(caught.value.to_dict())


@pytest.mark.parametrize(
    ("code", "category"),
    [
        (errno.EACCES, ToolErrorCategory.PERMISSION),
        (errno.ENOSPC, ToolErrorCategory.LIMIT),
        (errno.EMFILE, ToolErrorCategory.UNAVAILABLE),
        (errno.EIO, ToolErrorCategory.INTERNAL),
        (0, ToolErrorCategory.INTERNAL),
    ],
)
def test_what_the_system_refuses_is_told_without_the_words_of_the_system(
    code: int, category: ToolErrorCategory
) -> None:
    told = system_refused("a", OSError(code, "said by the system", "/absolute/path"))

    assert told.category is category
    assert "said by" not in str(told.to_dict())
    assert "/absolute" not in str(told.to_dict())


def test_a_root_that_is_no_directory_is_refused_without_its_path(tmp_path: Path) -> None:
    with pytest.raises(FileUnusable, match="The granted directory does not exist") as caught:
        Root.open(tmp_path / "none")

    assert str(tmp_path) not in str(caught.value.to_dict())


def test_a_root_stays_the_directory_that_was_opened_when_its_name_is_given_to_another(
    root: Root, tmp_path: Path
) -> None:
    (tmp_path / "root").rename(tmp_path / "moved")
    (tmp_path / "root").mkdir()

    assert root.exists("notes/a.md")


def test_a_closed_root_opens_nothing_and_may_be_closed_again(root: Root) -> None:
    root.close()
    root.close()

    with pytest.raises(ValueError, match="closed"):
        root.exists("notes")


def test_a_kernel_without_openat2_means_the_walk(monkeypatch: pytest.MonkeyPatch) -> None:
    beneath._openat2_works.cache_clear()
    monkeypatch.setattr(beneath, "_SYS_OPENAT2", 100_000)
    try:
        assert best_mechanism() == "walk"
    finally:
        beneath._openat2_works.cache_clear()


def test_a_machine_whose_call_numbers_are_not_known_means_the_walk(monkeypatch: pytest.MonkeyPatch) -> None:
    beneath._openat2_works.cache_clear()
    monkeypatch.setattr(beneath, "_MACHINES_WITH_THAT_NUMBER", frozenset())
    try:
        assert best_mechanism() == "walk"
    finally:
        beneath._openat2_works.cache_clear()


@pytest.mark.skipif(best_mechanism() != "openat2", reason="this kernel has no openat2: the walk runs here")
@pytest.mark.parametrize("code", [errno.EINTR, errno.EAGAIN])
def test_an_interrupted_call_is_made_again_but_not_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    real, interruptions = beneath._syscall(), iter([True, True, False])

    def interrupted(*arguments: object) -> int:
        if not next(interruptions, True):
            return real(*arguments)
        ctypes.set_errno(code)
        return -1

    monkeypatch.setattr(beneath, "_syscall", lambda: interrupted)
    with Root.open(tmp_path, mechanism="openat2") as root:
        assert root.list() == ()
        with pytest.raises(FileUnusable, match=errno.errorcode[code]):
            root.list()
