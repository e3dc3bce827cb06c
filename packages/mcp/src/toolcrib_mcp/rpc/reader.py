"""From bytes to messages: whatever else a server writes between them is counted, and none of it stops the reading."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any, Final

from toolcrib_core.wording import count
from toolcrib_mcp.rpc.codec import decode, outline, outline_of, repair
from toolcrib_mcp.rpc.lines import LineSplitter, LongLine
from toolcrib_mcp.rpc.wire import Unreadable, WireNoise
from toolcrib_runtime.guards.secrets import Scrubber

MAX_LINE: Final = 16 * 1024 * 1024
"""How many bytes of one message are taken unless the caller says otherwise."""

MAX_EXCERPT: Final = 200
"""How much of a line is shown, in characters."""

# Beyond what is shown, so that no secret is cut in two before it is recognised.
_KEPT_BYTES = 1024


class MessageReader:
    """Takes bytes as they come and holds the messages in them ready, in order.

    A message is a line with a JSON object; a line with a list of them (a batch) counts as several. A line that only
    contains a message after other text is noise: it may be a log that quotes what somebody else wrote.
    """

    def __init__(self, *, max_line: int = MAX_LINE, scrubber: Scrubber | None = None) -> None:
        self.ready: deque[dict[str, Any] | Unreadable] = deque()
        self._max_line = max_line
        self._lines = LineSplitter(max_line)
        self._scrubber = scrubber or Scrubber()
        self._counts = _Counts()

    @property
    def noise(self) -> WireNoise:
        """What has come so far that was no message."""
        counts = self._counts
        return WireNoise(
            lines=counts.lines,
            blank_lines=counts.blank_lines,
            repaired=counts.repaired,
            too_long=counts.too_long,
            dropped_bytes=counts.dropped_bytes + self._lines.skipped_bytes,
            excerpt=self._excerpt(counts.latest),
        )

    def feed(self, chunk: bytes) -> None:
        """Read what this chunk completes."""
        for line in self._lines.feed(chunk):
            self._take(line)

    def end(self) -> None:
        """Read what stands after the last newline: there is no more."""
        for line in self._lines.end():
            self._take(line)

    def _take(self, line: bytes | LongLine) -> None:
        if isinstance(line, LongLine):
            self._take_long(line)
            return
        try:
            self._take_value(decode(line), line)
        except ValueError as failure:
            self._take_damaged(line, failure)

    def _take_value(self, value: object, line: bytes) -> None:
        if isinstance(value, dict):
            self.ready.append(value)
        elif isinstance(value, list) and any(isinstance(each, dict) for each in value):
            self.ready.extend(each for each in value if isinstance(each, dict))
        else:
            self._drop(line)

    def _take_damaged(self, line: bytes, failure: ValueError) -> None:
        repaired = repair(line)
        if not repaired:
            self._counts.blank_lines += 1
            return
        if repaired != line:
            try:
                self._take_value(decode(repaired), line)
            except ValueError as still:
                failure = still
            else:
                self._counts.repaired += 1
                return
        self._give_up_on(repaired, failure)

    def _give_up_on(self, line: bytes, failure: ValueError) -> None:
        meant = outline_of(line)
        if not meant.is_message:
            self._drop(line)
            return
        self._counts.dropped_bytes += len(line)
        self.ready.append(
            Unreadable(reason=_reason(failure), excerpt=self._excerpt(line), id=meant.id, is_answer=meant.is_answer)
        )

    def _take_long(self, line: LongLine) -> None:
        early = outline(line.head)
        if line.tail is None:
            self._counts.too_long += 1
            self._counts.latest = line.head[:_KEPT_BYTES]
            meant = early
        else:
            self._counts.dropped_bytes += line.length
            meant = outline(line.head, line.tail)
            # The line was reported when it became too long; its end is news only if it says whose answer it was.
            if early.id is not None or meant.id is None:
                return
        if meant.is_message:
            self.ready.append(self._too_long(line.head, meant.id, is_answer=meant.is_answer))

    def _too_long(self, head: bytes, answered: object | None, *, is_answer: bool) -> Unreadable:
        return Unreadable(
            reason=f"it is longer than {count(self._max_line, 'byte')}",
            excerpt=self._excerpt(head),
            id=answered,
            is_answer=is_answer,
            limit=self._max_line,
        )

    def _drop(self, line: bytes) -> None:
        self._counts.lines += 1
        self._counts.dropped_bytes += len(line)
        self._counts.latest = line[:_KEPT_BYTES]

    def _excerpt(self, raw: bytes) -> str:
        return self._scrubber.scrub_line(raw[:_KEPT_BYTES].decode("utf-8", "replace"), max_length=MAX_EXCERPT)


@dataclass(slots=True)
class _Counts:
    lines: int = 0
    blank_lines: int = 0
    repaired: int = 0
    too_long: int = 0
    dropped_bytes: int = 0
    latest: bytes = b""


def _reason(failure: ValueError) -> str:
    said = str(failure)
    if "depth" in said or "nested" in said:
        return "it is nested too deeply"
    return f"it is not JSON ({said})"
