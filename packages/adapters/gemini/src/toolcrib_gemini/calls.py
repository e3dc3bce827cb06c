"""The calls in what the Gemini API sends: `function_call` parts of a response, or of the chunks of a stream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from toolcrib_core.errors import ToolError, UnreadableCall
from toolcrib_core.providers.fields import fields_of, items_in, text_in
from toolcrib_core.providers.names import ToolNames
from toolcrib_core.providers.parsed import BrokenCall, ParsedCall, ParsedCalls
from toolcrib_core.providers.reading import read_call
from toolcrib_gemini.definitions import GeminiTools
from toolcrib_gemini.partial_args import PartialArguments

_CUT_OFF: Final = "MAX_TOKENS"
_UNREADABLE: Final = frozenset({"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"})


def parse_gemini_calls(response: object, tools: GeminiTools) -> ParsedCalls:
    """The calls of a response, in its order: those of its first candidate.

    `response` is the SDK's `GenerateContentResponse`, the same as a dict in either spelling, or a list of parts. A call
    that cannot run is kept as a `BrokenCall`, which can be sent back to the model like any result. Calls without an id
    get one here, by which their results are told apart.

    Raises:
        UnreadableCall: The API says that the model wrote a call it could not read: there is no call that a result
            could answer, so the text of the error goes back as a message.
    """
    stream = GeminiStream(tools)
    stream.feed({"parts": response} if isinstance(response, list | tuple) else response)
    return stream.calls()


class GeminiStream:
    """Collects the calls of a streamed response: feed it every chunk, then ask for the calls.

    Chunks hold whole calls, or, where `stream_function_call_arguments` is on, their arguments value by value.
    """

    __slots__ = ("_calls", "_ends_in_call", "_names", "_unreadable")

    def __init__(self, tools: GeminiTools) -> None:
        self._names = tools.names
        self._calls: list[_Call] = []
        self._ends_in_call = False
        self._unreadable = ""

    def feed(self, chunk: object) -> None:
        """Take one chunk; what is not about calls is passed over."""
        given = fields_of(chunk)
        candidate = next(iter(items_in(given, "candidates")), {})
        reason = _finish_reason(candidate)
        if reason in _UNREADABLE:
            self._unreadable = reason
        for part in items_in(given if "parts" in given else fields_of(candidate.get("content")), "parts"):
            call = _either(part, "function_call", "functionCall")
            self._ends_in_call = call is not None
            if call is not None:
                self._add(fields_of(call))
        if reason == _CUT_OFF and self._ends_in_call:
            self._calls[-1].going_on = True

    def calls(self) -> ParsedCalls:
        """The calls so far; one that was to go on is a `BrokenCall`.

        Raises:
            UnreadableCall: As `parse_gemini_calls`.
        """
        if self._unreadable and not self._calls:
            raise UnreadableCall(
                f"The model wrote a call that the API could not read (`{self._unreadable}`); nothing was run.",
                hint="Send the call again: name one of the declared functions, with one JSON object as arguments.",
            )
        return ParsedCalls(tuple(call.parsed(self._names, at) for at, call in enumerate(self._calls)))

    def _add(self, fields: Mapping[str, Any]) -> None:
        current = self._calls[-1] if self._calls else None
        if current is None or not current.going_on:
            current = _Call()
            self._calls.append(current)
        current.add(fields)


class _Call:
    """What has arrived of one call."""

    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.arguments: object = None
        self.going_on = False
        self._pieces = PartialArguments()
        self._failure: ToolError | None = None

    def add(self, fields: Mapping[str, Any]) -> None:
        self.id = text_in(fields, "id") or self.id
        self.name = text_in(fields, "name") or self.name
        if fields.get("args") is not None:
            self.arguments = fields["args"]
        for piece in [*items_in(fields, "partial_args"), *items_in(fields, "partialArgs")]:
            try:
                self._pieces.add(piece)
            except UnreadableCall as failure:
                self._failure = failure
        self.going_on = bool(_either(fields, "will_continue", "willContinue"))

    def parsed(self, names: ToolNames, at: int) -> ParsedCall:
        # The API gives ids only of late; without one, results are matched by their order.
        call_id = self.id or f"call-{at + 1}"
        arguments = self._pieces.arguments or self.arguments
        echo = {"id": self.id} if self.id else {}
        read = read_call(
            names,
            call_id=call_id,
            name=self.name,
            arguments=arguments,
            complete=not self.going_on,
            may_be_absent=True,  # the API leaves out the arguments of a call that has none
            echo=echo,
        )
        if self._failure is None or isinstance(read.outcome, BrokenCall):
            return read
        return read._replace(outcome=BrokenCall(call_id, read.outcome.tool, self._failure))


def _finish_reason(candidate: Mapping[str, Any]) -> str:
    reason = _either(candidate, "finish_reason", "finishReason")
    return str(getattr(reason, "value", reason))


def _either(fields: Mapping[str, Any], snake: str, camel: str) -> Any:
    return fields.get(snake, fields.get(camel))
