"""Versions: the order of SemVer 2.0, and npm-style ranges over it.

A range is one or more comparators, all of which must hold, separated by commas or spaces: `^1.2`, `~1.2`, `>=1,<2`,
`>1.2.3`, `=1.0.0`, `1.x`, `1.2.*`, `1.2` (the same as `1.2.x`) or `*`. They mean what they mean to npm, with one
difference: `<2.0.0` never lets `2.0.0-alpha` in, unless the range itself names a pre-release of `2.0.0`.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from toolcrib_core.errors import QueryError

MAX_VERSION_LENGTH = 256
MAX_RANGE_LENGTH = 256

Triple: TypeAlias = tuple[int, int, int]
# Major, minor, patch, whether it is a release, and the pre-release identifiers as (is text, number, text): compared as
# tuples these give SemVer §11. Without identifiers and not a release, it is the floor below every pre-release.
Precedence: TypeAlias = tuple[int, int, int, bool, tuple[tuple[bool, int, str], ...]]

_SHOWN_LENGTH = 64
_TRIPLE_LENGTH = 3
_NUMBER = r"(?:0|[1-9][0-9]*)"
_PRERELEASE = r"(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_PRERELEASES = rf"{_PRERELEASE}(?:\.{_PRERELEASE})*"
_SEMVER = re.compile(
    rf"(?P<major>{_NUMBER})\.(?P<minor>{_NUMBER})\.(?P<patch>{_NUMBER})"
    rf"(?:-(?P<prerelease>{_PRERELEASES}))?(?:\+(?P<build>[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?"
)
_PART = rf"(?:{_NUMBER}|[xX*])"
_COMPARATOR = re.compile(
    rf"(?P<sign>\^|~|>=|<=|>|<|=)?[ \t]*(?P<numbers>{_PART}(?:\.{_PART}){{0,2}})(?:-(?P<prerelease>{_PRERELEASES}))?"
    r"(?:(?P<end>\Z)|[ \t]*,[ \t]*|[ \t]+)"
)
_WILDCARDS = frozenset("xX*")
_RANGE_SIGNS = frozenset("^~<>=*,| ")
_HOLDS: dict[str, Callable[[Precedence, Precedence], bool]] = {
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SemVer:
    """A version by the rules of SemVer 2.0."""

    major: int
    minor: int
    patch: int
    prerelease: tuple[int | str, ...] = ()
    build: str | None = None

    @property
    def triple(self) -> Triple:
        """Major, minor and patch."""
        return self.major, self.minor, self.patch

    @property
    def precedence(self) -> Precedence:
        """The place in the order of SemVer §11; build metadata does not count."""
        identifiers = tuple((False, each, "") if isinstance(each, int) else (True, 0, each) for each in self.prerelease)
        return *self.triple, not identifiers, identifiers


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionRange:
    """A set of versions, read from a text by `parse_range`."""

    text: str
    bounds: tuple[tuple[str, Precedence], ...]
    named: frozenset[Triple]
    """The triples of which the range names a pre-release, and so asks for pre-releases."""

    def contains(self, version: SemVer) -> bool:
        """Whether the version fits; a pre-release does only if the range names one of the same triple."""
        return (not version.prerelease or version.triple in self.named) and self.spans(version)

    def spans(self, version: SemVer) -> bool:
        """Whether the version lies between the bounds, pre-release or not."""
        place = version.precedence
        return all(_HOLDS[sign](place, bound) for sign, bound in self.bounds)


@lru_cache(maxsize=4096)
def parse_version(text: str) -> SemVer | None:
    """Read a version; `None` when the text is not SemVer, since a tool's version may be any text."""
    match = _SEMVER.fullmatch(text) if len(text) <= MAX_VERSION_LENGTH else None
    if match is None:
        return None
    return SemVer(
        major=int(match["major"]),
        minor=int(match["minor"]),
        patch=int(match["patch"]),
        prerelease=_identifiers(match["prerelease"]),
        build=match["build"],
    )


@lru_cache(maxsize=1024)
def parse_range(text: str) -> VersionRange:
    """Read a range.

    Raises:
        QueryError: The text is not a range; `details["position"]` says where it goes wrong.
    """
    comparators = tuple(_comparators(text))
    named = frozenset(_floor(numbers)[:3] for _, numbers, prerelease in comparators if prerelease)
    bounds = tuple(bound for comparator in comparators for bound in _bounds(*comparator, named))
    return VersionRange(text=text, bounds=bounds, named=named)


