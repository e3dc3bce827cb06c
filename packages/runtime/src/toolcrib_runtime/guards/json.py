"""Reading JSON that a process or a server sent: strict, bounded, and with an error that shows what came instead."""

from __future__ import annotations

from typing import Final

from toolcrib_core import ArgumentsTooLarge, JsonValue, MalformedJson, parse_json
from toolcrib_core.schema.limits import INSTANCE_LIMITS, JsonLimits
from toolcrib_runtime.errors import MalformedOutput, OutputTooLarge
from toolcrib_runtime.guards.secrets.scrubbing import Scrubber

OUTPUT_LIMITS: Final = INSTANCE_LIMITS
"""What a tool returns is bounded in the same way, so that reading more would be for nothing."""

MAX_EXCERPT: Final = 200
"""How much of what came instead an error shows, in characters."""

_TELLING_STARTS = {
    "\x1b": "an escape sequence for terminals",
    "NaN": "a number that JSON does not have",
    "Infinity": "a number that JSON does not have",
}


def parse_output(
    data: bytes, *, what: str, limits: JsonLimits = OUTPUT_LIMITS, scrubber: Scrubber | None = None
) -> JsonValue:
    """The one JSON value that the data holds; `what` names the data in errors, as in `output of the program`.

    Without a scrubber, the excerpt of an error is still free of text that looks like a secret.

    Raises:
        MalformedOutput: The data is empty, is not UTF-8, or is not exactly one JSON value. `details` has the reason,
            line, column and offset in characters, and an excerpt from the beginning.
        OutputTooLarge: The value is too long, too deep or has too many parts.
    """
    try:
        value: JsonValue = parse_json(data, limits=limits)
    except ArgumentsTooLarge as failure:
        raise _too_large(what, failure) from None
    except MalformedJson as failure:
        raise _malformed(data, what, failure, scrubber or Scrubber()) from None
    return value


def _too_large(what: str, failure: ArgumentsTooLarge) -> OutputTooLarge:
    limits = failure.details
    return OutputTooLarge(
        f"The {what} is larger than what is read.",
        hint=f"At most {limits['maxBytes']:,} bytes, {limits['maxNodes']:,} values and {limits['maxDepth']} levels are "
        "read; ask for less at once.",
        details=limits,
    )


def _malformed(data: bytes, what: str, failure: MalformedJson, scrubber: Scrubber) -> MalformedOutput:
    text = data.decode(errors="replace")
    place = {key: failure.details[key] for key in ("line", "column", "offset")}
    reason = _reason(text, failure)
    return MalformedOutput(
        f"The {what} is not one JSON value: {reason}, at line {place['line']}, column {place['column']}.",
        hint="It must be one JSON value in UTF-8, with nothing before or after it.",
        details={
            "reason": reason,
            "bytes": len(data),
            "excerpt": scrubber.scrub_line(text, max_length=MAX_EXCERPT),
            **place,
        },
    )


def _reason(text: str, failure: MalformedJson) -> str:
    if not text.strip():
        return "it is empty"
    rest = text[int(str(failure.details["offset"])) :]
    told = (reason for start, reason in _TELLING_STARTS.items() if rest.startswith(start))
    return next(told, str(failure.details["reason"]))
