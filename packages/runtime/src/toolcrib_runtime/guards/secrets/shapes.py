"""What secrets look like: patterns of well-known tokens, headers, URLs and assignments, and of absolute paths.

Every pattern takes linear time. What a pattern has scanned it either matches, and so never scans again, or it gives up
at a character that its next start cannot be before; look-ahead is bounded by a number.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from toolcrib_runtime.guards.secrets.secret import REDACTED

_NAMES = (
    r"(?:passw(?:or)?d|passphrase|secret|credential|api[_-]?key|private[_-]?key|access[_-]?key|signature"
    r"|(?:access|auth|bearer|id|refresh|secret|session)[_-]?token|(?<![a-z0-9_-])(?:token|pwd|sig))"
)
_NAME_TRACES = ("passw", "passphrase", "secret", "credential", "key", "token", "pwd", "sig")
# Where a token may begin: not inside a word, unless what is before is the end of an escape.
_EDGE = r"(?:(?<![A-Za-z0-9])|(?<=%[0-9A-Fa-f]{2})|(?<=\\[nrt]))"
# In escaped quotes or in plain ones, up to the closing one or the end of the text; groups 2 and 3 are the opening ones.
_QUOTED = r"(?:(\\[\"'])(?:(?!\2)[\s\S])++|([\"'])(?:\\[\s\S]|(?!\3)[^\\])++)"
_KEY_FRAME = r"-----{} [A-Z0-9 ]{{0,40}}PRIVATE KEY(?: BLOCK)?-----"


class Shape(NamedTuple):
    """One kind of secret text: where it may be at all, what it looks like, and what takes its place."""

    traces: tuple[str, ...]
    """One of these is in the lower-case text, or the pattern need not be tried: that is ten times as fast."""

    pattern: re.Pattern[str]
    replacement: str


def _shape(*traces: str, pattern: str, replacement: str = REDACTED, ignore_case: bool = False) -> Shape:
    return Shape(traces, re.compile(pattern, re.IGNORECASE if ignore_case else 0), replacement)


SHAPES: tuple[Shape, ...] = (
    _shape(
        "private key",
        # Without its end it is still a key that was cut off.
        pattern=rf"{_KEY_FRAME.format('BEGIN')}(?:[A-Za-z0-9+/=\s\\:,]|-(?!----))*+(?:{_KEY_FRAME.format('END')})?",
    ),
    _shape(
        "authorization",
        "api-key",
        "auth-token",
        "cookie",
        pattern=r"((?:authorization|(?<![a-z0-9])x-api-key|x-auth-token|cookie)\\?[\"']?\s{0,4}[:=]\s{0,4}\\?[\"']?)"
        r"[^\s\"'\\][^\r\n\"'\\]*",
        replacement=rf"\1{REDACTED}",
        ignore_case=True,
    ),
    _shape(
        "bearer",
        # Words of prose have no digit: "bearer authentication" is not a secret.
        pattern=rf"{_EDGE}(bearer\s{{1,4}})(?=[a-z._~+/=-]{{0,64}}[0-9])[a-z0-9._~+/=-]{{8,}}",
        replacement=rf"\1{REDACTED}",
        ignore_case=True,
    ),
    _shape("://", pattern=r"(://[^\s/@:?#\"'\\]*):[^\s/@\"'\\]+@", replacement=rf"\1:{REDACTED}@"),
    _shape(
        *_NAME_TRACES,
        # `token: 'x'` without quotes around the name is what parsers say of any token.
        pattern=rf"({_NAMES}s?(?:\\?[\"']\s{{0,4}}:|\s{{0,4}}=)\s{{0,4}}){_QUOTED}",
        replacement=rf"\1\2\3{REDACTED}",
        ignore_case=True,
    ),
    _shape(
        *_NAME_TRACES,
        pattern=rf"({_NAMES}s?[ \t]{{0,4}}=(?!=)[ \t]{{0,4}})[^\s&\"'\\<>,;]+",
        replacement=rf"\1{REDACTED}",
        ignore_case=True,
    ),
    _shape("eyj", pattern=rf"{_EDGE}(?<![_-])eyJ[A-Za-z0-9_-]{{8,}}+\.[A-Za-z0-9_-]{{8,}}+(?:\.[A-Za-z0-9_-]*+)?"),
    _shape("sk-", pattern=rf"{_EDGE}sk-(?=[A-Za-z_-]{{0,40}}[0-9])[A-Za-z0-9_-]{{16,}}"),
    _shape("k_live_", "k_test_", pattern=r"[prs]k_(?:live|test)_[A-Za-z0-9]{10,}"),
    _shape(
        *(f"gh{each}_" for each in "opusr"),
        "github_pat_",
        pattern=r"gh[opusr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}",
    ),
    _shape("glpat-", pattern=r"glpat-[A-Za-z0-9_-]{16,}"),
    _shape("xox", "xapp-", pattern=r"(?:xox[a-z]|xapp)-[A-Za-z0-9-]{10,}"),
    _shape("akia", "asia", pattern=rf"{_EDGE}(?:AKIA|ASIA)[A-Z0-9]{{16}}(?![A-Za-z0-9])"),
    _shape(
        "aiza", "ya29.", "gocspx-", pattern=r"AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9_-]{20,}|GOCSPX-[A-Za-z0-9_-]{20,}"
    ),
    _shape("npm_", "hf_", "pypi-", pattern=rf"(?:npm_|{_EDGE}hf_)[A-Za-z0-9]{{30,}}|pypi-[A-Za-z0-9_-]{{32,}}"),
)

PATHS: tuple[Shape, ...] = (
    # In quotes a path may have spaces. Only the directories go: the name of the file helps, and tells little.
    _shape("/", pattern=r"(?<=[\"'`])(?:file://)?/(?!/)[^\"'`\r\n]*/", replacement="…/"),
    _shape("/", pattern=r"(?:(?<![\w.~/<-])|(?<=file://))/(?!/)(?:[^\s/\"'`<>:|,;()\[\]{}]+/)+", replacement="…/"),
)

_SECRET_NAME = re.compile(rf"(?:{_NAMES}|authorization|cookie)s?$", re.IGNORECASE)


def names_a_secret(key: str) -> bool:
    """Whether the value under this key of an object is a secret by its name alone."""
    return _SECRET_NAME.search(key) is not None


def replace_shapes(text: str, shapes: tuple[Shape, ...]) -> str:
    """The text with everything replaced that has one of the shapes."""
    lowered = text.lower()
    for traces, pattern, replacement in shapes:
        if any(trace in lowered for trace in traces):
            text = pattern.sub(replacement, text)
    return text
