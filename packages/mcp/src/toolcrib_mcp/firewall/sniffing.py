"""What a piece of content is: by its first bytes and its shape, with the media type as a hint and never as proof."""

from __future__ import annotations

import re

from toolcrib_mcp.firewall.code import json_fault
from toolcrib_mcp.firewall.diffs import looks_like_diff
from toolcrib_mcp.firewall.histories import looks_like_history
from toolcrib_mcp.firewall.json_reading import UnreadableJson, read_json
from toolcrib_mcp.firewall.kinds import ContentKind
from toolcrib_mcp.firewall.languages import DIFF, YAML, is_script, language_of, language_of_media
from toolcrib_mcp.firewall.lines import PREFIX_BYTES, without_bom
from toolcrib_mcp.firewall.log_lines import is_log_line, looks_like_log
from toolcrib_mcp.firewall.markup import (
    has_markdown_parts,
    looks_like_html_or_xml,
    looks_like_markdown,
    without_fences,
)
from toolcrib_mcp.firewall.media import binary_format
from toolcrib_mcp.firewall.records import is_records
from toolcrib_mcp.firewall.tables import table_form

_SNIFFED_BINARY = 8_192
_CONTROLS = bytes({*range(32), 127} - {*b"\t\n\r\f\b\x1b"})
_BAD_SHARE = 0.25
_SURE_TABLE = 4
_TRACEBACK_WITHIN = 400
_TRACEBACK = re.compile(rb"(?m)^Traceback \(most recent call last\):\r?\n  File \"")
_OPENING = re.compile(rb"\s{0,10000}[\[{]")


def content_kind(content: bytes, media_type: str | None = None) -> ContentKind:
    """What the content is.

    Looks at no more than the first 64 KiB, except that JSON is read whole: it is JSON only when all of it is. The
    media type decides between kinds of text, and what binary content of an unknown format is.
    """
    media = (media_type or "").partition(";")[0].strip().lower()
    known = binary_format(content)
    if known is not None:
        return known.kind
    if not _is_text(content):
        return {"image": ContentKind.IMAGE, "audio": ContentKind.AUDIO}.get(media.partition("/")[0], ContentKind.BINARY)
    text = without_bom(content)
    return _json_kind(text, media) or _named_kind(text, media) or _text_kind(text)


def _is_text(content: bytes) -> bool:
    prefix = content[:_SNIFFED_BINARY]
    if b"\0" in prefix:
        return False
    controls = len(prefix) - len(prefix.translate(None, _CONTROLS))
    # A character cut at the end of the prefix is one replacement, which no text of this size is judged by.
    replaced = prefix.decode("utf-8", "replace").count("\ufffd")
    return controls + replaced <= max(1, _BAD_SHARE * len(prefix))


def _json_kind(text: bytes, media: str) -> ContentKind | None:
    if not _OPENING.match(text) and not (media.endswith("json") and text.strip()):
        return None
    try:
        value = read_json(text)
    except UnreadableJson:
        return None
    return ContentKind.RECORDS if is_records(value) else ContentKind.JSON


def _named_kind(text: bytes, media: str) -> ContentKind | None:
    if not text.strip():
        return ContentKind.PROSE
    match media:
        case (
            "text/html" | "text/markdown" | "text/x-markdown" | "application/xhtml+xml" | "text/xml" | "application/xml"
        ):
            return ContentKind.MARKUP
        case "text/csv" | "text/tab-separated-values" if table_form(text, trusted=True) is not None:
            return ContentKind.TABLE
        case "application/x-ndjson" | "application/jsonl":
            return ContentKind.LOG
    if media.endswith("+xml"):
        return ContentKind.MARKUP
    return ContentKind.CODE if media and language_of_media(media) is not None else None


def _text_kind(text: bytes) -> ContentKind:
    if is_script(text):
        return ContentKind.CODE
    if looks_like_html_or_xml(text) or _is_markdown(text):
        return ContentKind.MARKUP
    if looks_like_history(text) or _TRACEBACK.search(text, 0, _TRACEBACK_WITHIN):
        return ContentKind.LOG
    if not looks_like_diff(text) and _is_table(text):
        return ContentKind.TABLE
    if looks_like_log(text):
        return ContentKind.LOG
    return ContentKind.PROSE if json_fault(text) is None and language_of(text) is None else ContentKind.CODE


def _is_markdown(text: bytes) -> bool:
    """Whether it is Markdown rather than source text with comments in Markdown."""
    if not looks_like_markdown(text):
        return False
    language = language_of(without_fences(text))
    return language is None or (has_markdown_parts(text) and language not in {DIFF, YAML})


def _is_table(text: bytes) -> bool:
    form = table_form(text)
    # The lines of a log may all hold one comma, in the time.
    return form is not None and (len(form.columns) >= _SURE_TABLE or not is_log_line(text[:PREFIX_BYTES]))
