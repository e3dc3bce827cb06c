"""The files by which a process that serves tells its live health."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import stat
import subprocess
import sys
import threading
import time

import pytest

from toolcrib_mcp.serving import Held, LiveStatus, read_live
from toolcrib_mcp.serving.live import STALE_AFTER, LiveStatusFile, is_alive
from toolcrib_mcp.serving.reporting import RENEW_EVERY, Reporter
from toolcrib_mcp.state_files import private_directory
from toolcrib_runtime.testing import FakeClock

pytestmark = pytest.mark.req("GW-6.4")


def _status(**fields):
    return LiveStatus(
        **{
            "pid": os.getpid(),
            "mode": "proxy",
            "address": "stdio",
            "started_at": 10.0,
            "written_at": 20.0,
            "hub": {"servers": []},
            **fields,
        }
    )


def _file_of(directory, pid):
    return directory / f"serving-{pid}.json"


def _dead_pid():
    child = subprocess.Popen([sys.executable, "-I", "-S", "-c", ""])
    child.wait()
    return child.pid


def test_what_is_written_is_read_as_it_was(tmp_path):
    LiveStatusFile(tmp_path / "state").write(_status())

    assert read_live(tmp_path / "state", now=20.0) == [_status()]


def test_only_the_user_may_look_into_the_directory_and_the_file(tmp_path):
    LiveStatusFile(tmp_path / "state").write(_status())

    modes = [stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "state", *(tmp_path / "state").iterdir())]
    assert modes == [0o700, 0o600]


def test_a_file_that_is_written_again_is_replaced_and_leaves_nothing_beside_it(tmp_path):
    file = LiveStatusFile(tmp_path)
    file.write(_status())

    file.write(_status(written_at=21.0))

    assert [status.written_at for status in read_live(tmp_path, now=21.0)] == [21.0]
    assert [path.name for path in tmp_path.iterdir()] == [f"serving-{os.getpid()}.json"]


def test_a_file_that_was_removed_is_not_written_by_a_thread_that_comes_late(tmp_path):
    file = LiveStatusFile(tmp_path)
    file.remove()

    file.write(_status())

    assert list(tmp_path.iterdir()) == []


def test_a_write_that_fails_leaves_no_draft(tmp_path):
    _file_of(tmp_path, os.getpid()).mkdir()

    with pytest.raises(OSError, match="directory"):
        LiveStatusFile(tmp_path).write(_status())

    assert [path.name for path in tmp_path.iterdir()] == [f"serving-{os.getpid()}.json"]


def test_the_file_of_a_dead_process_is_ignored_and_removed(tmp_path):
    pid = _dead_pid()
    _file_of(tmp_path, pid).write_text(_status(pid=pid).model_dump_json(by_alias=True))

    assert read_live(tmp_path, now=20.0) == []
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_nobody_has_renewed_is_ignored_and_removed(tmp_path):
    LiveStatusFile(tmp_path).write(_status())

    assert read_live(tmp_path, now=20.0 + STALE_AFTER + 1) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", ["", "[]", '{"version": 2}', "\x00" * 100])
def test_a_file_that_cannot_be_read_tells_nothing(tmp_path, content):
    _file_of(tmp_path, os.getpid()).write_text(content)

    assert read_live(tmp_path, now=20.0) == []


def test_what_is_no_file_tells_nothing(tmp_path):
    _file_of(tmp_path, os.getpid()).mkdir()

    assert read_live(tmp_path, now=20.0) == []


@pytest.mark.parametrize("name", ["serving-.json", "serving-x.json", "serving--1.json", f"serving-{'9' * 40}.json"])
def test_a_file_that_names_no_process_is_removed(tmp_path, name):
    (tmp_path / name).write_text(_status().model_dump_json(by_alias=True))

    assert read_live(tmp_path, now=20.0) == []
    assert list(tmp_path.iterdir()) == []


def test_the_process_that_was_started_last_comes_first(tmp_path):
    LiveStatusFile(tmp_path).write(_status())
    parent = os.getppid()
    if not is_alive(parent):
        pytest.skip("the parent of this process is of another user")
    _file_of(tmp_path, parent).write_text(_status(pid=parent, started_at=11.0).model_dump_json(by_alias=True))

    assert [status.pid for status in read_live(tmp_path, now=20.0)] == [parent, os.getpid()]


def test_without_a_directory_nobody_serves(tmp_path):
    assert read_live(tmp_path / "none", now=20.0) == []


def test_a_directory_of_another_user_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)

    with pytest.raises(PermissionError, match="another user"):
        private_directory(tmp_path / "state")


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o702])
def test_a_directory_that_others_may_write_to_is_refused(tmp_path, mode):
    (tmp_path / "state").mkdir()
    (tmp_path / "state").chmod(mode)

    with pytest.raises(PermissionError, match="Others may write"):
        private_directory(tmp_path / "state")


@pytest.mark.fault("K8")
@pytest.mark.parametrize("target", ["ours", "nowhere"])
def test_a_directory_that_is_a_link_is_refused(tmp_path, target):
    (tmp_path / "ours").mkdir(mode=0o700)
    (tmp_path / "state").symlink_to(tmp_path / target)

    with pytest.raises(PermissionError, match="It is a link"):
        private_directory(tmp_path / "state")
    assert not (tmp_path / "nowhere").exists()


class _Reported:
    """A reporter at a time that stands still, and what it has written."""

    def __init__(self, directory):
        self.clock = FakeClock()
        self.told = {"servers": ["first"]}
        self.sessions = 3
        self.looks = 0
        self.directory = directory
        self.reporter = Reporter(
            directory=directory,
            mode="proxy",
            address="stdio",
            describe=self._describe,
            sessions=lambda: self.sessions,
            clock=self.clock,
        )

    def _describe(self):
        self.looks += 1
        return self.told

    async def __aenter__(self):
        self.task = asyncio.create_task(self.reporter.run())
        return self

    async def __aexit__(self, *_):
        self.task.cancel()
        await asyncio.wait([self.task])

    async def after(self, seconds):
        """What the file says once so much time has passed and the reporter has looked again."""
        # While it still writes, in a thread, nobody waits for the time to pass.
        async with asyncio.timeout(30):
            await self.clock.until_waiting()
        looks = self.looks
        await self.clock.advance(seconds)
        await self.until(lambda: self.looks > looks)

    async def until(self, condition):
        async with asyncio.timeout(30):
            while not condition():  # noqa: ASYNC110  # a thread that writes sets no event
                await asyncio.sleep(0)

    def written(self):
        path = _file_of(self.directory, os.getpid())
        return json.loads(path.read_text()) if path.exists() else None


async def test_the_status_is_written_at_once(tmp_path):
    async with _Reported(tmp_path) as reported:
        await reported.until(lambda: reported.written() is not None)

        written = reported.written()
        assert (written["pid"], written["mode"], written["hub"]) == (os.getpid(), "proxy", {"servers": ["first"]})


async def test_a_change_is_written_within_a_second(tmp_path):
    async with _Reported(tmp_path) as reported:
        await reported.until(lambda: reported.written() is not None)
        reported.told = {"servers": ["second"]}

        await reported.after(1)

        await reported.until(lambda: reported.written()["hub"] == {"servers": ["second"]})


async def test_what_does_not_change_is_renewed_every_ten_seconds_and_not_before(tmp_path):
    async with _Reported(tmp_path) as reported:
        await reported.until(lambda: reported.written() is not None)
        first = reported.written()["writtenAt"]

        await reported.after(1)
        early = reported.written()["writtenAt"]
        await reported.after(RENEW_EVERY)

        assert early == first
        await reported.until(lambda: reported.written()["writtenAt"] > first)


async def test_what_the_process_holds_is_told_with_its_tasks_threads_and_sessions(tmp_path):
    idle = asyncio.Event()
    waiting = [asyncio.create_task(idle.wait()) for _ in range(5)]
    async with _Reported(tmp_path) as reported:
        await reported.until(lambda: reported.written() is not None)
        before = reported.written()["held"]
        idle.set()
        await asyncio.gather(*waiting)
        reported.sessions = 2
        reported.told = {"servers": ["second"]}
        await reported.after(1)
        await reported.until(lambda: reported.written()["hub"] == {"servers": ["second"]})
        after = reported.written()["held"]

    assert (before["sessions"], after["sessions"]) == (3, 2)
    assert before["tasks"] - after["tasks"] == 5
    assert after["threads"] == threading.active_count()


async def test_what_it_holds_is_no_reason_to_write(tmp_path):
    async with _Reported(tmp_path) as reported:
        await reported.until(lambda: reported.written() is not None)
        reported.sessions = 2

        await reported.after(1)

        assert reported.written()["held"]["sessions"] == 3


def test_a_process_of_an_earlier_version_does_not_tell_what_it_holds(tmp_path):
    LiveStatusFile(tmp_path).write(_status(held=Held(tasks=1, threads=1, sessions=1)))
    file = _file_of(tmp_path, os.getpid())
    written = json.loads(file.read_text())
    del written["held"]
    file.write_text(json.dumps(written))

    assert [each.held for each in read_live(tmp_path, now=20.0)] == [None]


async def test_at_the_end_the_file_is_gone(tmp_path):
    async with _Reported(tmp_path) as reported:
        await reported.until(lambda: reported.written() is not None)

    assert list(tmp_path.iterdir()) == []


async def test_that_it_cannot_be_written_is_logged_once_in_a_row_and_stops_nothing(tmp_path, caplog):
    in_the_way = tmp_path / "state"
    in_the_way.touch()
    with caplog.at_level(logging.WARNING, logger="toolcrib.mcp"):
        async with _Reported(in_the_way) as reported:
            await reported.until(lambda: len(caplog.records) == 1)
            reported.told = {"servers": ["second"]}
            await reported.after(1)
            await reported.after(1)
            in_the_way.unlink()
            reported.told = {"servers": ["third"]}
            await reported.after(1)
            await reported.until(lambda: reported.written() is not None)

    assert [record.getMessage() for record in caplog.records] == ["the live health cannot be written: File exists"]


def test_a_status_of_now_is_read_with_the_time_of_now(tmp_path):
    LiveStatusFile(tmp_path).write(_status(written_at=time.time()))

    assert len(read_live(tmp_path, now=time.time())) == 1
