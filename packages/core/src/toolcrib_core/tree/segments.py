"""Path segments for tool names and namespaces: lower-case, readable, no two namespaces alike."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections import Counter
from collections.abc import Iterable

from toolcrib_core.tree.paths import MAX_SEGMENT_LENGTH, is_segment

_CAMEL_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z]{2})(?=[A-Z][a-z])")
_FOREIGN = re.compile(r"[^a-z0-9_-]+")
_DIGEST_LENGTH = 8


def tool_segment(name: str) -> str:
    """The segment of a tool: its name when that is a segment already, else in lower case with `_` between words.

    Two names may have one segment (`getIssue` and `get_issue`); the tree tells them apart one level deeper.
    """
    return name if is_segment(name) else _lowered(_CAMEL_HUMP.sub("_", name), joint="_") or "tool"


def namespace_segments(namespaces: Iterable[str]) -> dict[str, str]:
    """A root segment for each namespace, no two alike.

    A namespace that is a legal segment keeps it whatever the others are called. Any other gets a readable one, with a
    hash behind it only where that would be taken.
    """
    names = sorted(set(namespaces))
    segments = {name: name for name in names if _is_root_segment(name)}
    taken = set(segments)
    wanted = {name: _root_segment(name) for name in names if name not in segments}
    demand = Counter(wanted.values())
    for name, plain in wanted.items():
        free = plain not in taken and demand[plain] == 1
        segments[name] = plain if free else _hashed(plain, name, taken | demand.keys())
        taken.add(segments[name])
    return segments


def told_apart(labels: dict[str, str | None]) -> dict[str, str]:
    """A segment for each of several ids, from its label (a version or a hash) where the labels tell them apart."""
    segments = {tool_id: _lowered(label or "", joint="-") for tool_id, label in labels.items()}
    if "" not in segments.values() and _all_differ(segments):
        return segments
    digests = ({tool_id: _digest(tool_id)[:width] for tool_id in labels} for width in (8, 16, 32, 64))
    return next(each for each in digests if _all_differ(each))


def _is_root_segment(text: str) -> bool:
    return is_segment(text) and text[0].isalpha()


def _root_segment(namespace: str) -> str:
    lowered = _lowered(namespace, joint="-") or "namespace"
    return lowered if lowered[0].isalpha() else f"n{lowered}"[:MAX_SEGMENT_LENGTH]


def _lowered(text: str, *, joint: str) -> str:
    return _FOREIGN.sub(joint, text.lower()).strip("_-")[:MAX_SEGMENT_LENGTH]


def _hashed(plain: str, source: str, taken: Iterable[str]) -> str:
    stem = plain[: MAX_SEGMENT_LENGTH - _DIGEST_LENGTH - 1]
    # Counting on: a namespace may be named like the hash of another, on purpose.
    candidates = (f"{stem}-{_digest(source + '#' * attempt)[:_DIGEST_LENGTH]}" for attempt in itertools.count())
    return next(each for each in candidates if each not in taken)


def _all_differ(segments: dict[str, str]) -> bool:
    return len(set(segments.values())) == len(segments)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
