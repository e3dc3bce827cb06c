"""What the code of a tool raised, as an error that a model can act on, and whether it leaves the outcome open."""

from __future__ import annotations

import logging
import sys
from dataclasses import dataclass
from typing import Final, NoReturn

from toolcrib_core import ToolDefinition, ToolError, ToolErrorCategory, tool_code_prefix
from toolcrib_core.excerpts import EXCERPT, MAX_EXCERPT
from toolcrib_core.schema.limits import INSTANCE_LIMITS, find_limit_fault
from toolcrib_core.wording import count, quoted
from toolcrib_runtime.errors import CallError, GuardError, StepFailed, ToolFailed, UnknownOutcome
from toolcrib_runtime.guards.secrets.scrubbing import Scrubber, scrub_exception

logger: Final = logging.getLogger("toolcrib.runtime")

# What may have happened although the answer is missing.
_LEAVES_OPEN = frozenset(
    {
        ToolErrorCategory.TIMEOUT,
        ToolErrorCategory.TRANSIENT,
        ToolErrorCategory.UNAVAILABLE,
        ToolErrorCategory.UNKNOWN_OUTCOME,
    }
)
# httpx and httpx2 raise these before anything was sent.
_NEVER_SENT = frozenset({"ConnectError", "ConnectTimeout", "PoolTimeout", "UnsupportedProtocol", "ProxyError"})


@dataclass(frozen=True, slots=True)
class Failure:
    """An error, and whether the tool's effect may have happened all the same."""

    error: ToolError
    leaves_open: bool


def failure_of(raised: BaseException, definition: ToolDefinition, scrubber: Scrubber) -> Failure:
    """What to make of an exception that the tool's code raised.

    A `ToolError` is taken at its word, and its excerpt is scrubbed. Of the errors of our own guards and executors,
    those that mean a lost answer leave the outcome open, unless their details say `"sent": false`. A failed step was
    judged when its own call ended.
    """
    if isinstance(raised, StepFailed):
        return Failure(raised, raised.category is ToolErrorCategory.UNKNOWN_OUTCOME)
    if isinstance(raised, ToolError):
        scrub_excerpt(raised, scrubber)
        ours = isinstance(raised, GuardError | CallError)
        lost = raised.category in _LEAVES_OPEN and raised.details.get("sent") is not False
        return Failure(raised, ours and lost)
    kind = _kind_of(raised)
    error = ToolFailed(
        f"{quoted(definition.id)} failed: {scrub_exception(raised, scrubber)}",
        code=f"{tool_code_prefix(definition.id)}{kind.code}",
        category=kind.category,
        details={"exception": type(raised).__name__, **_group_details(raised)},
    )
    return Failure(error, kind.leaves_open)


def scrub_excerpt(error: ToolError, scrubber: Scrubber) -> None:
    """Take secrets out of what the server or program said itself, before a model reads it; and bound it."""
    if (excerpt := error.details.get(EXCERPT)) is not None:
        # Another dict: the one that is there may belong to the code that raised the error.
        error.details = error.details | {EXCERPT: scrubber.scrub_line(str(excerpt), max_length=MAX_EXCERPT)}


def drop_unusable_details(error: ToolError) -> None:
    """Leave out of the details what is not JSON: they come from the tool, and a result must be JSON."""
    if find_limit_fault(error.details, INSTANCE_LIMITS) is not None:
        usable = (
            key for key, value in error.details.items() if find_limit_fault({key: value}, INSTANCE_LIMITS) is None
        )
        # Another dict: the one that is there may belong to whoever raised the error.
        error.details = {key: error.details[key] for key in usable}


def raise_failure(error: ToolError, raised: BaseException) -> NoReturn:
    """Raise what an exception was made into, with the exception as its cause; a `ToolError` keeps the cause it has.

    Raises:
        ToolError: Always.
    """
    raise error from (raised.__cause__ if error is raised else raised)


def unknown_outcome(error: ToolError, definition: ToolDefinition) -> ToolError:
    """What the caller of a tool that must not be run twice is told when nobody knows whether it did its work."""
    if error.category is ToolErrorCategory.UNKNOWN_OUTCOME:
        return error
    return UnknownOutcome(
        f"Nobody knows whether {quoted(definition.id)} did its work: {error.message}",
        hint="Look whether the effect is there before you call it again.",
        retryable=False,
        details={"cause": error.to_dict(), **({EXCERPT: error.details[EXCERPT]} if EXCERPT in error.details else {})},
    )


def internal_failure(raised: BaseException, definition: ToolDefinition, *, call_id: str, where: str) -> ToolFailed:
    """What a failure of something around the tool becomes: an id to look for in the log, and no traceback."""
    logger.error("call %s of %s: %s failed", call_id, definition.id, where, exc_info=raised)
    return ToolFailed(
        f"{where[:1].upper()}{where[1:]} failed while {quoted(definition.id)} was called.",
        code="toolbox.internal-error",
        hint=f"This is not a fault of the arguments; the log says more about call `{call_id}`.",
        details={"exception": type(raised).__name__},
    )


@dataclass(frozen=True, slots=True)
class _Kind:
    code: str
    category: ToolErrorCategory
    leaves_open: bool = False


_FAILED = _Kind("failed", ToolErrorCategory.INTERNAL)
_UNREACHABLE = _Kind("unreachable", ToolErrorCategory.TRANSIENT)
_CONNECTION_LOST = _Kind("connection-lost", ToolErrorCategory.TRANSIENT, leaves_open=True)
_TIMED_OUT = _Kind("timed-out", ToolErrorCategory.TIMEOUT, leaves_open=True)
_BY_CLASS: tuple[tuple[type[BaseException], _Kind], ...] = (
    (ConnectionRefusedError, _UNREACHABLE),
    (TimeoutError, _TIMED_OUT),
    (ConnectionError, _CONNECTION_LOST),
    (EOFError, _CONNECTION_LOST),
    (PermissionError, _Kind("not-permitted", ToolErrorCategory.PERMISSION)),
    (FileNotFoundError, _Kind("not-found", ToolErrorCategory.NOT_FOUND)),
    (SystemExit, _Kind("tried-to-exit", ToolErrorCategory.INTERNAL)),
    (KeyboardInterrupt, _Kind("tried-to-exit", ToolErrorCategory.INTERNAL)),
)


def _kind_of(raised: BaseException) -> _Kind:
    for kind, meaning in _BY_CLASS:
        if isinstance(raised, kind):
            return meaning
    if type(raised).__name__ == "gaierror":
        return _UNREACHABLE
    if isinstance(raised, _transport_errors()):
        if type(raised).__name__ in _NEVER_SENT:
            return _UNREACHABLE
        return _TIMED_OUT if "Timeout" in type(raised).__name__ else _CONNECTION_LOST
    return _FAILED


def _transport_errors() -> tuple[type[BaseException], ...]:
    # Not imported: a tool that never used them should not pay for them.
    clients = (sys.modules.get(name) for name in ("httpx", "httpx2"))
    return tuple(client.TransportError for client in clients if client is not None)


def _group_details(raised: BaseException) -> dict[str, object]:
    if not isinstance(raised, BaseExceptionGroup):
        return {}
    kinds = [type(each).__name__ for each in raised.exceptions[:10]]
    return {"exceptions": kinds, "number": count(len(raised.exceptions), "exception")}
