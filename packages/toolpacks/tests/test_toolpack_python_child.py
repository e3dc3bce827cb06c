"""The far side of a Python worker, run in this process: what it answers to what it is asked."""

from __future__ import annotations

import json
import os
import signal
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from toolcrib_runtime.executors import worker_process
from toolcrib_toolpacks.children import python_child

pytestmark = pytest.mark.req("TP-20", "TP-29")

CODE = """
import subprocess
CONSTANT = 1
def whole(payload): return payload
def keywords(a, b=2): return [a, b]
def rest(**values): return values
def default(payload=None): return [payload]
def named(*, a): return a
async def later(a): return a
def fails(a): raise LookupError(a)
class Odd(Exception):
    def __str__(self): raise RuntimeError
def odd(a): raise Odd
def unusable(a): return {1, 2}
def deep(a):
    value = []
    for _ in range(100_000): value = [value]
    return value
def long(a): return "x" * 1000
def leaves(a): subprocess.Popen(["sleep", "60"]); return 1
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "child_code.py").write_text(CODE)
    (tmp_path / "child_broken.py").write_text("raise SystemExit(4)")
    monkeypatch.setattr(sys, "path", list(sys.path))
    handler = signal.getsignal(signal.SIGTERM)
    yield tmp_path
    signal.signal(signal.SIGTERM, handler)
    sys.modules.pop("child_code", None)


def setup_for(folder: Path, place: str, *properties: str) -> dict[str, Any]:
    module, _, name = place.partition(":")
    return {
        "module": module,
        "callable": name,
        "folder": str(folder),
        "properties": list(properties),
        "maxOutputBytes": 100,
        "helper": worker_process.__file__,
    }


def answers(
    setup: dict[str, Any], *requests: dict[str, Any], monkeypatch: pytest.MonkeyPatch, children: bool = False
) -> list[Any]:
    helper = python_child._by_path

    def without_orphans(path: str) -> Any:
        module = helper(path)
        module.adopt_orphans = lambda: None
        module.has_children = lambda: children
        return module

    monkeypatch.setattr(python_child, "_by_path", without_orphans)
    request_read, request_write = os.pipe()
    answer_read, answer_write = os.pipe()
    for each in requests:
        python_child._write(request_write, json.dumps({"arguments": each}).encode())
    os.close(request_write)
    streams = worker_process.Streams(request_read, answer_write, os.open(os.devnull, os.O_WRONLY))
    python_child.serve(setup, streams)
    monkeypatch.setattr(python_child, "_by_path", helper)
    for handle in streams:
        os.close(handle)
    with os.fdopen(answer_read, "rb") as stream:
        ready, *found = iter(lambda: python_child._receive(stream), None)
    assert ready == {"ready": True}
    return found


@pytest.mark.parametrize(
    ("name", "properties", "expected"),
    [
        ("whole", (), {"a": 1}),
        ("keywords", ("a", "b"), [1, 2]),
        ("keywords", ("a",), [1, 2]),
        ("rest", (), {"a": 1}),
        ("default", (), [{"a": 1}]),
        ("named", (), 1),
        ("later", ("a",), 1),
        ("later", (), {"a": 1}),
    ],
)
def test_a_function_is_called_as_its_signature_asks(
    name: str, properties: tuple[str, ...], expected: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = answers(setup_for(folder, f"child_code:{name}", *properties), {"a": 1}, monkeypatch=monkeypatch)

    assert found == [{"value": expected}]


def test_what_goes_wrong_is_an_answer_as_well(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(place: str) -> Any:
        (found,) = answers(setup_for(folder, place, "a"), {"a": "x"}, monkeypatch=monkeypatch)
        return found

    raised = asked("child_code:fails")["raised"]
    assert raised["message"] == "x"
    assert raised["classes"][0] == ["builtins", "LookupError"]
    assert asked("child_code:odd")["raised"]["message"] == ""
    assert asked("child_code:unusable")["unusable"].startswith("TypeError")
    assert "RecursionError" in asked("child_code:deep")["unusable"]
    assert asked("child_code:long") == {"tooLarge": 1002}
    assert "has no `missing`" in asked("child_code:missing")["load"]
    assert "is not callable" in asked("child_code:CONSTANT")["load"]
    assert "SystemExit" in asked("child_broken:run")["load"]
    # Some builtins have no signature that could be read.
    assert asked("builtins:bool") == {"value": True}


def test_processes_that_are_left_are_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = answers(setup_for(folder, "child_code:whole"), {}, {"a": 1}, monkeypatch=monkeypatch, children=True)

    assert found == [{"value": {}, "left": True}, {"value": {"a": 1}, "left": True}]


def test_a_script_runs_as_if_it_were_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "script.py").write_text("import sys, child_code\nprint(__name__, sys.argv[1:], child_code.CONSTANT)\n")
    monkeypatch.setattr(sys, "argv", ["python_child.py"])

    python_child.main(["python_child.py", "run", str(folder / "script.py"), "one"])

    assert capsys.readouterr().out == "__main__ ['one'] 1\n"


def test_main_serves_by_its_setup(monkeypatch: pytest.MonkeyPatch) -> None:
    served: list[Any] = []
    record: Callable[[Any], None] = served.append
    monkeypatch.setattr(python_child, "serve", record)

    python_child.main(["python_child.py", "serve", '{"module": "x"}'])

    assert served == [{"module": "x"}]


def test_a_stream_that_ends_has_no_more_requests() -> None:
    import io

    assert python_child._receive(io.BytesIO(struct.pack(">I", 2)[:3])) is None
    assert python_child._receive(io.BytesIO(struct.pack(">I", 2) + b"{}")) == {}


def test_a_helper_that_is_not_there_is_an_import_error() -> None:
    with pytest.raises((ImportError, FileNotFoundError)):
        python_child._by_path("/no/such/helper")
