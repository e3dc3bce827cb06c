"""What travels between a worker process and its parent: frames, requests, exceptions."""

from __future__ import annotations

import asyncio
import io
import os
import struct
from collections.abc import Iterator
from typing import Any

import process_tools as tools
import pytest

from toolcrib_core import ArgumentsTooLarge, ToolError
from toolcrib_runtime import FetchFailed
from toolcrib_runtime.executors import process_frames
from toolcrib_runtime.executors.process_failures import RemoteError, describe, rebuild
from toolcrib_runtime.executors.process_frames import (
    BrokenFrames,
    FrameReader,
    FrameTooLarge,
    frame_of,
    read_frame,
    write_frame,
)
from toolcrib_runtime.executors.process_request import request_of
from toolcrib_runtime.executors.process_target import target_of

pytestmark = pytest.mark.req("RT-19")


class Pieces:
    """A pipe that gives its bytes in pieces of one size."""

    def __init__(self, data: bytes, size: int) -> None:
        self._pieces: Iterator[bytes] = (data[start : start + size] for start in range(0, len(data), size))

    async def read(self, _max_bytes: int, /) -> bytes:
        return next(self._pieces, b"")


@pytest.mark.parametrize("size", [1, 3, 1000])
async def test_frames_are_read_however_the_pipe_cuts_them(size: int) -> None:
    reader = FrameReader(Pieces(frame_of({"a": 1}) + frame_of({"b": "é"}), size))

    messages = [await reader.next(), await reader.next(), await reader.next()]

    assert messages == [{"a": 1}, {"b": "é"}, None]


async def test_a_stream_that_ends_within_a_frame_has_ended() -> None:
    assert await FrameReader(Pieces(frame_of({"a": 1})[:-1], 4)).next() is None
    assert read_frame(io.BytesIO(frame_of({"a": 1})[:-1])) is None
    assert read_frame(io.BytesIO(b"\0\0")) is None


@pytest.mark.parametrize("size", [1, 1000])
async def test_a_frame_over_what_the_reader_takes_is_not_read(size: int) -> None:
    pipe = Pieces(frame_of({"a": "x" * 500}), size)

    with pytest.raises(FrameTooLarge):
        await FrameReader(pipe).next(max_bytes=100)


@pytest.mark.parametrize("data", [b"\xff\xff\xff\xff", struct.pack(">I", 1) + b"{", struct.pack(">I", 1) + b"1"])
async def test_anything_else_in_the_stream_is_seen(data: bytes) -> None:
    with pytest.raises(BrokenFrames):
        await FrameReader(Pieces(data, 100)).next()
    with pytest.raises(BrokenFrames):
        read_frame(io.BytesIO(data))


async def test_a_reader_that_is_cancelled_loses_nothing() -> None:
    come: asyncio.Queue[bytes] = asyncio.Queue()

    class Pipe:
        async def read(self, _max_bytes: int, /) -> bytes:
            return await come.get()

    frame, reader = frame_of({"a": 1}), FrameReader(Pipe())
    come.put_nowait(frame[:5])
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await reader.next()
    come.put_nowait(frame[5:])

    assert await reader.next() == {"a": 1}


def test_a_message_over_the_cap_is_no_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_frames, "MAX_FRAME", 10)

    with pytest.raises(FrameTooLarge):
        frame_of({"text": "x" * 10})


def test_a_frame_is_written_whole_although_the_pipe_takes_it_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[bytes] = []
    monkeypatch.setattr(os, "write", lambda _, data: written.append(bytes(data[:3])) or min(3, len(data)))

    write_frame(5, b"12345678")

    assert b"".join(written) == b"12345678"


def test_arguments_that_fit_no_frame_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_frames, "MAX_FRAME", 100)

    class Work:
        tool = tools.double
        arguments = {"x": "secret" * 100}  # noqa: RUF012  # a stand-in

    with pytest.raises(ArgumentsTooLarge) as refused:
        request_of(Work(), target_of(tools.double))  # type: ignore[arg-type]

    assert "secret" not in refused.value.message


@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        (ValueError("v"), ValueError),
        (tools.HouseError("h"), tools.HouseError),
        (SystemExit(2), SystemExit),
        (KeyboardInterrupt(), KeyboardInterrupt),
        (FileNotFoundError(2, "No such file", "a"), FileNotFoundError),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), UnicodeDecodeError),
        (TimeoutError(), TimeoutError),
    ],
)
def test_an_exception_arrives_with_its_name_its_bases_and_its_message(
    raised: BaseException, kind: type[BaseException]
) -> None:
    rebuilt = rebuild(describe(raised))

    assert isinstance(rebuilt, RemoteError)
    assert isinstance(rebuilt, kind)
    assert type(rebuilt).__name__ == kind.__name__
    assert str(rebuilt) == str(raised)


def test_an_exception_of_a_module_that_is_not_loaded_here_arrives_as_its_nearest_base() -> None:
    described = describe(tools.HouseError("h"))
    described["classes"][0] = ["no_such_module", "Outer.HouseError"]

    rebuilt = rebuild(described)

    assert isinstance(rebuilt, ConnectionResetError)
    assert not isinstance(rebuilt, tools.HouseError)
    assert type(rebuilt).__name__ == "HouseError"


def test_a_class_that_wants_no_subclasses_is_passed_over() -> None:
    rebuilt = rebuild(describe(tools.Childless("c")))

    assert isinstance(rebuilt, LookupError)
    assert not isinstance(rebuilt, tools.Childless)


def test_an_exception_of_which_nothing_is_known_still_says_what_it_said() -> None:
    rebuilt = rebuild({"classes": [["no_such_module", "Odd"]], "message": "odd"})

    assert type(rebuilt) is RemoteError
    assert str(rebuilt) == "odd"


def test_a_tool_error_keeps_its_class_whatever_its_constructor_wants() -> None:
    raised = tools.Overdrawn(7)

    rebuilt = rebuild(describe(raised))

    assert type(rebuilt) is tools.Overdrawn
    assert rebuilt == raised


def test_a_tool_error_of_an_unknown_class_is_a_tool_error() -> None:
    described: dict[str, Any] = describe(FetchFailed("f"))
    described["classes"] = [["no_such_module", "FetchFailed"]]

    assert type(rebuild(described)) is ToolError


def test_details_that_are_not_json_travel_as_what_they_are_or_not_at_all() -> None:
    odd, endless = FetchFailed("f", details={"thing": object(), "host": "h"}), FetchFailed("f")
    endless.details["self"] = endless.details

    first, second = rebuild(describe(odd)), rebuild(describe(endless))

    assert isinstance(first, FetchFailed)
    assert first.details == {"thing": "a value of type `object`", "host": "h"}
    assert isinstance(second, FetchFailed)
    assert second.details == {}


def test_a_group_arrives_by_its_name_and_without_its_members() -> None:
    rebuilt = rebuild(describe(ExceptionGroup("several", [ValueError("one")])))

    assert type(rebuilt).__name__ == "ExceptionGroup"
    assert str(rebuilt) == "several (1 sub-exception)"
