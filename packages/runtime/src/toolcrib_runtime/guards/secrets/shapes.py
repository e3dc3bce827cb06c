"""What secrets look like: patterns of well-known tokens, headers, URLs and assignments, and of absolute paths.

Every pattern takes linear time. What a pattern has scanned it either matches, and so never scans again, or it gives up
at a character that its next start cannot be before; look-ahead is bounded by a number.
"""

from __future__ import annotations

import re

from toolcrib_runtime.guards.secrets.secret import REDACTED
from toolcrib_runtime.guards.secrets.shape import EDGE, Shape, shape
from toolcrib_runtime.guards.secrets.vendors import VENDOR_TOKENS

_NAMES = (
    r"(?:passw(?:or)?d|passphrase|secret(?:[_-]?key)?|credential|api[_-]?key|private[_-]?key|access[_-]?key|signature"
    r"|(?:account|encryption|license|master|service|signing|storage)[_-]?key|connection[_-]?string"
    r"|(?:access|auth|bearer|id|refresh|secret|session)[_-]?token|(?<![a-z0-9_-])(?:token|pwd|sig))"
)
_NAME_TRACES = ("passw", "passphrase", "secret", "credential", "key", "token", "pwd", "sig", "connection")
# What stands for a secret that somebody is to put there.
_PLACEHOLDER = (
    r"\$[{(]|\$[a-z_]{3,40}(?![\w$!-])|\{\{|\{[a-z_][\w.]{0,40}\}|<[a-z]|%[({]|\*{3}|x{3}|\.{3}"
    r"|\[(?:hidden|redacted)|your[_ -]|my_(?:api|key|pass|secret|token)"
)
# What stands right of a name in a program: a constant, the same name again, a call, a member, a variable after a space.
_CODE = (
    rf"{_PLACEHOLDER}|[\[({{?:]|(?:none|null|nil|true|false|undefined|await|new|key|value|sha[0-9]{{1,3}}"
    rf"|(?:[a-z]{{1,20}}_|_){{0,6}}{_NAMES}s?)(?![\w-])|(?<=tokens=)[0-9]|(?<=tokens = )[0-9]"
    r"|[a-z_$][\w$]{0,60}(?:\.[a-z_$][\w$]{0,60}){0,8}[(\[]|[a-z_$]{1,60}(?:\.[a-z_$]{1,60}){1,8}(?![\w.])"
    r"|(?:@|~?/|\./)[\w./-]{1,120}\.[a-z]{2,5}(?![\w./+=-])|(?<=[ \t])[a-z_$]{1,40}(?![\w$.+/=-])"
)
_SCHEMES = r"(?:basic|bearer|token|digest|apikey|key|bot|negotiate|aws4-hmac-sha256)"
# In escaped quotes or in plain ones, up to the closing one or the end of the text; groups 2 and 3 are the opening ones.
_QUOTED = r"(?:(\\[\"'])(?:(?!\2)[\s\S])++|([\"'])(?:\\[\s\S]|(?!\3)[^\\])++)"
_KEY_FRAME = r"-----{} [A-Z0-9 ]{{0,40}}PRIVATE KEY(?: BLOCK)?-----"


PRIVATE_KEY = shape(
    "private key",
    # Without its end it is still a key that was cut off; without a beginning it is only the word for one.
    pattern=rf"{_KEY_FRAME.format('BEGIN')}(?=[\r\n]|\\[nr]|[ \t][A-Za-z0-9+/]{{16}})"
    rf"(?:[A-Za-z0-9+/=\s\\:,]|-(?!----))*+(?:{_KEY_FRAME.format('END')})?",
)

