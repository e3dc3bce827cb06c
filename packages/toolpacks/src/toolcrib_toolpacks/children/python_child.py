"""The Python that runs a pack's code: `run <script> …` once, or `serve <setup>` as a warm worker.

It is run by the launcher of the process guard, which has restricted this process before. It stands alone, on the
standard library only, so that a worker is small and ready at once. Requests and answers are frames: a length in four
bytes, then so many bytes of JSON.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import inspect
import json
import os
import runpy
import struct
import sys
from types import ModuleType, TracebackType
from typing import Any, BinaryIO

_LENGTH = struct.Struct(">I")
_MAX_CLASSES = 32
_MAX_MESSAGE = 20_000
_COPY = 70  # EX_SOFTWARE: whoever waits for the copy sees that it was not meant to live on.


class Load(Exception):
    """The function cannot be had; the message says why."""


def main(argv: list[str]) -> None:
    """Do what the first argument says."""
    if argv[1] == "run":
        run(argv[2:])
    else:
        serve(json.loads(argv[2]))


def run(argv: list[str]) -> None:
    """Run a script as if it had been started by itself."""
    sys.argv[:] = argv
    sys.path.insert(0, os.path.dirname(argv[0]))  # noqa: PTH120  # `pathlib` would be half of the start
    sys.excepthook = _shortened(argv[0])
    runpy.run_path(argv[0], run_name="__main__")


def _shortened(script: str) -> Any:
    """A hook that prints tracebacks from the script on, as if it had been started by itself."""

    def report(kind: type[BaseException], raised: BaseException, trace: TracebackType | None) -> None:
        while trace is not None and trace.tb_frame.f_code.co_filename != script:
            trace = trace.tb_next
        sys.__excepthook__(kind, raised.with_traceback(trace), trace)

    return report


def serve(setup: dict[str, Any], streams: Any = None) -> None:
    """Answer requests one after another, until there are no more."""
    process = _by_path(setup["helper"])
    process.exit_on_sigterm()
    process.adopt_orphans()
    requests, answers = process.take_over(streams or process.STANDARD_STREAMS)
    if setup["folder"]:
        sys.path.insert(0, setup["folder"])
    worker = _Worker(setup)
    with os.fdopen(requests, "rb") as stream:
        _send(answers, {"ready": True})
        while (request := _receive(stream)) is not None:
            answer = worker.answer(request["arguments"])
            left = b', "left": true}' if process.has_children() else b"}"
            _write(answers, answer[:-1] + left)
    os.close(answers)


class _Worker:
    """The function of one pack, loaded when it is first called; a failure to load is not remembered."""

    def __init__(self, setup: dict[str, Any]) -> None:
        self._setup = setup
        self._function: Any = None
        self._whole = False
        self._pid = os.getpid()

    def answer(self, arguments: dict[str, Any]) -> bytes:
        """What came of a call, as JSON."""
        try:
            if self._function is None:
                self._load()
            value = self._function(arguments) if self._whole else self._function(**arguments)
            if inspect.isawaitable(value):
                value = asyncio.run(_awaited(value))
        except Load as failure:
            return _json({"load": str(failure)})
        except BaseException as raised:  # noqa: BLE001  # SystemExit too: it is the tool's, not ours
            return _json({"raised": _described(raised)})
        finally:
            if os.getpid() != self._pid:
                os._exit(_COPY)  # a forked copy of the tool ends where the tool's code ends
        return self._encoded(value)

    def _encoded(self, value: object) -> bytes:
        try:
            encoded = json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
        except (TypeError, ValueError, RecursionError) as failure:
            return _json({"unusable": f"{type(failure).__name__}: {failure}"[:_MAX_MESSAGE]})
        if len(encoded) > self._setup["maxOutputBytes"]:
            return _json({"tooLarge": len(encoded)})
        return b'{"value": ' + encoded + b"}"

    def _load(self) -> None:
        name, callable_name = self._setup["module"], self._setup["callable"]
        try:
            module = importlib.import_module(name)
        except BaseException as failure:  # an import runs somebody else's code, and that may even exit
            raise Load(f"the module `{name}` cannot be imported: {type(failure).__name__}: {failure}") from failure
        function = getattr(module, callable_name, None)
        if function is None:
            raise Load(f"the module `{name}` has no `{callable_name}`")
        if not callable(function):
            raise Load(f"`{name}:{callable_name}` is not callable")
        self._whole = _takes_all(function, set(self._setup["properties"]))
        self._function = function


def _takes_all(function: Any, properties: set[str]) -> bool:
    """Whether it takes the input as one: all it asks for is one parameter, not named as a property of the input."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return True  # a builtin without a signature
    kinds = {each.kind for each in parameters}
    named = [each for each in parameters if each.kind not in {each.VAR_KEYWORD, each.VAR_POSITIONAL}]
    needed = [each for each in named if each.default is each.empty]
    asked = needed if needed or inspect.Parameter.VAR_KEYWORD in kinds else named
    return len(asked) == 1 and asked[0].kind is not asked[0].KEYWORD_ONLY and asked[0].name not in properties


def _described(raised: BaseException) -> dict[str, Any]:
    try:
        message = str(raised)[:_MAX_MESSAGE]
    except Exception:  # noqa: BLE001  # its `__str__` is the tool's own code
        message = ""
    classes = [[each.__module__, each.__qualname__] for each in type(raised).__mro__[:_MAX_CLASSES]]
    return {"classes": classes, "message": message.encode("utf-8", "replace").decode()}


async def _awaited(value: Any) -> object:
    return await value


def _by_path(path: str) -> ModuleType:
    """A module of the runtime without its package, whose import costs more than all of this."""
    spec = importlib.util.spec_from_file_location("toolcrib_worker_process", path)
    if spec is None or spec.loader is None:
        raise ImportError(path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _receive(stream: BinaryIO) -> dict[str, Any] | None:
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    request: dict[str, Any] = json.loads(stream.read(_LENGTH.unpack(head)[0]))
    return request


def _send(handle: int, message: dict[str, Any]) -> None:
    _write(handle, _json(message))


def _json(message: dict[str, Any]) -> bytes:
    # Escaped, so that a lone surrogate in a message cannot stop the answer.
    return json.dumps(message).encode()


def _write(handle: int, body: bytes) -> None:
    rest = memoryview(_LENGTH.pack(len(body)) + body)
    while rest:
        rest = rest[os.write(handle, rest) :]


if __name__ == "__main__":
    main(sys.argv)
