"""Paths, links and races that try to lead out of a granted directory."""

from __future__ import annotations

import os
import shutil
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from path_mechanisms import MECHANISMS

from toolcrib_core import ToolErrorCategory
from toolcrib_runtime.errors import FileUnusable, OutsideRoot, PathError
from toolcrib_runtime.guards.paths.beneath import Mechanism
from toolcrib_runtime.guards.paths.root import FileMode, Root

INSIDE, OUTSIDE = b"inside", b"outside"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    for place, content in ((folder, INSIDE), (tmp_path / "outside", OUTSIDE)):
        (place / "deep").mkdir(parents=True)
        (place / "deep" / "file").write_bytes(content)
    return folder


@pytest.fixture(params=MECHANISMS)
def root(folder: Path, request: pytest.FixtureRequest) -> Iterator[Root]:
    with Root.open(folder, mechanism=request.param) as opened:
        yield opened


EVERY_WAY: dict[str, Callable[[Root, str], object]] = {
    "open": lambda root, path: root.open_file(path),
    "open to write": lambda root, path: root.open_file(path, "wb"),
    "read": lambda root, path: root.read_bytes(path),
    "read text": lambda root, path: root.read_text(path),
    "write": lambda root, path: root.write_bytes(path, b"escaped"),
    "list": lambda root, path: root.list(path),
    "stat": lambda root, path: root.stat(path),
    "exists": lambda root, path: root.exists(path),
}


@pytest.fixture(params=list(EVERY_WAY))
def use(request: pytest.FixtureRequest) -> Callable[[Root, str], object]:
    return EVERY_WAY[request.param]


@pytest.mark.fault("C5")
@pytest.mark.parametrize(
    "path",
    [
        "../outside/deep/file",
        "deep/../../outside/deep/file",
        "deep/..",
        "/etc/passwd",
        "//etc/passwd",
        "..\\outside\\deep\\file",
        "deep\\file",
        "C:\\Windows",
    ],
)
def test_a_path_that_may_lead_out_is_refused_by_its_text_alone(
    root: Root, use: Callable[[Root, str], object], path: str
) -> None:
    with pytest.raises(OutsideRoot) as caught:
        use(root, path)

    assert path not in str(caught.value)


@pytest.mark.parametrize(
    "path",
    ["", "a\x00b", "\x00", "a" * 256, "é" * 128, "a/" * 2_100, "a" * 10_000_000, "\ud800"],
    ids=["empty", "NUL", "only NUL", "long name", "long name in bytes", "long path", "10 MB", "surrogate"],
)
def test_what_can_be_no_path_is_refused(root: Root, use: Callable[[Root, str], object], path: str) -> None:
    with pytest.raises(FileUnusable) as caught:
        use(root, path)

    assert caught.value.category is ToolErrorCategory.VALIDATION
    assert len(str(caught.value)) < 300


@pytest.mark.fault("C5")
@pytest.mark.parametrize("target", ["../../outside/deep/file", "file", "none", "/etc/passwd", "/proc/self/environ"])
def test_a_link_at_the_end_is_never_followed_wherever_it_leads(
    root: Root, folder: Path, use: Callable[[Root, str], object], target: str
) -> None:
    (folder / "deep" / "link").symlink_to(target)

    with pytest.raises(OutsideRoot, match="symbolic link"):
        use(root, "deep/link")

    assert (folder / "deep" / "link").is_symlink()


@pytest.mark.fault("C5")
@pytest.mark.parametrize("target", ["../outside/deep", "deep", "/", "/proc/self/cwd"])
def test_a_link_on_the_way_is_never_followed_wherever_it_leads(
    root: Root, folder: Path, use: Callable[[Root, str], object], target: str
) -> None:
    (folder / "link").symlink_to(target)

    with pytest.raises(OutsideRoot, match="symbolic link"):
        use(root, "link/file")
    with pytest.raises(OutsideRoot, match="symbolic link"):
        root.delete("link/file")


@pytest.mark.skipif(not Path("/proc/self/cwd").is_symlink(), reason="magic links are of Linux")
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_magic_link_of_the_kernel_is_refused_like_any_other(mechanism: Mechanism) -> None:
    with Root.open("/proc/self", mechanism=mechanism) as root, pytest.raises(OutsideRoot):
        root.list("cwd")


@pytest.mark.parametrize("mode", ["rb", "wb", "ab"])
def test_a_pipe_is_refused_at_once_and_never_waited_for(root: Root, folder: Path, mode: FileMode) -> None:
    os.mkfifo(folder / "pipe")

    with pytest.raises(FileUnusable, match="a pipe"):
        root.open_file("pipe", mode)


