"""Commit histories: recognising the output of `git log`, and summarising it by its commits."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass, field

from toolcrib_core import JsonObject
from toolcrib_core.wording import count
from toolcrib_mcp.firewall.diffs import looks_like_diff
from toolcrib_mcp.firewall.fitting import MAX_LINES, Outline, Section
from toolcrib_mcp.firewall.lines import PREFIX_BYTES
from toolcrib_mcp.firewall.shown import clipped_bytes

_SUBJECT_CHARS = 80
_NAME_CHARS = 8
_DATE_CHARS = 32
_MAX_AUTHORS = 10_000
_MIN_COMMITS = 2
_MIN_ONE_LINERS = 3
_ONE_LINE_SHARE = 0.9
_BEGINS_WITHIN = 400
_LINE_BYTES = 600

# What `git log --graph` draws before a commit, and before the other lines of one.
_COMMIT_GRAPH = rb"(?:[*|\\/_ ]{0,40}\* {1,3})?"
_GRAPH = rb"[|\\/_ ]{0,40}?"
# `git log`, and servers that print the fields of a commit by name.
_COMMIT = re.compile(rb"(?m)^" + _COMMIT_GRAPH + rb"(?:commit|Commit(?: hash)?:) ['\"]?([0-9a-f]{7,64})\b")
_FIELD = re.compile(rb"(?m)^" + _GRAPH + rb"(Author|Date|AuthorDate|Message): {0,8}['\"]?(\S[^\n]{0,400})")
_SUBJECT = re.compile(_GRAPH + rb" {4}(\S[^\n]{0,400})")
_ONE_LINE = re.compile(
    rb"(?m)^" + _COMMIT_GRAPH + rb"(?=[0-9a-f]{0,39}\d)([0-9a-f]{7,40})(?: \([^)\n]{1,200}\))? (\S[^\n]{0,400})"
)


@dataclass
class _Commit:
    number: int
    name: str
    date: str = ""
    subject: str = ""

    def __str__(self) -> str:
        return " ".join(filter(None, (str(self.number), self.name, self.date, self.subject)))


@dataclass
class _Pass:
    """One pass over the lines: all commits are counted, the first ones are described."""

    total: int = 0
    lines: int = 0
    first: list[_Commit] = field(default_factory=list)
    authors: set[bytes] = field(default_factory=set)

    def read(self, content: bytes) -> None:
        """Read a history with several lines for each commit."""
        for number, line in enumerate(_lines(content), 1):
            self.lines = number
            commit = _COMMIT.match(line)
            if commit is not None:
                self._begin(number, commit[1])
            elif self.total:
                self._describe(line)

    def read_one_lines(self, content: bytes) -> None:
        """Read a history with one line for each commit."""
        for number, line in enumerate(_lines(content), 1):
            self.lines = number
            commit = _ONE_LINE.match(line)
            if commit is not None:
                self._begin(number, commit[1])
                self._set(subject=commit[2])

    def _begin(self, number: int, name: bytes) -> None:
        self.total += 1
        if self.total <= MAX_LINES:
            self.first.append(_Commit(number, name[:_NAME_CHARS].decode()))

    def _describe(self, line: bytes) -> None:
        found = _FIELD.match(line)
        if found is None:
            subject = _SUBJECT.match(line)
            self._set(subject=subject[1] if subject is not None else b"")
        elif found[1] == b"Author":
            self.authors.update({found[2].strip()} if len(self.authors) < _MAX_AUTHORS else ())
        elif found[1] == b"Message":
            self._set(subject=found[2].strip(b"'\"\r"))
        else:
            self._set(date=found[2])

    def _set(self, *, subject: bytes = b"", date: bytes = b"") -> None:
        # Of several lines that could be the subject or the date, the first one is.
        if self.total <= MAX_LINES:
            commit = self.first[-1]
            commit.subject = commit.subject or clipped_bytes(subject.strip(), _SUBJECT_CHARS)
            commit.date = commit.date or clipped_bytes(date.strip(), _DATE_CHARS)


def looks_like_history(content: bytes) -> bool:
    """Whether the text is a list of commits, in any of the usual formats of `git log`.

    One commit with its diff, as `git show` prints it, is a diff.
    """
    prefix = content[:PREFIX_BYTES]
    if _COMMIT.search(prefix, 0, _BEGINS_WITHIN):
        commits = sum(1 for _ in _COMMIT.finditer(prefix))
        fields = sum(1 for _ in _FIELD.finditer(prefix))
        if fields >= commits:
            return commits >= _MIN_COMMITS or not looks_like_diff(prefix)
    lines = sum(bool(line.strip(b" |\\/_\r")) for line in prefix.split(b"\n"))
    listed = sum(1 for _ in _ONE_LINE.finditer(prefix))
    return listed >= _MIN_ONE_LINERS and listed >= _ONE_LINE_SHARE * lines


def summarised_history(content: bytes, *, size: int) -> Outline:
    """The outline of a commit history of `size` bytes."""
    read = _Pass()
    if _COMMIT.search(content, 0, _BEGINS_WITHIN):
        read.read(content)
    else:
        read.read_one_lines(content)
    by = f" by {count(len(read.authors), 'author')}" if read.authors else ""
    head = f"Commit history of {count(read.total, 'commit')}{by}, {count(read.lines, 'line')}, {size:,} bytes."
    facts: JsonObject = {"format": "commits", "commits": read.total, "lines": read.lines, "bytes": size}
    names = [each.name for each in read.first]
    section = Section("Commits:", list(map(str, read.first)), read.total, "commits", names)
    return Outline(head, [section], facts | ({"authors": len(read.authors)} if read.authors else {}))


def _lines(content: bytes) -> map[bytes]:
    return map(_beginning, io.BytesIO(content))


def _beginning(line: bytes) -> bytes:
    return line[:_LINE_BYTES].rstrip(b"\r\n")