def as_range(text: str) -> VersionRange | None:
    """Read a range; `None` when the text has no sign of one and so can only be the name of a version, as `latest` can.

    Raises:
        QueryError: The text is written as a range, but is not one.
    """
    try:
        return parse_range(text)
    except QueryError:
        if _RANGE_SIGNS.isdisjoint(text):
            return None
        raise


def matching_versions(versions: Iterable[str], wanted: VersionRange) -> tuple[str, ...]:
    """The versions that fit, lowest first; those that are not SemVer never do.

    Pre-releases the range does not name are considered only when nothing else fits.
    """
    parsed = {text: version for text in versions if (version := parse_version(text)) is not None}
    fitting = [text for text, version in parsed.items() if wanted.contains(version)]
    if not fitting:
        fitting = [text for text, version in parsed.items() if wanted.spans(version)]
    return tuple(sorted(fitting, key=version_order))


def version_order(text: str | None) -> tuple[int, Precedence, str]:
    """A sort key for any versions: none, then free texts, then SemVer by precedence; ties go by the text."""
    version = None if text is None else parse_version(text)
    if version is None:
        return (0 if text is None else 1), _floor(()), text or ""
    return 2, version.precedence, text or ""


def _identifiers(text: str | None) -> tuple[int | str, ...]:
    if text is None:
        return ()
    return tuple(int(each) if each.isdecimal() else each for each in text.split("."))


def _comparators(text: str) -> Iterable[tuple[str, tuple[int, ...], tuple[int | str, ...]]]:
    if len(text) > MAX_RANGE_LENGTH:
        raise _malformed(text, MAX_RANGE_LENGTH)
    body, position = text.strip(" \t"), 0
    while True:
        match = _COMPARATOR.match(body, position)
        if match is None:
            raise _malformed(text, position)
        numbers, prerelease = _numbers(match["numbers"]), _identifiers(match["prerelease"])
        if numbers is None or (prerelease and len(numbers) < _TRIPLE_LENGTH):
            raise _malformed(text, position)
        yield match["sign"] or "=", numbers, prerelease
        if match["end"] is not None:
            return
        position = match.end()


def _numbers(text: str) -> tuple[int, ...] | None:
    """The numbers before the first wildcard; `None` when a number follows one."""
    parts = text.split(".")
    given = next((index for index, part in enumerate(parts) if part in _WILDCARDS), len(parts))
    if any(part not in _WILDCARDS for part in parts[given:]):
        return None
    return tuple(int(part) for part in parts[:given])


def _bounds(
    sign: str, numbers: tuple[int, ...], prerelease: tuple[int | str, ...], named: frozenset[Triple]
) -> tuple[tuple[str, Precedence], ...]:
    if not numbers:
        return (("<", _floor(())),) if sign in {"<", ">"} else ()
    low = _floor(numbers)
    last = len(numbers) - 1
    if sign == "^":
        first_set = next((index for index, number in enumerate(numbers) if number), last)
        return (">=", _exact(numbers, prerelease)), ("<", _floor_after(numbers, first_set))
    if sign == "~":
        return (">=", _exact(numbers, prerelease)), ("<", _floor_after(numbers, min(1, last)))
    if len(numbers) == _TRIPLE_LENGTH:
        exact = _exact(numbers, prerelease)
        if sign == "=":
            return (">=", exact), ("<=", exact)
        # The difference from npm that the module's docstring tells.
        return ((sign, low if sign == "<" and low[:3] not in named else exact),)
    beyond = _floor_after(numbers, last)
    return {
        "=": ((">=", low), ("<", beyond)),
        ">=": ((">=", low),),
        ">": ((">=", beyond),),
        "<": (("<", low),),
        "<=": (("<", beyond),),
    }[sign]


def _exact(numbers: tuple[int, ...], prerelease: tuple[int | str, ...]) -> Precedence:
    if len(numbers) < _TRIPLE_LENGTH:
        return _floor(numbers)
    major, minor, patch = numbers
    return SemVer(major=major, minor=minor, patch=patch, prerelease=prerelease).precedence


def _floor(numbers: tuple[int, ...]) -> Precedence:
    major, minor, patch = (*numbers, 0, 0, 0)[:3]
    return major, minor, patch, False, ()


def _floor_after(numbers: tuple[int, ...], index: int) -> Precedence:
    return _floor((*numbers[:index], numbers[index] + 1))


def _malformed(text: str, position: int) -> QueryError:
    shown = f"`{text}`" if len(text) <= _SHOWN_LENGTH and text.isprintable() else f"A text of {len(text)} characters"
    return QueryError(
        f"{shown} is not a version range.",
        hint="Write a range such as `^1.2`, `~1.2`, `>=1,<2`, `=1.0.0`, `1.x` or `*`.",
        details={"position": position},
    )
