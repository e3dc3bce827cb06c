"""The summary of one piece of content, whatever it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from toolcrib_core import JsonObject
from toolcrib_core.wording import count
from toolcrib_mcp.firewall.code import summarised_code
from toolcrib_mcp.firewall.facts import bounded
from toolcrib_mcp.firewall.fitting import Outline, fitted
from toolcrib_mcp.firewall.histories import looks_like_history, summarised_history
from toolcrib_mcp.firewall.json_reading import UnreadableJson, read_json
from toolcrib_mcp.firewall.kinds import ContentKind
from toolcrib_mcp.firewall.lines import invalid_count, without_bom
from toolcrib_mcp.firewall.logs import summarised_log
from toolcrib_mcp.firewall.markup import summarised_markup
from toolcrib_mcp.firewall.media import summarised_media
from toolcrib_mcp.firewall.prose import summarised_prose
from toolcrib_mcp.firewall.records import is_records, summarised_records
from toolcrib_mcp.firewall.tables import summarised_table
from toolcrib_mcp.firewall.trees import summarised_json

SUMMARY_TOKENS: Final = 300
"""What a summary may take unless the caller says otherwise."""


@dataclass(frozen=True)
class Summary:
    """What is in a piece of content: a text for a model, and the same as facts for a program."""

    text: str
    facts: JsonObject


def summarise(
    content: bytes, kind: ContentKind, *, media_type: str | None = None, budget: int = SUMMARY_TOKENS
) -> Summary:
    """The structure of the content in at most `budget` tokens, and facts of at most 2 KiB.

    The same content gives the same summary. Lines are counted from 1; whole lines, fields and values are left out
    and counted, never parts of a value of JSON; what cannot be seen is shown as an escape. Content that is not what
    `kind` says is summarised as plain text.
    """
    outline = _outline(content, kind, media_type)
    head, facts = outline.head, outline.facts
    invalid = invalid_count(content) if kind.is_text else 0
    if invalid:
        head = f"{head} Not UTF-8 in {count(invalid, 'place')}."
        facts = facts | {"invalid": invalid}
    return Summary(fitted(head, outline.sections, budget=budget), bounded(facts))


def _outline(content: bytes, kind: ContentKind, media_type: str | None) -> Outline:
    size = len(content)
    if not kind.is_text:
        return summarised_media(content, size=size, kind=kind, media_type=media_type)
    text = without_bom(content)
    if kind.is_json:
        return _json(text, size)
    return _of_text(text, kind, media_type=media_type, size=size)


def _of_text(text: bytes, kind: ContentKind, *, media_type: str | None, size: int) -> Outline:
    match kind if text and not text.isspace() else ContentKind.PROSE:
        case ContentKind.TABLE:
            return summarised_table(text, size=size)
        case ContentKind.LOG:
            return summarised_history(text, size=size) if looks_like_history(text) else summarised_log(text, size=size)
        case ContentKind.CODE:
            return summarised_code(text, size=size, media_type=media_type)
        case ContentKind.MARKUP:
            return summarised_markup(text, size=size, media_type=media_type)
    return summarised_prose(text, size=size)


def _json(text: bytes, size: int) -> Outline:
    try:
        value = read_json(text)
    except UnreadableJson:
        return summarised_prose(text, size=size)
    if isinstance(value, list) and is_records(value):
        return summarised_records([each for each in value if isinstance(each, dict)], size=size)
    return summarised_json(value, size=size)
