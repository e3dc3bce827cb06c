"""The part of JSONPath (RFC 9535) that is understood, read by a small parser that runs nothing.

Names (`.name`, `['name']`), indices (`[0]`, `[-1]`), slices (`[1:10:2]`), wildcards (`.*`, `[*]`), several at once
(`[0, 2]`), everything below (`..name`, `..*`), and filters that compare (`[?(@.price > 10 && @.kind == 'book')]`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, TypeAlias

from toolcrib_core.json_values import JsonScalar
from toolcrib_mcp.errors import ViewFailed
from toolcrib_mcp.views.failing import wrong

MAX_PATH_LENGTH: Final = 1_000

Comparison: TypeAlias = Literal["==", "!=", "<", "<=", ">", ">="]


@dataclass(frozen=True, slots=True)
class Name:
    """The member of an object with this key."""

    name: str


@dataclass(frozen=True, slots=True)
class Index:
    """The element of a list at this index; -1 is the last."""

    index: int


@dataclass(frozen=True, slots=True)
class Slice:
    """Some elements of a list, as in Python."""

    start: int | None
    stop: int | None
    step: int


@dataclass(frozen=True, slots=True)
class Wildcard:
    """All members or elements."""


@dataclass(frozen=True, slots=True)
class Test:
    """One comparison in a filter; without `op` the place must exist."""

    place: tuple[str | int, ...]
    op: Comparison | None = None
    value: JsonScalar = None


@dataclass(frozen=True, slots=True)
class Filter:
    """The members or elements that pass every test of one of the groups."""

    groups: tuple[tuple[Test, ...], ...]


Part: TypeAlias = Name | Index | Slice | Wildcard | Filter


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a path: from a value to its children, or with `descends` to those of everything below it, too."""

    parts: tuple[Part, ...]
    descends: bool = False


@lru_cache(maxsize=64)
def parse_path(path: str) -> tuple[Step, ...]:
    """The steps of a path.

    Raises:
        ViewFailed: It is not a path that is understood; the message says from which character on.
    """
    return _Parser(path).steps()


_NAME = re.compile(r"[^\W\d][\w-]*")
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,15})(?![0-9.eE])")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,30})(?:\.[0-9]{1,30})?(?:[eE][+-]?[0-9]{1,3})?")
_STRING = re.compile(r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)\"""", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_WORD = re.compile(r"(?:true|false|null)\b")
_OPERATOR = re.compile(r"==|!=|<=|>=|<|>")
_SPACE = re.compile(r"[ \t\n\r]*")
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
_COMPARISONS: dict[str, Comparison] = {"==": "==", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


class _Parser:
    def __init__(self, path: str) -> None:
        self._path = path
        self._at = 0

    def steps(self) -> tuple[Step, ...]:
        if not self._takes("$"):
            raise self._wrong("a path begins with `$`")
        steps: list[Step] = []
        while self._at < len(self._path):
            steps.append(self._step())
        return tuple(steps)

    def _step(self) -> Step:
        if self._takes(".."):
            return Step(self._bracket() if self._next("[") else (self._dotted(),), descends=True)
        if self._takes("."):
            return Step((self._dotted(),))
        if self._next("["):
            return Step(self._bracket())
        raise self._wrong("expected `.name`, `..name` or `[`")

    def _dotted(self) -> Part:
        if self._takes("*"):
            return Wildcard()
        name = self._match(_NAME)
        if name is None:
            raise self._wrong("expected a name or `*`; other names are written `['name']`")
        return Name(name[0])

    def _bracket(self) -> tuple[Part, ...]:
        self._takes("[")
        parts = [self._part()]
        while self._takes(",", spaced=True):
            parts.append(self._part())
        if not self._takes("]", spaced=True):
            raise self._wrong("expected `]`")
        return tuple(parts)

    def _part(self) -> Part:
        self._match(_SPACE)
        if self._takes("*"):
            return Wildcard()
        if self._takes("?"):
            return self._filter()
        if (text := self._match(_STRING)) is not None:
            return Name(_unquoted(text))
        return self._index_or_slice()

    def _index_or_slice(self) -> Part:
        start = self._integer()
        if not self._takes(":", spaced=True):
            if start is None:
                raise self._wrong("expected an index, a slice, `'name'`, `*` or `?`")
            return Index(start)
        stop = self._integer()
        step = self._integer() if self._takes(":", spaced=True) else None
        if step == 0:
            raise self._wrong("the step of a slice cannot be 0")
        return Slice(start, stop, 1 if step is None else step)

    def _integer(self) -> int | None:
        self._match(_SPACE)
        found = self._match(_INTEGER)
        return None if found is None else int(found[0])

    def _filter(self) -> Filter:
        bracketed = self._takes("(", spaced=True)
        groups = [self._tests()]
        while self._takes("||", spaced=True):
            groups.append(self._tests())
        if bracketed and not self._takes(")", spaced=True):
            raise self._wrong("expected a comparison, `&&`, `||` or `)`")
        return Filter(tuple(groups))

    def _tests(self) -> tuple[Test, ...]:
        tests = [self._test()]
        while self._takes("&&", spaced=True):
            tests.append(self._test())
        return tuple(tests)

    def _test(self) -> Test:
        if not self._takes("@", spaced=True):
            raise self._wrong("a filter compares `@` or `@.name` with a value, without further brackets")
        place: list[str | int] = []
        while self._next(".") or self._next("["):
            step = self._step()
            match step.parts:
                case (Name(name=key),) if not step.descends:
                    place.append(key)
                case (Index(index=index),) if not step.descends:
                    place.append(index)
                case _:
                    raise self._wrong("in a filter only names and indices follow `@`")
        self._match(_SPACE)
        operator = self._match(_OPERATOR)
        if operator is None:
            return Test(tuple(place))
        return Test(tuple(place), _COMPARISONS[operator[0]], self._literal())

    def _literal(self) -> JsonScalar:
        self._match(_SPACE)
        if (text := self._match(_STRING)) is not None:
            return _unquoted(text)
        if (word := self._match(_WORD)) is not None:
            return _WORDS[word[0]]
        if (number := self._match(_NUMBER)) is not None:
            return int(number[0]) if number[0].lstrip("-").isdecimal() else float(number[0])
        raise self._wrong("expected a number, a string in quotes, `true`, `false` or `null`")

    def _next(self, token: str) -> bool:
        return self._path.startswith(token, self._at)

    def _takes(self, token: str, *, spaced: bool = False) -> bool:
        if spaced:
            self._match(_SPACE)
        if not self._next(token):
            return False
        self._at += len(token)
        return True

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self._path, self._at)
        if found is not None:
            self._at = found.end()
        return found

    def _wrong(self, why: str) -> ViewFailed:
        return wrong(f"The path is not understood at character {self._at + 1}: {why}.", type_="path")


def _unquoted(text: re.Match[str]) -> str:
    inner = text[1] if text[1] is not None else text[2]
    # Two escaped surrogates are one character.
    return _ESCAPE.sub(_character, inner).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _character(escape: re.Match[str]) -> str:
    code = escape[1]
    return chr(int(code[1:], 16)) if len(code) > 1 else _ESCAPES.get(code, code)
