"""Writing servers down without their secrets: a variable stands wherever one was written out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import count
from typing import Final, TypeAlias

from toolcrib_core.json_values import FrozenDict
from toolcrib_mcp.config.templates import ConfigText, Template, Variable, escaped, hide, part_value, reveal
from toolcrib_mcp.config.transports import StdioTransport, Transport
from toolcrib_runtime.guards.secrets import REDACTED, Secret

PLACEHOLDER_PREFIX: Final = "TOOLCRIB_"
"""What the variables begin with that we make up: no other program sets one of them by chance."""

Placeholder: TypeAlias = Callable[[str, Secret], str]
"""Names a variable for a secret at a place."""

_SCHEME: Final = re.compile(r"(?:bearer|basic|digest|token|apikey)\s+", re.IGNORECASE)


class PlaceholderNames:
    """Makes up a variable for each secret, none of which is `taken` by the configuration itself."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken)
        self._secrets: dict[str, Secret] = {}

    @property
    def secrets(self) -> Mapping[str, Secret]:
        """The variables made up so far, with their secrets."""
        return FrozenDict(self._secrets)

    def within(self, namespace: str) -> Placeholder:
        """Names for the secrets of one server."""
        return partial(self._name, namespace)

    def _name(self, namespace: str, place: str, secret: Secret) -> str:
        words = re.sub(r"[^A-Za-z0-9]+", "_", f"{namespace}{place.removeprefix('/env')}").strip("_").upper()
        stem = PLACEHOLDER_PREFIX + words
        name = next(name for name in _numbered(stem) if name not in self._taken)
        self._taken.add(name)
        self._secrets[name] = secret
        return name


def written_server(
    transport: Transport[Template], values: Mapping[str, ConfigText], placeholder: Placeholder
) -> dict[str, object]:
    """The entry of a server in a client's file."""
    texts = transport.map(lambda place, template: _written(place, template, values, placeholder))
    if isinstance(texts, StdioTransport):
        more = {"args": list(texts.args), "env": dict(texts.env), "cwd": texts.cwd}
        return {"command": texts.command, **{key: value for key, value in more.items() if value}}
    kind = {"streamable-http": {"type": "http"}, "sse": {"type": "sse"}, None: {}}[texts.protocol]
    return {**kind, "url": texts.url, **({"headers": dict(texts.headers)} if texts.headers else {})}


def _written(place: str, template: Template, values: Mapping[str, ConfigText], placeholder: Placeholder) -> str:
    if not template.hidden:
        return "".join(map(_as_it_was, template.parts))
    text, public = "", ""
    for part in template.parts:
        if isinstance(part, str):
            # What stands before a secret and says what it is for.
            text = public = escaped(part)
            continue
        if isinstance(part, Variable) and part.default is None:
            text += _as_it_was(part)
            continue
        # A default is as secret as any other word here, so what it comes to now is what is kept.
        value = part_value(part, values)
        scheme, rest = _without_scheme(value) if text == public else ("", value)
        text += scheme
        text += f"${{{placeholder(place, rest)}}}" if isinstance(rest, Secret) else ""
    return text


def _without_scheme(text: ConfigText) -> tuple[str, ConfigText]:
    """The scheme of a credential, as in `Bearer …`, which is no secret, and the rest."""
    scheme = _SCHEME.match(reveal(text))
    if scheme is None or reveal(text)[scheme.end() :] == REDACTED:
        return "", text
    return scheme[0], hide(reveal(text)[scheme.end() :])


def _as_it_was(part: ConfigText | Variable) -> str:
    if not isinstance(part, Variable):
        return escaped(reveal(part))
    return f"${{{part.name}}}" if part.default is None else f"${{{part.name}:-{reveal(part.default)}}}"


def _numbered(stem: str) -> Iterable[str]:
    yield stem
    yield from (f"{stem}_{number}" for number in count(2))
