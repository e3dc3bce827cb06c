"""Which texts of a configuration are secrets that a result must not show.

Everything under `env` and `headers` is hidden by its place. To take all of it out of results would take `production`
and `us-east-1` out of them, too.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator
from typing import Final

from toolcrib_mcp.config import ServerConfig
from toolcrib_mcp.config.secret_names import is_secret_name, is_setting, words_of
from toolcrib_mcp.config.templates import ConfigText
from toolcrib_mcp.config.transports import StdioTransport
from toolcrib_runtime.guards.secrets import Scrubber, Secret
from toolcrib_runtime.guards.secrets.spellings import MIN_SECRET_LENGTH

# What has such a name is told on purpose: an agent hands it from tool to tool.
_PUBLIC_LAST_WORDS: Final = frozenset("commit guid hash id ids sha uuid version".split())
# Words, names with a number, numbers, and what is put together from them: paths, hosts, addresses, versions, dates.
_PLAIN: Final = re.compile(
    r"[\s._:/\\,;=@+~%(){}\[\]|*<>$!?&#\"'-]*+"
    r"(?:(?:[A-Za-z]{0,20}[0-9]{0,5}[A-Za-z]{0,4}|[0-9]{1,10})(?:[\s._:/\\,;=@+~%(){}\[\]|*<>$!?&#\"'-]++|$))*+"
)
_PATH: Final = re.compile(r"(?:/|~/|\./|\.\./)[\w.@+ /-]*")
# A place on this machine, also as the URL of a file or of a database in one: its folders may have random names.
_LOCAL: Final = re.compile(
    r"(?:(?:file|sqlite|duckdb)(?:\+\w+)?:(?://)?)?(?:/+|~/|\./|\.\./|[A-Za-z]:[/\\])[\w.@+ /\\~-]*"
)
_PASSWORD: Final = re.compile(r"://[^\s/@:?#]*:([^\s/@]+)@")
_SCHEME: Final = re.compile(r"(?:Bearer|Basic|Token|Digest|ApiKey|Api-Key|Key|Bot)\s+(\S.*)", re.IGNORECASE)
_BETWEEN: Final = re.compile(r"[\s=&;,?:@/\"'#]+")
_MIN_PART: Final = 8
_MAX_PARTS: Final = 200
_SHAPES: Final = Scrubber()


def configured_secrets(servers: Iterable[ServerConfig]) -> tuple[Secret, ...]:
    """The secrets of these servers that are searched for, each with the parts of it that are secrets by themselves.

    Raises:
        ConfigError: A variable of a server has no value.
    """
    found = {text for server in servers for text in _of_server(server) if len(text) >= MIN_SECRET_LENGTH}
    return tuple(map(Secret, sorted(found)))


def is_plain(text: str) -> bool:
    """Whether a text is made of words and small numbers only, as a path, an address or a setting is."""
    return _PLAIN.fullmatch(text) is not None and _SHAPES.scrub_text(text) == text


def _is_local(text: str) -> bool:
    return _LOCAL.fullmatch(text) is not None and _SHAPES.scrub_text(text) == text


def _is_public_name(name: str) -> bool:
    return not is_secret_name(name) and bool(_PUBLIC_LAST_WORDS.intersection(words_of(name)[-1:]))


def _of_server(server: ServerConfig) -> Iterator[str]:
    for name, value in _named(server):
        text = value.reveal()
        if not is_secret_name(name) and _is_local(text):
            continue
        if is_secret_name(name):
            if not (is_setting(text) or (_PATH.fullmatch(text) and is_plain(text))):
                yield text
        elif not (_is_public_name(name) or is_plain(text)):
            yield text
        if not _is_public_name(name):
            yield from _parts(text)


def _named(server: ServerConfig) -> Iterator[tuple[str, Secret]]:
    """Every secret with what it is called: its own name, or that of the option before it."""
    transport = server.transport()
    named: list[tuple[str, ConfigText]]
    if isinstance(transport, StdioTransport):
        options = ("", *(each if isinstance(each, str) else "" for each in transport.args))
        named = [*zip(options, transport.args, strict=False), *transport.env.items(), ("", transport.command)]
    else:
        named = [*transport.headers.items(), ("", transport.url)]
    yield from ((name, text) for name, text in named if isinstance(text, Secret))


def _parts(text: str) -> Iterator[str]:
    """What a server may tell of a text without the rest of it: the token of a header, the password of a URL."""
    yield from _PASSWORD.findall(text)
    scheme = _SCHEME.fullmatch(text)
    if scheme is not None:
        yield scheme[1]
        yield from _password_of_basic(scheme[1])
    for part in _BETWEEN.split(text)[:_MAX_PARTS]:
        if len(part) >= _MIN_PART and not is_plain(part):
            yield part


def _password_of_basic(credentials: str) -> Iterator[str]:
    try:
        decoded = base64.b64decode(credentials, validate=True).decode()
    except (binascii.Error, ValueError):
        return
    _, colon, password = decoded.partition(":")
    if colon:
        yield password