def test_a_socket_and_a_directory_are_not_files(root: Root, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")

    with pytest.raises(FileUnusable, match="a socket"):
        root.read_bytes("socket")
    with pytest.raises(FileUnusable, match="`deep` is a directory"):
        root.read_bytes("deep")
    with pytest.raises(FileUnusable, match="`deep` is a directory"):
        root.write_bytes("deep", b"")


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_device_is_refused(mechanism: Mechanism) -> None:
    with Root.open("/dev", mechanism=mechanism) as devices:
        with pytest.raises(FileUnusable, match="a device"):
            devices.read_bytes("zero", max_bytes=10)
        with pytest.raises(FileUnusable, match="a device"):
            devices.write_bytes("null", b"")


@pytest.mark.parametrize("mode", ["rb", "wb"])
def test_what_becomes_a_pipe_after_the_first_look_is_not_waited_for(
    root: Root, folder: Path, monkeypatch: pytest.MonkeyPatch, mode: FileMode
) -> None:
    os.mkfifo(folder / "pipe")
    monkeypatch.setattr("toolcrib_runtime.guards.paths.root._look", lambda place: None)
    before = open_files()

    with pytest.raises(FileUnusable, match="a pipe"):
        root.open_file("pipe", mode)

    assert open_files() == before


def test_a_file_that_the_account_may_not_open_is_a_permission_error(root: Root, folder: Path) -> None:
    (folder / "deep" / "file").chmod(0)
    if os.access(folder / "deep" / "file", os.R_OK):
        pytest.skip("this account may open everything")

    with pytest.raises(FileUnusable, match="may not be used") as caught:
        root.read_bytes("deep/file")
    assert caught.value.category is ToolErrorCategory.PERMISSION


@pytest.mark.fault("C5")
def test_a_file_flipped_to_a_link_while_it_is_read_never_gives_what_is_outside(root: Root, folder: Path) -> None:
    shutil.copy(folder / "deep/file", folder / "real")
    (folder / "link").symlink_to(folder.parent / "outside/deep/file")

    with flipping(folder, "gate", "real", "link"):
        seen = tally(lambda: root.read_bytes("gate"))

    assert seen[OUTSIDE] == 0


@pytest.mark.fault("C5")
def test_a_directory_flipped_to_a_link_while_it_is_read_never_gives_what_is_outside(root: Root, folder: Path) -> None:
    shutil.copytree(folder / "deep", folder / "real")
    (folder / "link").symlink_to(folder.parent / "outside/deep")

    with flipping(folder, "gate", "real", "link"):
        seen = tally(lambda: root.read_bytes("gate/file"))

    assert seen[OUTSIDE] == 0


@pytest.mark.fault("C5")
def test_a_directory_flipped_to_a_link_while_it_is_written_never_lets_a_file_out(root: Root, folder: Path) -> None:
    shutil.copytree(folder / "deep", folder / "real")
    (folder / "link").symlink_to(folder.parent / "outside/deep")

    with flipping(folder, "gate", "real", "link"):
        tally(lambda: use_once(lambda: root.write_bytes("gate/new", INSIDE)))

    assert [each.name for each in (folder.parent / "outside/deep").iterdir()] == ["file"]
    assert (folder.parent / "outside/deep/file").read_bytes() == OUTSIDE


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="handles are counted in /proc")
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_no_handle_is_left_open_by_success_or_by_refusal(folder: Path, mechanism: Mechanism) -> None:
    (folder / "link").symlink_to("deep")
    os.mkfifo(folder / "pipe")
    before = open_files()

    with Root.open(folder, mechanism=mechanism) as root:
        for path in ("deep/file", "deep", "none/a", "link/file", "link", "pipe", "../x", "deep/file/x"):
            for use in EVERY_WAY.values():
                with suppress(PathError):
                    close = getattr(use(root, path), "close", None)
                    if close is not None:
                        close()

    assert open_files() == before


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="handles are counted in /proc")
def test_a_root_that_is_forgotten_gives_its_handle_back(folder: Path) -> None:
    before = open_files()

    Root.open(folder)

    assert open_files() == before


def test_a_root_closed_by_another_thread_never_reads_somebody_elses_directory(folder: Path) -> None:
    other = folder.parent / "outside"
    seen: Counter[object] = Counter()

    for _ in range(200):
        root = Root.open(folder)
        reader = threading.Thread(
            target=lambda opened=root: seen.update([outcome(lambda: opened.read_bytes("deep/file"))])
        )
        reader.start()
        root.close()
        with Root.open(other):
            reader.join()

    assert seen[OUTSIDE] == 0
    assert sum(seen.values()) == 200


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def use_once(use: Callable[[], object]) -> bytes:
    use()
    return INSIDE


def outcome(use: Callable[[], object]) -> object:
    try:
        return use()
    except (PathError, ValueError) as failure:
        return type(failure)


def tally(use: Callable[[], bytes]) -> Counter[object]:
    """Count what comes of many tries: at least 1,000, and until it was let in and turned away 20 times each."""
    seen: Counter[object] = Counter()
    end = time.monotonic() + 10
    while sum(seen.values()) < 1_000 or seen[INSIDE] < 20 or seen[OutsideRoot] < 20:
        seen[outcome(use)] += 1
        assert time.monotonic() < end, f"the race never came to pass: {seen}"
    return seen


@contextmanager
def flipping(folder: Path, gate: str, *forms: str) -> Iterator[None]:
    """Give one form after the other the name of the gate, as fast as possible, in another thread."""
    over = threading.Event()

    def flip() -> None:
        while not over.is_set():
            for form in forms:
                (folder / form).rename(folder / gate)
                (folder / gate).rename(folder / form)

    flipper = threading.Thread(target=flip)
    flipper.start()
    try:
        yield
    finally:
        over.set()
        flipper.join()
