"""Refusals that a model can act on: what was wrong, and what would have been right."""

from __future__ import annotations

from collections.abc import Sequence

from toolcrib_core.wording import either, quoted
from toolcrib_mcp.errors import ViewFailed
from toolcrib_mcp.firewall.kinds import ContentKind
from toolcrib_mcp.views.selectors import EXAMPLES

_LINEWISE = ("search", "lines", "head", "tail", "bytes", "all")
_BLOCKS = ("raw", "bytes")
_FITTING: dict[ContentKind, tuple[str, ...]] = {
    ContentKind.JSON: ("pointer", "path", "keys", "shape", "rows", *_LINEWISE),
    ContentKind.RECORDS: ("rows", "pointer", "path", "keys", "shape", *_LINEWISE),
    ContentKind.TABLE: ("rows", "keys", "shape", *_LINEWISE),
    ContentKind.LOG: _LINEWISE,
    ContentKind.PROSE: _LINEWISE,
    ContentKind.CODE: _LINEWISE,
    ContentKind.MARKUP: _LINEWISE,
    ContentKind.BINARY: _BLOCKS,
    ContentKind.IMAGE: _BLOCKS,
    ContentKind.AUDIO: _BLOCKS,
}


def fitting_types(kind: ContentKind) -> tuple[str, ...]:
    """The types of selectors that can be used on content of this kind, the most useful first."""
    return _FITTING[kind]


def wrong(message: str, *, type_: str | None = None, hint: str | None = None) -> ViewFailed:
    """A refusal whose hint is the given one, or a correct selector of this type."""
    example = f"For example {EXAMPLES[type_]}." if type_ is not None else None
    return ViewFailed(message, hint=" ".join(filter(None, (hint, example))) or None)


def unfit(type_: str, kind: ContentKind) -> ViewFailed:
    """The selector is one for another kind of content."""
    types = fitting_types(kind)
    return wrong(f"{quoted(type_)} does not work on {_NAMES[kind]}.", hint=_instead(types))


def unreadable(why: str) -> ViewFailed:
    """The content is called JSON, and cannot be read as such; it can still be read as text."""
    return wrong(f"The content is {why}.", hint=f"Read it as text. {_instead(_LINEWISE)}")


def _instead(types: Sequence[str]) -> str:
    return f"Use {either([quoted(each) for each in types])}: {EXAMPLES[types[0]]}."


_NAMES = {
    ContentKind.JSON: "a JSON value",
    ContentKind.RECORDS: "a JSON list of objects",
    ContentKind.TABLE: "a table",
    ContentKind.LOG: "log lines",
    ContentKind.PROSE: "prose",
    ContentKind.CODE: "source code",
    ContentKind.MARKUP: "markup",
    ContentKind.BINARY: "binary content",
    ContentKind.IMAGE: "an image",
    ContentKind.AUDIO: "audio",
}
