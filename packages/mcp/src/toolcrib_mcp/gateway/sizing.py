"""How large a result is to a model, found out without counting what is large anyway."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from toolcrib_core import count_tokens
from toolcrib_mcp.firewall import UnreadableJson, read_json
from toolcrib_mcp.rpc.codec import json_text

MAX_MEDIA: Final = 4
"""So many pictures and sounds of a result pass as they are."""

MAX_MEDIA_BYTES: Final = 1024 * 1024
"""And each of them only up to this size."""

KNOWN_FIELDS: Final = frozenset({"content", "structuredContent", "isError", "resultType", "_meta"})
"""What a result has by the protocol; anything else is a field that nobody here knows."""

# Prose has 4 to 5 characters a token; a text that has more than this of them is of no use to a model as it is.
_CHARS_A_TOKEN = 24
# A character that is not ASCII is at most four bytes, and no token is less than a byte.
_MOST_TOKENS_A_CHARACTER = 4
_MEDIA = frozenset({"image", "audio"})


def is_surely_small(result: Mapping[str, Any], *, limit: int) -> bool | None:
    """Whether a result has at most `limit` tokens, if that can be told without counting; else `None`.

    Pictures and sounds are not text, and are small when they are few and light.
    """
    if not _has_light_media(result):
        return False
    most = least = 0
    try:
        for text in texts_of(result):
            least += len(text)
            most += len(text) if text.isascii() else len(text) * _MOST_TOKENS_A_CHARACTER
            if least > limit * _CHARS_A_TOKEN:
                return False
    except TypeError:
        return False  # it is nested too deeply to be written down
    return True if most <= limit else None


def tokens_of(result: Mapping[str, Any]) -> int:
    """The tokens that a model reads of a result, without media.

    What a server sends as text and again as structured content counts once: a client passes on one of the two.
    """
    blocks, structured = without_repetition(result)
    once = {**result, "content": blocks}
    once.pop("structuredContent", None)
    return sum(map(count_tokens, texts_of(once if structured is None else once | {"structuredContent": structured})))


def without_repetition(result: Mapping[str, Any]) -> tuple[list[Any], Any]:
    """The content blocks and the structured content of a result; what both of them say is in only one of them.

    Servers repeat their text as structured content in several ways: as a JSON value whose text it is, or under the
    only key of an object (`result` with the MCP SDK and FastMCP, `content` with the filesystem server). A list comes as
    one block for each of its items.
    """
    blocks, structured = blocks_of(result), result.get("structuredContent")
    texts = [text_of(each) for each in blocks]
    sent = [each for each in texts if each is not None]
    if structured is None or not blocks:
        return blocks, structured
    wrapped = next(iter(structured.values())) if isinstance(structured, Mapping) and len(structured) == 1 else None
    if wrapped == blocks:
        return blocks, None
    if len(sent) == 1:
        value = json_value(sent[0])
        if any(_is_same(each, sent[0]) or each == value for each in (structured, wrapped) if each is not None):
            return blocks, None
    elif sent and isinstance(wrapped, list) and wrapped in (sent, json_values(sent)):
        return [each for each, text in zip(blocks, texts, strict=True) if text is None], wrapped
    return blocks, structured


def _is_same(value: object, text: str) -> bool:
    return isinstance(value, str) and value.rstrip() == text.rstrip()


def blocks_of(result: Mapping[str, Any]) -> list[Any]:
    """The content blocks of a result, whatever they are; of what is no list there are none."""
    content = result.get("content")
    return content if isinstance(content, list) else []


def is_media(block: object) -> bool:
    """Whether a block is a picture or sound."""
    return isinstance(block, Mapping) and block.get("type") in _MEDIA


def is_light(block: Mapping[str, Any]) -> bool:
    """Whether a picture or sound is small enough to pass as it is."""
    data = block.get("data")
    return isinstance(data, str) and len(data) <= MAX_MEDIA_BYTES * 4 // 3


def text_of(block: object) -> str | None:
    """The text of a block that is one."""
    if isinstance(block, Mapping) and block.get("type") == "text" and isinstance(block.get("text"), str):
        return str(block["text"])
    return None


def json_values(texts: Sequence[str]) -> list[Any]:
    """The values of the texts as JSON, if every one of them is an object or a list; else the texts."""
    values = [json_value(each) for each in texts]
    return values if all(isinstance(each, dict | list) for each in values) else list(texts)


def json_value(text: str) -> Any:
    """The value of the text as JSON; the text itself if it is not JSON."""
    try:
        return read_json(utf8(text))
    except UnreadableJson:
        return text


def utf8(text: str) -> bytes:
    """The text as bytes; a lone surrogate, which is no character, becomes U+FFFD."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def texts_of(result: Mapping[str, Any]) -> Iterator[str]:
    """All that a model would read of a result, texts first.

    Raises:
        TypeError: A part is nested too deeply to be written down.
    """
    blocks = [each for each in blocks_of(result) if not is_media(each)]
    yield from (text for each in blocks if (text := text_of(each)) is not None)
    yield from (json_text(each) for each in blocks if text_of(each) is None)
    if result.get("structuredContent") is not None:
        yield json_text(result["structuredContent"])
    yield from (json_text(value) for name, value in result.items() if name not in KNOWN_FIELDS)


def _has_light_media(result: Mapping[str, Any]) -> bool:
    media = [each for each in blocks_of(result) if is_media(each)]
    return len(media) <= MAX_MEDIA and all(map(is_light, media))
