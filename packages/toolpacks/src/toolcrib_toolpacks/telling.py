"""What the process of a pack did wrong, told in the name of the pack and with what it said itself."""

from __future__ import annotations

import re
from typing import Final

from toolcrib_core import ToolError, ToolErrorCategory
from toolcrib_runtime.errors import DeadlineExceeded, ProcessExited, ProcessKilled, ProcessNotStarted
from toolcrib_runtime.guards.secrets.scrubbing import Scrubber
from toolcrib_toolpacks.model import Toolpack

_MAX_REASON: Final = 300
_ITS_OWN_WORDS: Final = "Correct the arguments, if it is they that it complains of."
_NOT_THERE: Final = "Install it; or grant the folder that holds it, such as a virtual environment, with `--grant-path`."
_NOT_READABLE: Final = (
    "If it needs a file outside of the pack and of the system, as an interpreter or data in a home folder, an operator "
    "grants it with `--grant-path`."
)
# What a program says that may not read a file; Python that cannot read its library misses `encodings` first.
_DENIED: Final = re.compile(r"[Pp]ermission denied|EACCES|EPERM|named 'encodings'")
_SPOKEN: Final = ("stderr", "stderrHead", "head")
_EXCEPTION: Final = re.compile(r"(?:[A-Za-z_][\w.]*)?(?:Error|Exception|Exit|Interrupt)\b.*")


def told(error: ToolError, pack: Toolpack, scrubber: Scrubber) -> ToolError:
    """The error of a process as the error of its pack: named after it, with its reason, and without its secrets."""
    spoken: dict[str, object] = {
        key: scrubber.scrub_text(str(error.details[key])) for key in _SPOKEN if key in error.details
    }
    end = str(spoken.get("stderr", ""))
    reason = scrubber.scrub_line(reason_in(end, str(spoken.get("stderrHead", end))), max_length=_MAX_REASON)
    return type(error)(
        _message(error, pack, f": {reason}" if reason else "."),
        code=error.code,
        category=error.category,
        hint=_hint(error, reason, end),
        retryable=error.retryable,
        details={**error.details, **spoken},
    )


def _hint(error: ToolError, reason: str, stderr: str) -> str | None:
    if isinstance(error, ProcessNotStarted) and error.category is ToolErrorCategory.NOT_FOUND:
        return _NOT_THERE
    if _DENIED.search(stderr):
        return _NOT_READABLE
    return _ITS_OWN_WORDS if isinstance(error, ProcessExited) and reason else error.hint


def reason_in(end: str, head: str) -> str:
    """The line of some error output that says most: the last that names an exception, else the first one."""
    named = [line for line in _lines(end) if _EXCEPTION.fullmatch(line)]
    return named[-1] if named else next(iter(_lines(head)), "")


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _message(error: ToolError, pack: Toolpack, reason: str) -> str:
    match error:
        case DeadlineExceeded() if error.details.get("sent") is not False:
            return f"`{pack.tool}` did not end within {pack.timeout_ms:,} ms, and was stopped."
        case ProcessExited():
            return f"`{pack.tool}` failed with exit status {error.details['status']}{reason}"
        case ProcessKilled():
            return f"`{pack.tool}` was ended by the signal {error.details['signal']}{reason}"
    return error.message
