"""What a tool raised, on its way from a worker process to its caller.

Nothing is unpickled: an exception travels as the names of its classes and its message. The nearest of these classes
that is loaded on this side is taken, so that a `ConnectionResetError` is still one when the failure is judged.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Any, cast

import orjson
from pydantic_core import to_jsonable_python

from toolcrib_core import ToolError

_MAX_MESSAGE = 100_000
_MAX_CLASSES = 32
_ERROR_FIELDS = ("code", "category", "hint", "retryable", "details")


class RemoteError(Exception):
    """An exception of a worker process: what is caught here has its name and its bases, and says what it said."""

    def __init__(self, message: str) -> None:
        # The other base may want arguments that did not travel, so its own `__init__` is not called.
        self.message = message

    def __str__(self) -> str:
        return self.message


def describe(raised: BaseException) -> dict[str, Any]:
    """An exception as JSON."""
    classes = [[each.__module__, each.__qualname__] for each in type(raised).__mro__[:_MAX_CLASSES]]
    if isinstance(raised, ToolError):
        return {"classes": classes, "error": _error_json(raised)}
    message = ""
    with suppress(Exception):  # its `__str__` is the tool's own code
        message = str(raised)[:_MAX_MESSAGE]
    return {"classes": classes, "message": message.encode("utf-8", "replace").decode()}


def rebuild(described: dict[str, Any]) -> BaseException:
    """The exception that `describe` was given, as nearly as this process can have it."""
    classes = [(str(module), str(name)) for module, name in described["classes"]]
    if "error" in described:
        return _tool_error(classes, described["error"])
    for base in _loaded(classes):
        kind = _remote_kind(classes[0][1].rpartition(".")[2], cast("Any", base))
        if kind is not None:
            return kind(described["message"])
    return RemoteError(described["message"])


def _error_json(error: ToolError) -> Any:
    data = error.to_dict()
    try:
        return orjson.loads(orjson.dumps(to_jsonable_python(data, fallback=_kind_only)))
    except (TypeError, ValueError, RecursionError):
        # The details are the tool's own, and may hold anything: numbers of any size, themselves.
        return {key: value for key, value in data.items() if key != "details"}


def _tool_error(classes: list[tuple[str, str]], data: dict[str, Any]) -> ToolError:
    plain = ToolError.from_dict(data)
    kind = next((each for each in _loaded(classes) if issubclass(each, ToolError)), ToolError)
    error = kind.__new__(kind, plain.message)
    # Not the class's own `__init__`, which may want something else than these fields.
    ToolError.__init__(error, plain.message, **{name: getattr(plain, name) for name in _ERROR_FIELDS})
    return error


def _loaded(classes: list[tuple[str, str]]) -> Iterator[type[BaseException]]:
    """Those of the classes that are loaded in this process, the nearest first; nothing is imported for it."""
    for module, name in classes:
        found: Any = sys.modules.get(module)
        for part in name.split("."):
            found = getattr(found, part, None)
        if isinstance(found, type) and issubclass(found, BaseException):
            yield found


@lru_cache(maxsize=256)
def _remote_kind(name: str, base: type[BaseException]) -> type[RemoteError] | None:
    if issubclass(base, BaseExceptionGroup):
        return None  # a group cannot be without its members
    try:
        kind = type(name, (RemoteError, base), {"__module__": base.__module__})
        kind("")
    except Exception:  # noqa: BLE001  # the class is somebody else's, and may want anything of its subclasses
        return None
    return cast("type[RemoteError]", kind)


def _kind_only(value: object) -> str:
    return f"a value of type `{type(value).__name__}`"
