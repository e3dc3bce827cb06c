"""HTML, XML and Markdown: telling them from other text, and their summaries."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterator

from toolcrib_core import JsonObject
from toolcrib_core.wording import count
from toolcrib_mcp.firewall.fitting import MAX_LINES, Outline, Section
from toolcrib_mcp.firewall.lines import PREFIX_BYTES, LineNumbers, line_count
from toolcrib_mcp.firewall.shown import clipped, clipped_bytes

# Every repetition is bounded: a page of tags that are never closed must not take quadratic time.
_HTML_START = re.compile(
    rb"(?i)\s{0,1000}(?:<!--.{0,2000}?-->\s{0,100})?"
    rb"<(?:!doctype html|html|head|body|div|p|table|ul|h[1-6]|main|article|section)\b",
    re.DOTALL,
)
_XML_START = re.compile(rb"\s{0,1000}<(?:\?xml|[A-Za-z][\w:.-]{0,60}(?:\s[^<>]{0,2000})?/?>)")
_TAG = re.compile(rb"<([A-Za-z][A-Za-z0-9:.-]{0,40})")
_TITLE = re.compile(rb"(?is)<title[^>]{0,300}>(.{0,400}?)</title")
_HTML_HEADING = re.compile(rb"(?i)<h([1-6])(?:\s[^<>]{0,300})?>")
_HIDDEN = re.compile(rb"(?i)<(script|style|svg|noscript|template)\b|<!--")
_CLOSINGS = {
    b"": re.compile(rb"-->"),
    **{
        name: re.compile(rb"(?i)</" + name + rb"[^<>]{0,100}>?")
        for name in (b"script", b"style", b"svg", b"noscript", b"template")
    },
}
_ANY_TAG = re.compile(rb"<[^<>]{0,2000}>")
_MARKDOWN_HEADING = re.compile(rb"(?m)^(?:(#{1,6}) +([^\n]{1,300})|(```|~~~)|([^\s\n][^\n]{0,200})\r?\n={3,}\s{0,10}$)")
_MARKDOWN_HINTS = re.compile(
    rb"(?m)^(?:#{1,6} \S|```|~~~|> \S|\|.{1,2000}\|\s{0,4}$|[-*+] \S|\d{1,3}\. \S)|\]\(\S{1,500}\)|\*\*\S"
)
_STRONG_HINT = re.compile(
    rb"(?m)^(?:```|~~~|\|[ :|-]{3,}\|)|\[[^\[\]\n]{1,200}\]\((?:https?://|[#./]|[\w-]{1,80}[./])[^()\s]{0,500}\)"
)
_FENCED = re.compile(rb"(?ms)^[ \t]{0,3}(```|~~~)[^\n]*\n.*?(?:^[ \t]{0,3}\1|\Z)")
_HEADING_LINE = re.compile(rb"(?m)^#{1,6} \S")
# A heading has a blank line before it and no other one right after it; a comment stands on top of what it describes.
_HEADING_ALONE = re.compile(
    rb"(?:\A|(?<=\n\n)|(?<=\n\r\n))(?:# [^\n]+(?=\n[ \t\r]*(?:\n|\Z)|\Z)|#{2,6} [^\n]+(?=\n(?!#)|\Z))"
)
_MARKDOWN_SHARE = 0.12
_EXCERPT_CHARS = 240
_HEADING_CHARS = 80
_HEADING_BYTES = 600
_LONG_LINES = 1_000
_COUNTED = ((b"a", "link"), (b"table", "table"), (b"form", "form"), (b"img", "image"), (b"script", "script"))


def looks_like_html_or_xml(content: bytes) -> bool:
    """Whether the text begins as a page or as a document of XML does."""
    prefix = content[:PREFIX_BYTES]
    if _HTML_START.match(prefix):
        return True
    return _XML_START.match(prefix) is not None and (b"</" in prefix or b"/>" in prefix)


def looks_like_markdown(content: bytes) -> bool:
    """Whether enough of the first lines are written in Markdown; `#` comments of other files are not headings."""
    text = without_fences(content)
    headings = len(_HEADING_LINE.findall(text))
    alone = sum(1 for _ in _HEADING_ALONE.finditer(text))
    hints = sum(1 for _ in _MARKDOWN_HINTS.finditer(text)) - (headings - alone)
    lines = sum(bool(line.strip()) for line in text.split(b"\n"))
    strong = (2 * alone > headings) or has_markdown_parts(content)
    return strong and hints >= max(2, _MARKDOWN_SHARE * lines)


def has_markdown_parts(content: bytes) -> bool:
    """Whether there is something that hardly any other text has: a fenced block, a table or a link."""
    return _STRONG_HINT.search(content[:PREFIX_BYTES]) is not None


def without_fences(content: bytes) -> bytes:
    """The first 64 KiB without what stands in fenced blocks."""
    return _FENCED.sub(rb"\1\n", content[:PREFIX_BYTES])


def summarised_markup(content: bytes, *, size: int, media_type: str | None) -> Outline:
    """The outline of a marked-up text of `size` bytes."""
    named = media_type or ""
    if "markdown" in named or not (looks_like_html_or_xml(content) or "html" in named or "xml" in named):
        return _markdown(content, size)
    if "html" in named or ("xml" not in named and _HTML_START.match(content[:PREFIX_BYTES])):
        return _html(content, size)
    return _xml(content, size)


def _markdown(content: bytes, size: int) -> Outline:
    headings, total = _markdown_headings(content)
    fences = len(re.findall(rb"(?m)^(?:```|~~~)", content)) // 2
    links = content.count(b"](")
    lines = line_count(content)
    parts = [count(lines, "line"), f"{size:,} bytes", count(total, "heading"), count(links, "link")]
    if fences:
        parts.append(count(fences, "code block"))
    head = f"Markdown, {', '.join(parts)}."
    facts: JsonObject = {"format": "markdown", "lines": lines, "headings": total, "links": links}
    begins = next(
        (line for line in content[:PREFIX_BYTES].split(b"\n") if line.strip() and line[:1] not in b"#`=|<-"), b""
    )
    sections = [_headings_section(headings, total), _begins(clipped_bytes(begins, _EXCERPT_CHARS))]
    return Outline(head, sections, facts | {"codeBlocks": fences, "bytes": size})


def _markdown_headings(content: bytes) -> tuple[list[str], int]:
    """The first headings with the numbers of their lines, and how many there are."""
    numbers = LineNumbers(content)
    found: list[str] = []
    total = 0
    in_fence = False
    for match in _MARKDOWN_HEADING.finditer(content):
        if match[3]:
            in_fence = not in_fence
        elif not in_fence:
            total += 1
            if total <= MAX_LINES:
                marks, text = (match[1].decode(), match[2]) if match[1] else ("#", match[4])
                found.append(f"{numbers.at(match.start())} {marks} {clipped_bytes(text, _HEADING_CHARS)}")
    return found, total


def _html(content: bytes, size: int) -> Outline:
    tags = Counter(match[1].lower() for match in _TAG.finditer(content))
    title = _TITLE.search(content[:PREFIX_BYTES])
    name = _plain(title[1], 100) if title is not None else ""
    lines = line_count(content)
    amounts = [count(tags[tag], word) for tag, word in _COUNTED if tags[tag]]
    head = f"HTML page{f' “{name}”' if name else ''}, {', '.join([count(lines, 'line'), f'{size:,} bytes', *amounts])}."
    headings, total = _html_headings(content, lines)
    facts: JsonObject = {"format": "html", "title": name, "lines": lines, "headings": total, "bytes": size}
    facts |= {f"{word}s": tags[tag] for tag, word in _COUNTED if tags[tag]}
    return Outline(head, [_headings_section(headings, total), _begins(_body_text(content))], facts)


def _html_headings(content: bytes, lines: int) -> tuple[list[str], int]:
    """The first headings, with the numbers of their lines, and how many there are.

    A page that has hardly any lines gives byte positions instead.
    """
    numbers = LineNumbers(content)
    by_line = len(content) < _LONG_LINES * lines
    found: list[str] = []
    total = 0
    for start, end in _shown_spans(content):
        for match in _HTML_HEADING.finditer(content, start, end):
            total += 1
            if len(found) < MAX_LINES:
                place = f"{numbers.at(match.start())}" if by_line else f"byte {match.start()}"
                text = content[match.end() : match.end() + _HEADING_BYTES].partition(b"</h")[0].partition(b"</H")[0]
                found.append(f"{place} {'#' * int(match[1])} {_plain(text, _HEADING_CHARS)}")
    return found, total


def _shown_spans(content: bytes) -> Iterator[tuple[int, int]]:
    """The parts of a page outside scripts, styles and comments, in one pass."""
    start = 0
    while (opening := _HIDDEN.search(content, start)) is not None:
        yield start, opening.start()
        closing = _CLOSINGS[(opening[1] or b"").lower()].search(content, opening.end())
        if closing is None:
            return
        start = closing.end()
    yield start, len(content)


def _xml(content: bytes, size: int) -> Outline:
    names = [tag.decode() for tag in _TAG.findall(content[:PREFIX_BYTES])]
    root = names[0] if names else ""
    tags = Counter(match[1] for match in _TAG.finditer(content))
    ordered = sorted(((number, tag.decode()) for tag, number in tags.items()), key=lambda each: (-each[0], each[1]))
    lines = line_count(content)
    head = f"XML, root <{root}>, {count(lines, 'line')}, {size:,} bytes, {count(len(ordered), 'kind')} of elements."
    facts: JsonObject = {"format": "xml", "root": root, "lines": lines, "elements": sum(tags.values()), "bytes": size}
    shown = [f"<{tag}> {number:,}" for number, tag in ordered[:MAX_LINES]]
    counts = Section(
        "Elements:", shown, len(ordered), "kinds of elements", [tag for _, tag in ordered[:MAX_LINES]], 0.7
    )
    return Outline(head, [counts, _begins(_body_text(content))], facts)


def _headings_section(headings: list[str], total: int) -> Section:
    return Section("Headings:", headings[:MAX_LINES], total, "headings", share=0.75)


def _begins(text: str) -> Section:
    return Section("Text begins:", [text] if text else [])


def _body_text(content: bytes) -> str:
    prefix = content[:PREFIX_BYTES]
    body = re.search(rb"(?i)<(?:main|article|body)\b", prefix)
    inner = prefix[body.start() if body is not None else 0 :]
    return _plain(b" ".join(inner[start:end] for start, end in _shown_spans(inner)), _EXCERPT_CHARS)


def _plain(markup: bytes, limit: int) -> str:
    text = html.unescape(_ANY_TAG.sub(b" ", markup).decode("utf-8", "replace"))
    return clipped(" ".join(text.split()), limit)