_NAMED: tuple[Shape, ...] = (
    PRIVATE_KEY,
    shape(
        "authorization",
        "api-key",
        "auth-token",
        "cookie",
        # After a scheme anything is a secret, and without one what has a digit: "authorization: see below" is prose.
        pattern=r"((?:authorization|(?<![a-z0-9])x-api-key|x-auth-token|cookie)\\?[\"']?\s{0,4}(?::|=(?!=))\s{0,4}\\?[\"']?)"
        rf"(?=(?:{_SCHEMES}\s{{1,4}}(?!{_PLACEHOLDER})[^\s\"'\\]|[^\s\"'\\]{{0,200}}[0-9=]))[^\s\"'\\][^\r\n\"'\\]*",
        replacement=rf"\1{REDACTED}",
        ignore_case=True,
    ),
    shape(
        "bearer",
        # Words of prose have no digit: "bearer authentication" is not a secret.
        pattern=rf"{EDGE}(bearer\s{{1,4}})(?=[a-z._~+/=-]{{0,64}}[0-9])[a-z0-9._~+/=-]{{8,}}",
        replacement=rf"\1{REDACTED}",
        ignore_case=True,
    ),
    shape(
        "://",
        pattern=rf"(://[^\s/@:?#\"'\\]*):(?!{_PLACEHOLDER})[^\s/@\"'\\]+@",
        replacement=rf"\1:{REDACTED}@",
        ignore_case=True,
    ),
    shape(
        *_NAME_TRACES,
        # `token: 'x'` without quotes around the name is what parsers say of any token.
        pattern=rf"({_NAMES}s?(?:\\?[\"']\s{{0,4}}(?::|=>)|\s{{0,4}}=>?)\s{{0,4}})(?!\\?[\"'](?:{_PLACEHOLDER}|\s{{0,4}}[+)]|string[\"'\\])){_QUOTED}",
        replacement=rf"\1\2\3{REDACTED}",
        ignore_case=True,
    ),
    shape(
        *_NAME_TRACES,
        pattern=rf"({_NAMES}s?[ \t]{{0,4}}=(?!=)[ \t]{{0,4}})(?!{_CODE})[^\s&\"'\\<>,;]{{3,}}",
        replacement=rf"\1{REDACTED}",
        ignore_case=True,
    ),
    shape(
        *_NAME_TRACES,
        # As in YAML, alone on its line or in quotes. With a digit: `password: required` is a word about one.
        pattern=rf"({_NAMES}s?[ \t]{{0,4}}:[ \t]{{1,4}}([\"']?))(?!{_CODE})(?=[^\s\"'\\]{{0,64}}[0-9])"
        r"[^\s\"'\\<>,;]{6,}+(?(2)(?=\2)|(?=[ \t]*(?:[\r\n#]|\Z)))",
        replacement=rf"\1{REDACTED}",
        ignore_case=True,
    ),
    shape(
        *_NAME_TRACES,
        pattern=rf"(<[\w.:-]{{0,40}}?{_NAMES}s?>)(?!{_CODE})(?=[^<>\s]{{0,64}}[0-9])[^<>\s]{{6,}}(?=</)",
        replacement=rf"\1{REDACTED}",
        ignore_case=True,
    ),
    shape(
        *("password", "_key", "sshpass", "auth="),
        # As the arguments of commands, in a `.netrc`, and as a pair of a user and a password.
        pattern=r"((?:login[ \t]{1,4}[^\s]{1,80}[ \t]{1,4}password|secret_(?:access_)?key|sshpass -p)[ \t]{1,4}"
        r"|auth=\([\"'][^\"'\r\n]{0,80}[\"'],[ \t]{0,4}[\"'])(?=[^\s\"']{0,64}[0-9])[^\s\"'$<]{6,}",
        replacement=rf"\1{REDACTED}",
        ignore_case=True,
    ),
    shape(
        "_key",
        pattern=r"(?<![A-Za-z0-9])([A-Z][A-Z0-9]{0,30}(?:_[A-Z0-9]{1,30}){0,6}_KEY[\"']?[ \t]{0,4}[:=][ \t]{0,4}[\"']?)"
        r"(?=[A-Za-z+/_=-]{0,64}[0-9])[A-Za-z0-9+/_=-]{20,}",
        replacement=rf"\1{REDACTED}",
    ),
)

