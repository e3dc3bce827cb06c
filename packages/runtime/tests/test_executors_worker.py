"""The worker's side of the pipe, run in this process so that every line can be looked at."""

from __future__ import annotations

import ctypes
import io
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO

import process_tools as tools
import pytest

from toolcrib_runtime import LoadFailed, RunnableTool, create_tool
from toolcrib_runtime.executors import forks, process_frames, worker, worker_process
from toolcrib_runtime.executors.process_failures import rebuild
from toolcrib_runtime.executors.process_frames import frame_of, read_frame
from toolcrib_runtime.executors.process_target import target_of
from toolcrib_runtime.executors.worker_process import Streams
from toolcrib_runtime.executors.worker_tools import SCRIPT_NAME, ToolLoader
from toolcrib_runtime.executors.worker_work import WorkerWork

pytestmark = pytest.mark.req("RT-19")

_CONTEXT: dict[str, Any] = {
    "run_id": "r",
    "request_id": None,
    "user": {"id": "ada", "name": None, "roles": ["a"], "attributes": {}},
    "tenant": None,
    "remaining": None,
    "tool": "t",
    "call_id": "c",
    "idempotency_key": None,
    "attempt": 1,
    "values": {},
}


class Parent:
    """The other ends of the pipes."""

    def __init__(self, requests: int, answers: BinaryIO) -> None:
        self._requests = requests
        self._answers = answers

    def ask(self, tool: RunnableTool, **arguments: object) -> list[dict[str, Any]]:
        target = vars(target_of(tool))
        os.write(self._requests, frame_of({"target": target, "arguments": arguments, "context": _CONTEXT}))
        frames = [self.read()]
        while "event" in frames[-1]:
            frames.append(self.read())
        return frames

    def read(self) -> dict[str, Any]:
        frame = read_frame(self._answers)
        assert frame is not None
        return frame


@contextmanager
def serving() -> Iterator[Parent]:
    requests, answers = os.pipe(), os.pipe()

    def serve() -> None:
        with os.fdopen(requests[0], "rb") as stream:
            worker.serve(stream, answers[1])
        os.close(answers[1])

    thread = threading.Thread(target=serve)
    thread.start()
    with os.fdopen(answers[0], "rb") as stream:
        parent = Parent(requests[1], stream)
        assert parent.read() == {"ready": True}
        yield parent
        os.close(requests[1])
        thread.join(timeout=10)
        assert not thread.is_alive()


@pytest.mark.parametrize(
    ("tool", "arguments", "answer"),
    [
        (tools.double, {"x": 2}, {"value": 4}),
        (tools.add_slowly, {"x": 2, "y": 3}, {"value": 5}),
        (tools.returns_a_coroutine, {"x": 2}, {"value": 3}),
        (create_tool(tools.next_day), {"day": "2024-12-31"}, {"value": "2025-01-01"}),
        (create_tool(tools.bare), {"x": 2}, {"value": 3}),
        (create_tool(tools.bare_with_context), {"x": 2}, {"value": "2 in r"}),
        (tools.picture, {}, {"value": {"kind": "picture"}, "content": [{"type": "text", "text": "a cat"}]}),
    ],
)
def test_a_request_is_answered_with_the_value_of_the_tool(
    tool: RunnableTool, arguments: dict[str, object], answer: dict[str, object]
) -> None:
    with serving() as parent:
        assert parent.ask(tool, **arguments) == [answer]


def test_events_come_before_the_answer() -> None:
    with serving() as parent:
        frames = parent.ask(tools.tell_all)

    assert [each.get("event") for each in frames] == ["progress", "log", "chunk", "custom", None]
    assert frames[-1]["value"]["remaining"] is None


@pytest.mark.parametrize(
    ("tool", "arguments", "kind"),
    [
        (tools.fails, {"kind": "exit"}, SystemExit),
        (tools.exits_on_a_loop, {}, SystemExit),
        (tools.calls_another, {}, Exception),
    ],
)
def test_whatever_a_tool_raises_is_answered(
    tool: RunnableTool, arguments: dict[str, object], kind: type[BaseException]
) -> None:
    with serving() as parent:
        (answer,) = parent.ask(tool, **arguments)

    assert isinstance(rebuild(answer["raised"]), kind)


def test_a_value_that_no_frame_holds_is_answered_with_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving() as parent:
        monkeypatch.setattr(process_frames, "MAX_FRAME", 2_000)
        (answer,) = parent.ask(tools.gives_much, size=3_000)

    assert rebuild(answer["raised"]).code == "toolbox.output-too-large"  # type: ignore[attr-defined]


def test_an_answer_says_that_processes_were_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "has_children", lambda: True)

    with serving() as parent:
        assert parent.ask(tools.double, x=1) == [{"value": 2, "left": True}]


