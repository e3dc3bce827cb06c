"""Languages that source text is written in: what tells them, and which lines make an outline.

Every pattern begins at a line and repeats only a bounded number of times, so that a search takes linear time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from toolcrib_mcp.firewall.diffs import looks_like_diff
from toolcrib_mcp.firewall.lines import PREFIX_BYTES

_MIN_HITS = 3
_SHARE = 0.04
_SETTINGS_SHARE = 0.6
_SETTINGS = frozenset({"toml", "css", "env"})
_SHEBANG = re.compile(rb"#![^\n]{0,100}?\b(?:(ba|z|da|k)?sh|python|node|deno|bun|ruby|php)[\d.]{0,6}\b")
_INTERPRETED = {b"python": "python", b"node": "javascript", b"deno": "typescript", b"bun": "javascript"}
_COMMENT = re.compile(rb"[ \t]*[#;]")
# YAML line by line; what is indented below a `|` or `>` is text.
_YAML_KEY = re.compile(
    rb"( *(?:- +)*)([\w$@<.\-/]{1,80}|\"[^\"\n]{1,80}\"|'[^'\n]{1,80}') ?:(?:[ \t]+(\S[^\n]{0,400}))?[ \t\r]*$"
)
_YAML_ITEM = re.compile(rb"( *)-(?: +(\S[^\n]{0,400}))?[ \t\r]*$")
_YAML_TEXT = re.compile(rb"(?:!\S{1,40} )?[|>][+\-\d]{0,2}(?: +#.*)?[ \t\r]*$")
_YAML_MARK = re.compile(rb"(?:---|\.\.\.|%YAML)(?:[ \t\r]|$)")
_SENTENCE = re.compile(rb"(?:\S+[ \t]+){5}|[^\"']{8}[.!?][ \t\r]*$")
_NATURAL = re.compile(rb"[A-Z][a-z]*$")
_YAML_SHARE = 0.9


@dataclass(frozen=True)
class Language:
    """One language: `hints` are typical lines, `outline` those that define something."""

    name: str
    hints: re.Pattern[bytes]
    outline: re.Pattern[bytes]
    things: str = "definitions"
    weight: float = 1.0

    @property
    def title(self) -> str:
        """What a text in this language is called at the beginning of a sentence."""
        return _TITLES.get(self.name) or f"{self.name.capitalize()} source"


def _language(name: str, hints: bytes, outline: bytes, *, things: str = "definitions", weight: float = 1.0) -> Language:
    return Language(name, re.compile(rb"(?m)^" + hints), re.compile(rb"(?m)^" + outline), things, weight)


_INDENT = rb"[ \t]{0,12}"

LANGUAGES: tuple[Language, ...] = (
    _language(
        "python",
        _INDENT
        + rb"(?:(?:async )?def \w+\(|class \w+[:(]|from [\w.]+ import |import [\w.]+$|elif |except[ :]|self\.\w)",
        _INDENT + rb"(?:async def|def|class) \w{1,100}",
    ),
    _language(
        "typescript",
        _INDENT + rb"(?:(?:export )?(?:interface|type|enum) \w+|import (?:type )?[{*\w].{0,200} from ['\"]"
        rb"|(?:private|public|readonly) \w+[:(]|const \w+: )",
        _INDENT
        + rb"(?:export )?(?:default )?(?:abstract )?(?:async )?(?:function\*?|class|interface|enum|type|namespace)"
        rb" \w{1,100}|(?:export )?const \w{1,100}(?:: [^=\n]{1,100})? = (?:async )?\(",
        weight=1.2,
    ),
    _language(
        "javascript",
        _INDENT
        + rb"(?:(?:const|let|var) [\w{\[]|(?:export )?(?:default )?(?:async )?function\b|module\.exports|\}\);?$"
        rb"|import .{0,200} from ['\"]|=> \{|return .{0,200};$)",
        _INDENT + rb"(?:export )?(?:default )?(?:async )?(?:function\*?|class) \w{1,100}"
        rb"|(?:export )?const \w{1,100} = (?:async )?(?:\(|function)",
        weight=0.8,
    ),
    _language(
        "go",
        rb"(?:package \w+$|func [\w(]|import \(|type \w+ (?:struct|interface)|\t.{0,80} := |\tif err != nil)",
        rb"(?:func (?:\([^)\n]{0,80}\) )?\w{1,100}|type \w{1,100} \w{1,20})",
    ),
    _language(
        "rust",
        _INDENT + rb"(?:(?:pub )?(?:fn|struct|enum|trait|mod|use) \w|impl\b|let (?:mut )?\w+|#\[\w|match \w.{0,80}\{$)",
        _INDENT + rb"(?:pub(?:\(\w{1,10}\))? )?(?:async )?(?:unsafe )?(?:fn|struct|enum|trait|mod|macro_rules!|impl)\b"
        rb"[^\n{;]{1,100}",
    ),
    _language(
        "java",
        _INDENT + rb"(?:package [\w.]+;|import (?:static )?[\w.*]+;|using [\w.]+;|namespace [\w.]+|@Override"
        rb"|(?:public|private|protected|internal) [\w<>\[\], ]{1,80}[({;=])",
        _INDENT
        + rb"(?:(?:public|private|protected|internal|static|final|abstract|sealed|partial|async|override) ){0,4}"
        rb"(?:(?:class|interface|enum|record|struct|namespace) [\w.]{1,100}|(?<= )[\w<>\[\],.]{1,60} \w{1,80}\()",
        weight=1.3,
    ),
    _language(
        "c",
        rb"(?:#(?:include|define|ifndef|ifdef|endif|pragma)\b|(?:static |const |unsigned ){0,3}(?:int|void|char|double)"
        rb" \*?\w+|typedef |using namespace |template ?<|std::)",
        rb"(?:(?:typedef )?(?:struct|class|enum|union|namespace) \w{1,100}"
        rb"|[A-Za-z_][\w:<>*& ]{0,40}[ *&]\w[\w:~]{0,60}\([^;\n]{0,200}$"
        rb"|#define \w{1,80})",
    ),
    _language(
        "ruby",
        _INDENT + rb"(?:def \w+|class [A-Z]\w*|module [A-Z]\w*|end$|require(?:_relative)? ['\"]|attr_\w+ :|\w+ do \|)",
        _INDENT + rb"(?:def|class|module) [\w.:?!=]{1,100}",
        weight=0.9,
    ),
    _language(
        "php",
        _INDENT + rb"(?:<\?php|\$\w+ ?=|\$this->|(?:public|private|protected) (?:static )?function "
        rb"|use [\w\\]+;|namespace [\w\\]+;)",
        _INDENT
        + rb"(?:(?:abstract|final|public|private|protected|static) ){0,3}(?:function|class|interface|trait) \w{1,100}",
        weight=1.5,
    ),
    _language(
        "shell",
        rb"(?:#!.{0,40}(?:ba|z|da)?sh\b|"
        + _INDENT
        + rb"(?:if \[|fi$|done$|esac$|then$|export \w+=|echo |set -[eux]|\w+\(\) ?\{))",
        rb"(?:function [\w-]{1,80}|[\w-]{1,80} ?\(\) ?\{)",
    ),
    _language(
        "sql",
        rb"(?i:"
        + _INDENT
        + rb"(?:select |insert into |create (?:or replace )?\w+ |alter table |update \w+ set|delete from |from \w+$"
        rb"|where |drop \w+ |(?:left |inner )?join |group by |order by ))",
        rb"(?i:(?:create (?:or replace )?(?:temp(?:orary)? )?(?:unique )?(?:table|view|index|function|procedure"
        rb"|trigger|type|schema)|alter table"
        rb"|insert into)[^\n(]{1,100})",
        weight=1.2,
    ),
    _language(
        "css",
        _INDENT + rb"(?:[.#@a-z][\w\-.#:,> ()\[\]=\"*]{0,100} \{$|[a-z-]{2,40}: [^{};\n]{1,100};$)",
        rb"[.#@:a-zA-Z*\[][^{}\n;]{0,100}\{",
        things="rules",
        weight=0.8,
    ),
    _language(
        "toml",
        rb"(?:\[{1,2}[\w.\-\" ]{1,80}\]{1,2}$|[\w.\-]{1,60} ?= ?[^;{}\n]{0,200}$)",
        rb"\[{1,2}[^\]\n]{1,80}\]{1,2}",
        things="tables",
        weight=0.7,
    ),
    _language(
        "env",
        rb"(?:export )?[A-Za-z_]\w{0,80}=[^\n]{0,200}$",
        rb"(?:export )?[A-Za-z_]\w{0,80}=",
        things="variables",
        weight=0.75,
    ),
)
YAML = _language("yaml", rb"(?!)", rb"[\w.\-/\"]{1,60}:", things="top-level keys")
DIFF = _language("diff", rb"(?!)", rb"\+\+\+ ", things="files")
JSON_TEXT = _language("json", rb"\s*[\[{]", rb" {0,4}\"[^\"\n]{1,80}\" ?:", things="keys")
OTHER = _language("unknown", rb"(?!)", rb"(?!)")

_TITLES = {
    "unknown": "Source text",
    "json": "JSON text",
    "typescript": "TypeScript source",
    "javascript": "JavaScript source",
    "java": "Java or C# source",
    "c": "C or C++ source",
    "php": "PHP source",
    "sql": "SQL source",
    "css": "CSS source",
    "yaml": "YAML",
    "toml": "TOML or INI",
    "env": "Environment variables",
}
_MEDIA = {
    "python": "python",
    "javascript": "javascript",
    "ecmascript": "javascript",
    "typescript": "typescript",
    "java": "java",
    "csharp": "java",
    "csrc": "c",
    "c++src": "c",
    "c": "c",
    "go": "go",
    "rust": "rust",
    "ruby": "ruby",
    "php": "php",
    "sh": "shell",
    "shellscript": "shell",
    "sql": "sql",
    "css": "css",
    "yaml": "yaml",
    "toml": "toml",
    "diff": "diff",
    "patch": "diff",
}


def language_of_media(media_type: str) -> Language | None:
    """The language that a media type names, like `text/x-python` or `application/yaml`."""
    name = _MEDIA.get(media_type.rpartition("/")[2].removeprefix("x-").removeprefix("vnd."))
    return _named(name)


def is_script(content: bytes) -> bool:
    """Whether the text names the program that runs it."""
    return content.startswith((b"#!/", b"#! /"))


def language_of(content: bytes) -> Language | None:
    """The language that enough of the first 64 KiB is typical of; None when it may as well be prose."""
    prefix = content[:PREFIX_BYTES]
    if is_script(prefix):
        return _interpreted(prefix)
    if looks_like_diff(prefix):
        return DIFF
    if _looks_like_yaml(prefix):
        return YAML
    every = [line for line in prefix.split(b"\n") if line.strip()]
    comments = sum(_COMMENT.match(line) is not None for line in every)
    best, most = None, 0.0
    for language in LANGUAGES:
        hits = sum(1 for _ in language.hints.finditer(prefix))
        # Comments say nothing about a file of settings, and may be most of it.
        needed = _SETTINGS_SHARE * (len(every) - comments) if language.name in _SETTINGS else _SHARE * len(every)
        if hits >= _MIN_HITS and hits >= needed and hits * language.weight > most:
            best, most = language, hits * language.weight
    return best


def _named(name: str | None) -> Language | None:
    return next((each for each in (*LANGUAGES, YAML, DIFF) if each.name == name), None)


def _interpreted(content: bytes) -> Language:
    """The language of a script, by the program in its first line."""
    found = _SHEBANG.match(content)
    if found is None:
        return OTHER
    program = re.split(rb"[\d.]", found[0].rpartition(b"/")[2].split()[-1])[0]
    return _named(_INTERPRETED.get(program) or ("shell" if program.endswith(b"sh") else program.decode())) or OTHER


def _looks_like_yaml(content: bytes) -> bool:
    """Whether nearly every line is one of YAML, and at least one is nested or a marker of YAML.

    Prose, mails and lists of `key: value` lines have no nesting, or sentences where YAML has values. A key occurs
    once in a document: what repeats its keys is a list of something else.
    """
    read = _YamlLines()
    for line in content.split(b"\n"):
        if not read.accept(line):
            return False
    lines = read.keys + read.items
    return (
        lines >= _MIN_HITS
        and read.keys > 0
        and lines >= _YAML_SHARE * (lines + read.others)
        and (read.nested or read.marked)
        and 2 * read.sentences <= lines
        and (read.indented or 2 * read.natural <= read.keys)
    )


@dataclass
class _YamlLines:
    """The lines of a text, as far as they are read as YAML."""

    keys: int = 0
    items: int = 0
    others: int = 0
    sentences: int = 0
    natural: int = 0
    """Keys that are capitalised words, as headings in prose are."""
    nested: bool = False
    indented: bool = False
    marked: bool = False
    top: set[bytes] = field(default_factory=set)
    text_indent: int | None = None
    """Indentation of the key whose value is the text block that is being read."""
    opened: bool = False
    """Whether the last line is a key without a value."""

    def accept(self, line: bytes) -> bool:
        """Read one line; False if no YAML document can have it."""
        indent = len(line) - len(line.lstrip(b" "))
        if not line.strip() or line.lstrip(b" ").startswith(b"#"):
            return True
        if self.text_indent is not None:
            if indent > self.text_indent:
                return True
            self.text_indent = None
        if _YAML_MARK.match(line):
            self.marked = True
            self.top.clear()
            return True
        key, item = _YAML_KEY.match(line), _YAML_ITEM.match(line)
        if key is not None:
            return self._accept_key(len(key[1]), key[2], key[3] or b"", is_item=b"-" in key[1])
        if item is None:
            self.others += 1
        else:
            self.items += 1
            self.nested = self.nested or self.opened
            self._read_value(indent, item[2] or b"")
        self.opened = False
        return True

    def _accept_key(self, indent: int, name: bytes, value: bytes, *, is_item: bool) -> bool:
        self.keys += 1
        self.natural += _NATURAL.match(name) is not None
        self.nested = self.nested or is_item or (self.opened and indent > 0)
        self.indented = self.indented or indent > 0
        self.opened = not value
        self._read_value(indent, value)
        if indent == 0:
            if name in self.top:
                return False
            self.top.add(name)
        return True

    def _read_value(self, indent: int, value: bytes) -> None:
        if _YAML_TEXT.match(value):
            self.text_indent = indent
        self.sentences += _SENTENCE.match(value) is not None and value[:1] not in b"\"'[{&*!"
