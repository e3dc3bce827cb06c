"""Which texts of a server are secrets: by where they stand, by what they look like, by what stands before them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Final
from urllib.parse import unquote, urlsplit

from toolcrib_mcp.config.secret_names import is_secret_name, is_setting
from toolcrib_mcp.config.transports import HttpTransport, StdioTransport, Transport
from toolcrib_runtime.guards.secrets import Scrubber
from toolcrib_runtime.guards.secrets.shapes import names_a_secret

_SECRET_PLACES: Final = ("/env/", "/headers/")
_SHAPES: Final = Scrubber()
_VARIABLE: Final = re.compile(r"\$\{[^{}]*?(?::-([^{}]*))?\}")
# Flags that give a program variables, headers, a user with a password, and flags that are mostly passwords and keys.
_ENV_FLAG: Final = re.compile(r"-[a-z]{0,3}e|--env(?:-var|ironment)?")
_HEADER_FLAG: Final = re.compile(r"-H|--?headers?")
_USER_FLAG: Final = re.compile(r"-u|--user")
_SHORT_FLAG: Final = re.compile(r"-[pkPK]")
_ANY_FLAG: Final = re.compile(r"--?[A-Za-z][\w.-]*")
_ASSIGNED: Final = re.compile(r"[A-Za-z_][\w.-]*=")
_ENV_GLUED: Final = re.compile(r"(?:--env(?:-var|ironment)?=|-[a-z]{0,3}e)[A-Z_][A-Z0-9_]*=")
_HEADER_GLUED: Final = re.compile(r"(?:-H|--?headers?=)[\w-]+:\s*")
_HEADER: Final = re.compile(r"[\w-]+\s*[:=]\s*")
_NAMED: Final = re.compile(r"([-/]{0,2})([A-Za-z_][\w.-]*)(=|:(?!//))")
_SHORT_GLUED: Final = re.compile(r"-[pkPK]=?")
# Long options that are written with one dash, as Go and Java programs have them.
_ONE_DASH: Final = re.compile(
    r"-(?:pac|page|pair|parallel|params?|parent|part|patch|path|pattern|peer|permission|persist|pid|ping|pipe|pkg|plan"
    r"|platform|plugin|policy|pool|port|post|prefix|prefer|preset|pretty|preview|print|priority|process|prod|profile"
    r"|project|prompt|protocol|provider|proxy|public|publish|pull|pure|push|python|keep|kernel|key(?:file|board)"
    r"|kind|kube)[a-z-]*(?:=.*)?"
)
_ORDINARY_VALUE: Final = re.compile(
    r"-.*|[0-9.:/-]{1,24}(?:/(?:tcp|udp))?|(?:\.{0,2}|~)/[\w./ -]*|\.|@[\w-]+/[\w.-]+(?:@[\w.^~-]+)?"
)
# Programs whose own `-p` names a package, before they name what they start.
_LAUNCHERS: Final = frozenset({"npx", "npm", "pnpm", "bunx", "yarn", "uvx", "uv", "pipx"})
_SCHEME: Final = re.compile(r"[A-Za-z0-9+.]{0,20}\Z")
_TELLING_PART: Final = re.compile(r"credential|key|passw|secret|token", re.IGNORECASE)
# Parts of a path that people chose, and no generator of tokens: words, and small numbers.
_ORDINARY_PART: Final = re.compile(
    r"@?(?:(?:[A-Z]?[a-z]{1,19}(?:[A-Z][a-z]{2,19}){0,3}|[A-Z]{2,12}|v?[0-9]{1,4})(?:[-_.~+ ]+|$))*"
)


def hidden_places(transport: Transport[str]) -> Mapping[str, int]:
    """The places whose own words are secrets, each with how many characters at its beginning are not.

    These are variables, headers, values of flags that carry either or a password, what looks like a token, and URLs
    that have more than a host and words: keys are often given in their queries and paths.
    """
    hidden = {place: 0 for place, text in transport.texts() if place.startswith(_SECRET_PLACES) or _looks_secret(text)}
    match transport:
        case StdioTransport(command=command, args=args):
            hidden |= {f"/args/{index}": public for index, public in _secret_arguments(command, args)}
        case HttpTransport(url=url) if _is_secret_url(url):
            hidden["/url"] = 0
    return hidden


def _secret_arguments(command: str, args: Sequence[str]) -> Iterator[tuple[int, int]]:
    before, of_launcher = "", PurePath(command).stem.lower() in _LAUNCHERS
    for index, text in enumerate(args):
        is_package = of_launcher and before in {"-p", "--package"}
        of_launcher = of_launcher and (text.startswith("-") or is_package)
        public = None if is_package else next(_public_parts(text, before), None)
        if public is not None:
            yield index, public
        before = text


def _public_parts(text: str, before: str) -> Iterator[int]:
    """How much of an argument comes before its secret, if it has one. `before` is the argument before."""
    found = _after_flag(text, before) if _ANY_FLAG.fullmatch(before) else None
    if found is not None:
        yield found
    yield from (match.end() for glued in (_ENV_GLUED, _HEADER_GLUED) if (match := glued.match(text)))
    if named := _NAMED.match(text):
        value = text[named.end() :]
        if _is_secret(named[2], value) or (named[1] and _is_secret_url(value)):
            yield named.end()
    short = _SHORT_GLUED.match(text)
    if short and _is_password(text[short.end() :]) and not _ONE_DASH.fullmatch(text):
        yield short.end()
    if _is_secret_url(text) or _looks_secret(text) or _is_secret_line(text):
        yield 0


def _after_flag(text: str, flag: str) -> int | None:
    if _ENV_FLAG.fullmatch(flag) and (assigned := _ASSIGNED.match(text)):
        return assigned.end()
    if _HEADER_FLAG.fullmatch(flag):
        header = _HEADER.match(text)
        return header.end() if header else 0
    if _USER_FLAG.fullmatch(flag) and ":" in text and not text.replace(":", "").isdigit():
        return text.index(":") + 1
    if _SHORT_FLAG.fullmatch(flag):
        return 0 if _is_password(text) else None
    return 0 if _is_secret(flag.lstrip("-"), text) else None


def _is_secret(name: str, value: str) -> bool:
    """Whether a value is a secret by its name: certainly, or unless it is a setting, a number, a path or a flag."""
    if not value:
        return False
    return names_a_secret(name) or (
        is_secret_name(name) and not (is_setting(value) or _ORDINARY_VALUE.fullmatch(value))
    )


def _is_password(value: str) -> bool:
    return bool(value) and not (
        _ORDINARY_VALUE.fullmatch(value) or is_setting(value) or ("://" in value and not _is_secret_url(value))
    )


def _is_secret_line(text: str) -> bool:
    """Whether a line for a shell, as behind `sh -c`, has an argument that is a secret."""
    if not re.search(r"\s", text):
        return False
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    return len(words) > 1 and any(True for _ in _secret_arguments("", words))


def _is_secret_url(text: str) -> bool:
    # In an argument, an option may stand before it.
    before, found, rest = _VARIABLE.sub(lambda each: each[1] or "", text).partition("://")
    if not found:
        return False
    if "?" in rest or "#" in rest:
        return True
    scheme = _SCHEME.search(before[-20:])
    try:
        parts = urlsplit(f"{scheme[0] if scheme else ''}://{rest}")
    except ValueError:
        return True
    if parts.scheme not in {"http", "https", "ws", "wss", "sse"}:
        return False
    return "@" in parts.netloc or any(map(_is_secret_part, unquote(parts.path).split("/")))


def _is_secret_part(part: str) -> bool:
    return _TELLING_PART.search(part) is not None or _ORDINARY_PART.fullmatch(part) is None


def _looks_secret(text: str) -> bool:
    return _SHAPES.scrub_text(text) != text
