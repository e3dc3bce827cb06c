"""What is written down about a call: who, which tool, what was decided, how it ended. Never what was in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import orjson

from toolcrib_core import NotJson
from toolcrib_mcp.audit.keys import AuditKey
from toolcrib_mcp.safeguards.call import LOCAL
from toolcrib_runtime.guards.secrets import Scrubber

if TYPE_CHECKING:
    from toolcrib_mcp.safeguards.call import GuardedCall

AuditKind: TypeAlias = Literal["call", "refused", "approval", "pins", "policy"]
"""What a record is about; a journal itself writes `start`, `stop` and `lost`."""

MAX_NAME: Final = 200
"""How much of a name that somebody else chose is written, in characters."""

MAX_ARGUMENTS: Final = 16_384
"""Arguments of more bytes are not written, even where they are asked for."""

_MAX_NUMBER: Final = 2**53 - 1
_SHORT: Final = 16
_TOO_LARGE: Final = "too-large"


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditEvent:
    """One thing that happened. What is not known stays out of the record."""

    kind: AuditKind
    principal: str = LOCAL
    """Who called, or decided."""
    client: str | None = None
    """Its program, as `name/version`."""
    conversation: str | None = field(default=None, repr=False)
    """The record has a digest of it: with the id itself somebody could take part."""
    server: str | None = None
    tool: str | None = None
    """The id of the tool."""
    definition: str | None = None
    """The digest of what the tool says about itself."""
    arguments_digest: str | None = field(default=None, repr=False)
    """The record has an HMAC of it: short arguments could be guessed from the digest."""
    argument_count: int | None = None
    argument_bytes: int | None = None
    arguments: bytes | None = field(default=None, repr=False)
    """As JSON; written, without secrets, only by a journal that was asked to."""
    decision: str | None = None
    """What the policy said: `allow`, `ask` or `deny`; or what somebody did."""
    rule: str | None = None
    """Which rule said so."""
    approval: str | None = None
    """The id of the approval that the call ran under, or waits for."""
    approved_by: str | None = None
    outcome: str | None = None
    """`ok`, `tool-error`, or the code of an error."""
    duration_ms: float | None = None
    result_bytes: int | None = None
    redactions: int | None = None
    """How many secrets were taken out of the result."""
    artifacts: int | None = None
    """How many handles stand in the result in the place of something large."""
    trace: str | None = None
    """The id of the trace that the call's span belongs to."""


def call_event(
    call: GuardedCall, kind: AuditKind = "call", *, with_arguments: bool = False, **known: Any
) -> AuditEvent:
    """The event for a call; `known` are further fields of `AuditEvent`.

    `with_arguments` is for a journal that writes them; see `AuditJournal.keeps_arguments`.
    """
    caller = call.request.caller
    try:
        arguments, digest = orjson.dumps(call.arguments), call.arguments_digest
    except (TypeError, NotJson):
        arguments, digest = None, None
    return AuditEvent(
        kind=kind,
        principal=call.principal,
        client=_client(caller.info),
        conversation=caller.conversation,
        server=call.tool.upstream,
        tool=call.tool.tool_id,
        definition=call.tool.digest,
        arguments_digest=digest,
        argument_count=len(call.arguments),
        argument_bytes=None if arguments is None else len(arguments),
        arguments=arguments if with_arguments else None,
        **known,
    )


class EventWriter:
    """Makes of events what a record holds: bounded, on one line, and without what must not be known."""

    def __init__(self, key: AuditKey, *, scrubber: Scrubber, arguments: bool) -> None:
        self._key = key
        self._scrubber = scrubber
        self._arguments = arguments
        self._named: dict[str, str] = {}

    def forget(self) -> None:
        """Look at names anew: the scrubber may know more secrets by now."""
        self._named.clear()

    def fields(self, event: AuditEvent) -> dict[str, str | int]:
        """What is written of an event."""
        found: dict[str, str | int | None] = {
            "kind": event.kind,
            "principal": self._name(event.principal),
            "conversation": self._digest("conversation", event.conversation, _SHORT),
            "argumentsHmac": self._digest("arguments", event.arguments_digest),
        }
        for name, text in _TEXTS.items():
            found[name] = self._name(text(event))
        for name, number in _NUMBERS.items():
            found[name] = _whole(number(event))
        if self._arguments and event.arguments is not None:
            found |= self._content(event.arguments)
        return {name: value for name, value in found.items() if value is not None}

    def _name(self, text: str | None) -> str | None:
        if text is None:
            return None
        named = self._named.get(text)
        if named is None:
            named = self._named[text] = printable(self._scrubber.scrub_text(text[: 2 * MAX_NAME]))
        return named

    def _digest(self, kind: str, text: str | None, length: int | None = None) -> str | None:
        return None if text is None else self._key.digest(kind, text)[:length]

    def _content(self, arguments: bytes) -> dict[str, str]:
        if len(arguments) > MAX_ARGUMENTS:
            return {"argumentsLeftOut": _TOO_LARGE}
        scrubbed = orjson.dumps(self._scrubber.scrub(orjson.loads(arguments))).decode()
        # As a text of printable characters, so that a record never holds anything but texts and whole numbers.
        return {"arguments": _escaped(scrubbed)} if len(scrubbed) <= MAX_ARGUMENTS else {"argumentsLeftOut": _TOO_LARGE}


def printable(text: str) -> str:
    """A name from elsewhere: cut, on one line, and with nothing in it that cannot be seen."""
    return _escaped(text if len(text) <= MAX_NAME else f"{text[: MAX_NAME - 1]}…")


def _escaped(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def _client(info: Any) -> str | None:
    name, version = info.get("name"), info.get("version")
    if not isinstance(name, str) or not name:
        return None
    # Cut here already: what waits to be written takes no room that a client has chosen.
    return f"{name[:MAX_NAME]}/{version[:MAX_NAME]}" if isinstance(version, str) and version else name[:MAX_NAME]


def _whole(number: float | None) -> int | None:
    return None if number is None else min(max(round(number), 0), _MAX_NUMBER)


_TEXTS: Final[dict[str, Callable[[AuditEvent], str | None]]] = {
    "client": lambda event: event.client,
    "server": lambda event: event.server,
    "tool": lambda event: event.tool,
    "definition": lambda event: event.definition,
    "decision": lambda event: event.decision,
    "rule": lambda event: event.rule,
    "approval": lambda event: event.approval,
    "approvedBy": lambda event: event.approved_by,
    "outcome": lambda event: event.outcome,
    "trace": lambda event: event.trace,
}
_NUMBERS: Final[dict[str, Callable[[AuditEvent], float | None]]] = {
    "argumentCount": lambda event: event.argument_count,
    "argumentBytes": lambda event: event.argument_bytes,
    "durationMs": lambda event: event.duration_ms,
    "resultBytes": lambda event: event.result_bytes,
    "redactions": lambda event: event.redactions,
    "artifacts": lambda event: event.artifacts,
}