TOKENS: tuple[Shape, ...] = (
    shape("eyj", pattern=rf"{EDGE}(?<![_-])eyJ[A-Za-z0-9_-]{{8,}}+\.[A-Za-z0-9_-]{{8,}}+(?:\.[A-Za-z0-9_-]*+)?"),
    shape("sk-", pattern=rf"{EDGE}sk-(?=[A-Za-z_-]{{0,40}}[0-9])[A-Za-z0-9_-]{{16,}}"),
    shape("k_live_", "k_test_", "whsec_", pattern=r"(?:[prs]k_(?:live|test)|whsec)_[A-Za-z0-9+/=]{10,}"),
    shape(
        *(f"gh{each}_" for each in "opusr"),
        "github_pat_",
        pattern=r"gh[opusr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}",
    ),
    shape("gl", pattern=rf"{EDGE}gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat|ffct)-[A-Za-z0-9_.-]{{16,}}"),
    shape("xox", "xapp-", pattern=r"(?:xox[a-z]|xapp)-[A-Za-z0-9-]{10,}"),
    shape(
        "hooks.slack.com/",
        "/api/webhooks/",
        "webhook.office.com/",
        pattern=r"((?:hooks\.slack\.com/[a-z]{4,12}|/api/webhooks/[0-9]{10,25}|webhook\.office\.com/[a-z0-9]{4,12})/)"
        r"[A-Za-z0-9/@_+-]{20,}",
        replacement=rf"\1{REDACTED}",
    ),
    shape("akia", "asia", "abia", "acca", pattern=rf"{EDGE}(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{{16}}(?![A-Za-z0-9])"),
    shape(
        *("aiza", "ya29.", "gocspx-", "1//0"),
        pattern=r"AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9_-]{20,}|GOCSPX-[A-Za-z0-9_-]{20,}"
        rf"|{EDGE}1//0[A-Za-z0-9_-]{{30,}}",
    ),
    shape(
        *("npm_", "hf_", "pypi-", "rubygems_", "dckr_"),
        pattern=rf"(?:npm_|{EDGE}(?:hf|api_org)_)[A-Za-z0-9]{{30,}}|pypi-[A-Za-z0-9_-]{{32,}}|rubygems_[0-9a-f]{{40,}}"
        r"|dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}",
    ),
    shape("q~", pattern=r"(?<![A-Za-z0-9_~.-])[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}(?![A-Za-z0-9_~-])"),
    shape("sg.", pattern=rf"{EDGE}SG\.[A-Za-z0-9_-]{{16,32}}\.[A-Za-z0-9_-]{{16,64}}"),
    shape("sk", pattern=rf"{EDGE}SK[0-9a-f]{{32}}(?![A-Za-z0-9])"),
    shape(
        *("key-", "-us"),
        pattern=rf"{EDGE}(?:key-[0-9a-f]{{32}}|[0-9a-f]{{32}}-us[0-9]{{1,2}})(?![A-Za-z0-9-])",
    ),
    shape(":aa", pattern=r"(?<![0-9])[0-9]{8,10}:AA[A-Za-z0-9_-]{32,34}(?![A-Za-z0-9_-])"),
    shape(
        ".",
        # The letter first, and then what is before it: the engine looks for a letter fifty times as fast.
        pattern=r"[MNO](?:(?<![A-Za-z0-9_.-].)|(?<=%[0-9A-Fa-f]{2}.)|(?<=\\[nrt].))"
        r"[A-Za-z0-9][A-Za-z0-9_-]{22,26}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,45}"
        r"(?![A-Za-z0-9_-])",
    ),
    shape(
        *("dapi", "_v1_", "shp", "hvs.", "hvb.", "hvr.", "lin_", "ntn_", "r8_", "gsk_", "figd_", "sbp_", "nfp_"),
        pattern=rf"{EDGE}(?:dapi[0-9a-f]{{32}}|do[oprt]_v1_[0-9a-f]{{40,}}|shp(?:at|ca|pa|ss)_[0-9a-fA-F]{{32}}"
        r"|hv[bsr]\.[A-Za-z0-9_-]{24,}|lin_(?:api|oauth)_[A-Za-z0-9]{32,}|ntn_[A-Za-z0-9]{40,}|r8_[A-Za-z0-9]{30,}"
        r"|gsk_[A-Za-z0-9]{40,}|figd_[A-Za-z0-9_-]{30,}|sbp_[0-9a-f]{40}|nfp_[A-Za-z0-9]{30,})",
    ),
    shape(
        *("atatt3", "glsa_", "glc_", "sntry", "nrak-", "pmak-", "tskey-", "age-secret-key-", "pplx-", "xai-"),
        pattern=rf"{EDGE}(?:ATATT3[A-Za-z0-9_=-]{{40,}}|gl(?:sa|c)_[A-Za-z0-9_+/=]{{30,}}|sntry[su]_[A-Za-z0-9_+/=]{{40,}}"
        r"|NRAK-[A-Z0-9]{20,}|PMAK-[0-9a-f]{24}-[0-9a-f]{30,}|tskey-[a-z]{3,10}-[A-Za-z0-9-]{16,}"
        r"|AGE-SECRET-KEY-1[A-Z0-9]{50,}|(?:pplx|xai)-[A-Za-z0-9]{40,})",
    ),
    # Our own access tokens. An approval, behind its `tcap1.`, looks as the tokens of the first shape do.
    shape("tcat_", pattern=rf"{EDGE}tcat_[A-Za-z0-9_-]{{40,}}"),
)
"""Tokens that are known by their own form, wherever they stand."""

SHAPES: tuple[Shape, ...] = _NAMED + TOKENS + VENDOR_TOKENS
"""Secrets by the name before them, and tokens by their own form."""

PATHS: tuple[Shape, ...] = (
    # In quotes a path may have spaces. Only the directories go: the name of the file helps, and tells little.
    shape("/", pattern=r"(?<=[\"'`])(?:file://)?/(?!/)[^\"'`\r\n]*/", replacement="…/"),
    shape("/", pattern=r"(?:(?<![\w.~/<-])|(?<=file://))/(?!/)(?:[^\s/\"'`<>:|,;()\[\]{}]+/)+", replacement="…/"),
)

_SECRET_NAME = re.compile(rf"(?:{_NAMES}|authorization|cookie)s?$", re.IGNORECASE)


def names_a_secret(key: str) -> bool:
    """Whether the value under this key of an object is a secret by its name alone."""
    return _SECRET_NAME.search(key) is not None


def replace_shapes(text: str, shapes: tuple[Shape, ...]) -> str:
    """The text with everything replaced that has one of the shapes."""
    lowered = text.lower()
    for each in shapes:
        # A loop, since two hundred calls of `any` would take longer than all the looking.
        for trace in each.traces:
            if trace in lowered:
                text = each.pattern.sub(each.replacement, text)
                break
    return text
