"""Languages that source text is written in: what tells them, and which lines make an outline.

Every pattern begins at a line and repeats only a bounded number of times, so that a search takes linear time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from toolcrib_mcp.firewall.lines import PREFIX_BYTES

_MIN_HITS = 3
_SHARE = 0.04


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
        "diff",
        rb"(?:diff --git |@@ -\d|\+\+\+ |--- |index [0-9a-f]{7})",
        rb"\+\+\+ ",
        things="files",
        weight=4,
    ),
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
        "yaml",
        rb"(?:---$|#|(?: {2,12}(?:- )?)?[\w.\-/]{1,60}:(?: [^{};\n]{1,200})?$| {2,12}- )",
        rb"[\w.\-/\"]{1,60}:",
        things="top-level keys",
        weight=0.7,
    ),
    _language(
        "toml",
        rb"(?:\[{1,2}[\w.\-\" ]{1,80}\]{1,2}$|[\w.\-]{1,60} ?= ?[^;{}\n]{0,200}$)",
        rb"\[{1,2}[^\]\n]{1,80}\]{1,2}",
        things="tables",
        weight=0.7,
    ),
)
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
    return next((each for each in LANGUAGES if each.name == name), None)


def language_of(content: bytes) -> Language | None:
    """The language that enough of the first 64 KiB is typical of; None when it may as well be prose."""
    prefix = content[:PREFIX_BYTES]
    lines = sum(bool(line.strip()) for line in prefix.split(b"\n"))
    best, most = None, 0.0
    for language in LANGUAGES:
        hits = sum(1 for _ in language.hints.finditer(prefix))
        if hits >= _MIN_HITS and hits >= _needed(language) * lines and hits * language.weight > most:
            best, most = language, hits * language.weight
    return best


def _needed(language: Language) -> float:
    """Which share of the lines must be typical: lines with a colon or an equals sign stand in prose, too."""
    return 0.6 if language.name in {"yaml", "toml", "css"} else _SHARE