def test_a_forked_copy_ends_where_the_code_of_the_tool_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[bool] = []
    monkeypatch.setattr(forks, "end_copy", lambda: ended.append(True))

    with serving() as parent:
        monkeypatch.setattr(worker.ToolLoader, "load", _load_in_a_copy)
        parent.ask(tools.double, x=1)

    assert ended == [True]


def _load_in_a_copy(_loader: ToolLoader, _target: dict[str, Any]) -> RunnableTool:
    forks.generation += 1
    return tools.double


def test_a_parent_that_is_gone_ends_the_worker() -> None:
    requests, answers = os.pipe(), os.pipe()
    os.close(answers[0])

    with os.fdopen(requests[0], "rb") as stream:
        worker.serve(stream, answers[1])

    os.close(requests[1])
    os.close(answers[1])


def test_a_module_that_cannot_be_imported_is_told_and_tried_again_later() -> None:
    target = {"module": "no_such_module", "name": "f", "script": None, "context_parameters": None}

    for _ in range(2):
        with pytest.raises(LoadFailed, match="ModuleNotFoundError: No module named 'no_such_module'"):
            ToolLoader().load(target)


def test_a_script_that_fails_leaves_no_half_module(tmp_path) -> None:
    script = tmp_path / "job.py"
    script.write_text("raise SystemExit(4)")
    target = {"module": "__main__", "name": "f", "script": str(script), "context_parameters": None}

    with pytest.raises(LoadFailed) as failed:
        ToolLoader().load(target)

    assert failed.value.details == {"sent": False, "exception": "SystemExit"}
    assert "__main__" in str(failed.value.hint)
    assert SCRIPT_NAME not in sys.modules


def test_main_serves_on_its_standard_streams_and_keeps_them_from_the_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(ctypes, "CDLL", lambda _: _Libc(asked))
    before = signal.getsignal(signal.SIGTERM)
    stdin, stdout, stderr = os.pipe(), os.pipe(), os.pipe()
    os.write(stdin[1], frame_of({"target": vars(target_of(tools.double)), "arguments": {"x": 4}}))
    os.close(stdin[1])

    try:
        worker.main(Streams(stdin=stdin[0], stdout=stdout[1], stderr=stderr[1]))
        with pytest.raises(SystemExit):
            signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)

    os.write(stdout[1], b"printed")
    os.close(stdout[1])
    with os.fdopen(stdout[0], "rb") as answers:
        assert [read_frame(answers), read_frame(answers)] == [{"ready": True}, {"value": 8}]
    assert os.read(stdin[0], 10) == b""
    assert os.read(stderr[0], 10) == b"printed"
    assert asked == ([36] if sys.platform.startswith("linux") else [])
    for handle in (stdin[0], *stderr):
        os.close(handle)


class _Libc:
    """Stands in for the C library: a process that has adopted orphans once does so for ever."""

    def __init__(self, asked: list[int]) -> None:
        self._asked = asked

    def prctl(self, option: int, *_: int) -> int:
        self._asked.append(option)
        return 0


def test_a_child_that_lives_is_seen_and_one_that_has_ended_is_collected(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([(7, 0), (0, 0), (8, 0)])

    def waitpid(_pid: int, _options: int) -> tuple[int, int]:
        with suppress(StopIteration):
            return next(answers)
        raise ChildProcessError

    monkeypatch.setattr(os, "waitpid", waitpid)
    monkeypatch.setattr(worker_process, "_PAUSE", 0)

    assert not worker_process.has_children()

    monkeypatch.setattr(os, "waitpid", lambda *_: (0, 0))
    assert worker_process.has_children()


def test_only_linux_is_asked_to_adopt_orphans(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(ctypes, "CDLL", lambda _: _Libc(asked))
    monkeypatch.setattr(sys, "platform", "darwin")

    worker_process.adopt_orphans()

    assert asked == []


def test_a_standard_output_that_is_not_a_file_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    pipes = [os.pipe() for _ in range(3)]

    taken = worker_process.take_over(Streams(*(each[0] for each in pipes)))

    assert len(set(taken)) == 2
    for handle in (*taken, *(end for each in pipes for end in each)):
        os.close(handle)


def test_what_is_told_after_the_end_of_a_call_or_by_a_forked_copy_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = os.pipe()
    server = worker._Server(answers[1])
    ended, copied = (WorkerWork(tools.double, {"arguments": {}}, tell=server.tell) for _ in range(2))

    ended.has_ended = True
    ended.emit("log", message="late")
    copied.emit("blocked_loop", seconds=1)
    monkeypatch.setattr(forks, "generation", forks.generation + 1)
    copied.emit("log", message="from a copy")
    os.close(answers[1])

    with os.fdopen(answers[0], "rb") as stream:
        assert stream.read() == b""
