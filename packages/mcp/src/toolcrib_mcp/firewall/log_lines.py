"""The lines of a log: their time, their level, their status, and whether a text is made of them."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from toolcrib_mcp.firewall.lines import PREFIX_BYTES

BEGINNING: Final = 200
"""How much of a line is looked at."""

LEVELS: Final = (
    "FATAL",
    "PANIC",
    "EMERG",
    "ALERT",
    "CRITICAL",
    "SEVERE",
    "ERROR",
    "WARN",
    "NOTICE",
    "INFO",
    "DEBUG",
    "TRACE",
)
"""The levels that are told apart, the worst first."""

_SAME = {"WARNING": "WARN", "ERR": "ERROR", "CRIT": "CRITICAL"} | {name: name for name in LEVELS}
_NUMBERED = {"10": "TRACE", "20": "DEBUG", "30": "INFO", "40": "WARN", "50": "ERROR", "60": "FATAL"}
_MIN_LINES = 3
_SNIFFED_LINES = 100
_SHARE = 0.6
_EARLY = 60
_STAMP_WITHIN = 100

# A pattern that begins with a set of characters takes half the time: the engine looks for these alone.
_STAMP = re.compile(
    rb"[0-9A-Z](?:"
    rb"(?<=[0-9])\d{3}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z| ?[+-]\d\d:?\d\d)?"
    rb"|(?<=[0-9])\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d(?: [+-]\d{4})?"
    rb"|(?<=\b[0-9])\d:\d\d:\d\d(?:[.,]\d{1,6})?"
    rb"|(?<=[A-Z])[a-z]{2} [ \d]\d \d\d:\d\d:\d\d"
    rb"|(?<=\b1)\d{9}(?:\.\d{1,9}|\d{3})?\b)"
)
_UPPER = re.compile(
    rb"[ACDEFINPSTW](?:(?<=\bT)RACE|(?<=\bD)EBUG|(?<=\bI)NFO|(?<=\bN)OTICE|(?<=\bW)ARN(?:ING)?|(?<=\bE)RR(?:OR)?"
    rb"|(?<=\bC)RIT(?:ICAL)?|(?<=\bF)ATAL|(?<=\bA)LERT|(?<=\bE)MERG|(?<=\bP)ANIC|(?<=\bS)EVERE)\b"
)
_KEYED = re.compile(rb"[Lls](?:(?<=[Ll])evel|(?<=l)vl|(?<=s)everity)\"?[=:] ?\"?(\w{1,12})")
_LOWER = re.compile(
    rb"(?m)(?:^|\[|<)((?i:trace|debug|info|notice|warn(?:ing)?|err(?:or)?|crit(?:ical)?|fatal|panic))[\]>:]"
)
_STATUS = re.compile(rb'" (\d)\d\d (?:\d+|-)(?: |\r?$)')


class LineMarks(NamedTuple):
    """What one line says about itself, and where its message begins."""

    time: bytes | None
    level: str | None
    status: str | None
    end: int


class LineReader:
    """Reads the lines of one log, in the ways that its first 64 KiB name levels."""

    def __init__(self, content: bytes) -> None:
        prefix = content[:PREFIX_BYTES]
        self._levels = [pattern for pattern in (_UPPER, _KEYED, _LOWER) if pattern.search(prefix)] or [_UPPER]
        self._timed = False

    def marks(self, line: bytes) -> LineMarks:
        """The marks of the line; a line that only goes on with the one before has none."""
        stamp = _STAMP.search(line, 0, _STAMP_WITHIN)
        if stamp is None and line[:1].isspace():
            return LineMarks(None, None, None, 0)
        status = _STATUS.search(line)
        if status is not None:
            return LineMarks(stamp and stamp[0], None, f"{status[1].decode()}xx", stamp.end() if stamp else 0)
        # In a log with times a line without one goes on, too, unless it begins with its level.
        within = len(line) if stamp is not None or not self._timed else 1
        self._timed = self._timed or stamp is not None
        level, end = self._level(line, within)
        return LineMarks(stamp and stamp[0], level, None, max(end, stamp.end() if stamp else 0))

    def _level(self, line: bytes, within: int) -> tuple[str | None, int]:
        for pattern in self._levels:
            found = pattern.search(line)
            if found is not None and found.start() <= within:
                return level_named((found[1] if pattern.groups else found[0]).decode()), found.end()
        return None, 0


def level_named(word: str) -> str | None:
    """The level that a word or one of the usual numbers stands for."""
    return _SAME.get(word.upper()) or _NUMBERED.get(word)


def looks_like_log(content: bytes) -> bool:
    """Whether most of the first lines carry a time or a level, or each is a JSON object of its own."""
    lines = [line for line in content[:PREFIX_BYTES].split(b"\n") if line[:1].strip()]
    if len(content) > PREFIX_BYTES:
        lines = lines[:-1]
    lines = lines[:_SNIFFED_LINES]
    if len(lines) < _MIN_LINES:
        return False
    if all(line.startswith(b'{"') and line.rstrip().endswith(b"}") for line in lines):
        return True
    return sum(map(is_log_line, lines)) >= _SHARE * len(lines)


def is_log_line(line: bytes) -> bool:
    """Whether the line begins as those of a log do."""
    beginning = line[:BEGINNING]
    stamp = _STAMP.search(beginning)
    if stamp is not None and (stamp.start() <= 1 or b"[" in beginning[: stamp.start()]):
        return True
    found = [each for each in (pattern.search(beginning, 0, _EARLY) for pattern in (_UPPER, _KEYED, _LOWER)) if each]
    return bool(found) and (stamp is not None or min(each.start() for each in found) <= 1)
