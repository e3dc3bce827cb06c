"""What a card may say about a tool: one line of prose, without schemas, examples or the server's address."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from toolcrib_core.definition import ToolDefinition

MAX_TAGS = 5
MAX_TAG_LENGTH = 24

# A card holds at most 80 tokens of at most 128 bytes; twice that leaves room for what is taken out.
_WINDOW = 20_480
_MCP_TRANSPORTS = frozenset({"stdio", "sse", "streamable-http"})
# Emoji and several scripts need them; every other invisible character could hide text from a person.
_JOINERS = frozenset("\u200c\u200d")

# Each pattern takes linear time on any text: what repeats is possessive or bounded.
_CODE_BLOCK = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_EXAMPLES = re.compile(
    r"(?:\A|(?<=\n)|(?<=[.!?]\s))[ \t]*+[#*>-]*+[ \t]*+"
    r"(?:usage[ \t]++)?examples?(?:[ \t]++[a-z]++)?[ \t]*+\**+[ \t]*+:.*",
    re.DOTALL | re.IGNORECASE,
)
_SCHEMA_SECTION = re.compile(
    r"(?:\b(?:input|output|args|parameters?)[_ ]?schema|\$schema|\$defs)\b\W{0,4}[:=].*", re.DOTALL | re.IGNORECASE
)
# JSON, JSON in a string, a Python dict, a JavaScript object: `{"type":`, `{\"type\":`, `{'type':`, `{type:`.
_OBJECT_START = re.compile(r"\{\s*+\\*+[\"']?[$\w.-]{1,64}+\\*+[\"']?\s*+:")
_BRACKET = re.compile(r"[{}\[\]]")
_URL_HOST = re.compile(r"://(?:[^\s/?#@]{0,256}@)?(?P<host>\[[0-9a-f:.]{2,64}\]|\w(?:[\w.-]{0,251}\w)?)")
_BARE_HOST = re.compile(r"(?P<host>[\w-]++(?:\.[\w-]++)++|[\w-]++(?=:\d))(?::\d++)?(?:/\S*)?")
_WORD_EDGE = re.compile(r"([\s\"'`<>(),;]+)")
_EMPTY_BRACKETS = re.compile(r"\( ?\)|\[ ?\]|< ?>|` ?`|\" ?\"|' ?'")
_SPACE_BEFORE_STOP = re.compile(r" (?=[.,;!?](?: |\Z))")
_ONLY_PUNCTUATION = re.compile(r"[\s!-/:-@\[-`{-~…]*")
# `stdio`, `over SSE`, `the streamable HTTP transport`. HTTP is what many tools are about: it goes where the text calls
# it a transport or says what something travels over.
_TRANSPORT = r"(?:stdio|sse|streamable[-_ ]?https?)"
_NAMED_TRANSPORT = re.compile(
    rf"(?:\b(?:over|via|through|using) )?+(?:\bthe )?+(?<![\w/.-]){_TRANSPORT}"
    rf"(?:(?:,? and |,? or |, |[/&|]){_TRANSPORT}){{0,8}}+(?![\w/])(?: transports?)?+"
    r"|\b(?:over|via) (?:plain )?+(?:https?|wss?|websockets?)(?!\w|://)"
    r"|(?<!\w)(?:https?|wss?|websockets?)[- ]transport\b"
    r"|\btransport ?+(?:[:=]|is\b) ?+[\"'`]?+(?:https?|wss?|websockets?)(?!\w|://)",
    re.IGNORECASE,
)
_NAME_PARTS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[_.\-\s]+")


class CardText(NamedTuple):
    """The prose and the tags that a card may show."""

    description: str
    tags: tuple[str, ...]


def card_text(definition: ToolDefinition, *, withhold: Iterable[str] = ()) -> CardText:
    """What a card may show of a definition; the description is on one line and not yet cut to size.

    Left out are object literals (`…` stands for them), code blocks, sections of examples or schemas, every text in
    `withhold`, each word that names a host of `withhold` or of a URL in the metadata, and the names of transports. When
    nothing is left of the description the title speaks, or else the name in words. The tags are the author's first five
    that are short enough, sorted.
    """
    withheld = _Withheld(definition.metadata, withhold)
    tags = [tag for tag in definition.tags if len(tag) <= MAX_TAG_LENGTH and not withheld.spelt_by_tag(tag)]
    return CardText(_description(definition, withheld), tuple(sorted(tags[:MAX_TAGS])))


def one_line(text: str) -> str:
    """The text on one line: white space and control characters become single spaces, invisible ones go."""
    if not text.isprintable():
        text = "".join(map(_visible, text))
    return " ".join(text.split())


class _Withheld:
    """What must not appear on the card of one tool."""

    def __init__(self, metadata: Mapping[str, object], given: Iterable[str]) -> None:
        given = list(filter(None, (one_line(text).lower() for text in given)))
        texts = [(key.lower(), text.lower()) for key, text in _texts(metadata)]
        transports = {text for key, text in texts if "transport" in key and "://" not in text}
        urls = [*given, *(text for _, text in texts)]
        self._hosts = {match["host"] for url in urls for match in _URL_HOST.finditer(url)} | _bare_hosts(given)
        self._phrases = {*given, *transports}
        self._tags = {_as_tag(text) for text in (*self._hosts, *given, *transports)} | _MCP_TRANSPORTS

    def taken_out_of(self, text: str) -> str:
        """The prose of the text, on one line, without any of it."""
        kept = self._without_hosts(text)
        line = _prose(kept)
        # Hosts go first because a section may end inside an address, and again because one may be whole only now.
        bare = _NAMED_TRANSPORT.sub("", self._without_phrases(self._without_hosts(line)))
        return line if kept == text and bare == line else _tidy(bare)

    def spelt_by_tag(self, tag: str) -> bool:
        """Whether the tag, in which every separator has become `-`, spells any of it."""
        return tag in self._tags or any("-" in each and f"-{each}-" in f"-{tag}-" for each in self._tags)

    def _without_hosts(self, text: str) -> str:
        lower = text.lower()
        hosts = [host for host in sorted(self._hosts) if host in lower]
        if not hosts:
            return text
        return "".join(_end_of(word) if _names_any(word, hosts) else word for word in _WORD_EDGE.split(text))

    def _without_phrases(self, line: str) -> str:
        for phrase in sorted(self._phrases, key=lambda each: (-len(each), each)):
            if phrase in line.lower():
                line = re.sub(rf"(?<!\w){re.escape(phrase)}(?!\w|://)", " ", line, flags=re.IGNORECASE)
        return line


def _description(definition: ToolDefinition, withheld: _Withheld) -> str:
    for text in (definition.description, definition.title or ""):
        line = withheld.taken_out_of(_beginning(text))
        if _ONLY_PUNCTUATION.fullmatch(line) is None:
            return line
    return one_line(_NAME_PARTS.sub(" ", definition.name)) or definition.name


def _beginning(text: str) -> str:
    if len(text) <= _WINDOW:
        return text
    # Not inside a word: half an address would not be recognised as one.
    parts = text[:_WINDOW].rsplit(None, 1)
    return parts[0] if parts else ""


def _prose(text: str) -> str:
    for section in (_CODE_BLOCK, _EXAMPLES, _SCHEMA_SECTION):
        text = section.sub(" ", text)
    return one_line(_without_objects(text))


def _tidy(line: str) -> str:
    return one_line(_SPACE_BEFORE_STOP.sub("", one_line(_EMPTY_BRACKETS.sub(" ", line))))


def _without_objects(text: str) -> str:
    kept: list[str] = []
    position = 0
    while found := _OBJECT_START.search(text, position):
        start = position + len(text[position : found.start()].rstrip("{[ \t\r\n"))
        kept.append(text[position:start])
        position = _after_closing_bracket(text, start)
    return "…".join([*kept, text[position:]])


def _after_closing_bracket(text: str, start: int) -> int:
    depth = 0
    for bracket in _BRACKET.finditer(text, start):
        depth += 1 if bracket[0] in "{[" else -1
        if depth == 0:
            return bracket.end()
    return len(text)


def _visible(char: str) -> str:
    category = unicodedata.category(char)
    if category in {"Cc", "Zl", "Zp", "Zs"}:
        return " "
    return "" if category in {"Cf", "Co", "Cs"} and char not in _JOINERS else char


def _texts(value: object) -> Iterator[tuple[str, str]]:
    """Every text in a JSON value, with the key it stands under."""
    rest: list[tuple[str, object]] = [("", value)]
    while rest:
        key, each = rest.pop()
        if isinstance(each, str):
            yield key, each
        elif isinstance(each, Mapping):
            rest.extend(each.items())
        elif isinstance(each, list | tuple):
            rest.extend((key, item) for item in each)


def _bare_hosts(given: list[str]) -> set[str]:
    return {match["host"] for text in given if (match := _BARE_HOST.fullmatch(text))}


def _names_any(word: str, hosts: list[str]) -> bool:
    lower = word.lower()
    return any(host in lower and _is_address(lower, host) for host in hosts)


def _is_address(word: str, host: str) -> bool:
    # A host such as `github` is an ordinary word too: it is an address only with a scheme or a port.
    if "." in host or ":" in host or host == "localhost":
        return True
    return re.search(rf"//(?:[^/@]*@)?{re.escape(host)}\b|\b{re.escape(host)}:\d", word) is not None


def _end_of(word: str) -> str:
    """The punctuation that ends a sentence, which stays when its last word goes."""
    return word[-1] if word[-1] in ".!?" else ""


def _as_tag(text: str) -> str:
    return re.sub(r"[\W_]+", "-", text).strip("-")
