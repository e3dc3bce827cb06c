"""What an OAuth client is told of this front: its name, and who gives tokens out for it (RFC 9728)."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

WELL_KNOWN: Final = "/.well-known/oauth-protected-resource"
"""What the path begins with at which anybody may ask where to get a token."""

# Both stand between quotation marks in a header.
_URL = re.compile(r"https?://[!#-\[\]-~]+")
_SCOPE = re.compile(r"[!#-\[\]-~]+")


@dataclass(frozen=True, kw_only=True)
class ProtectedResource:
    """A front whose clients bring access tokens of an authorization server.

    Raises:
        ValueError: A URL or a scope is not one; the message names it.
    """

    url: str
    """What the front is called; a token is for it alone."""
    issuers: tuple[str, ...]
    """The authorization servers that give tokens out for it."""
    required_scopes: tuple[str, ...] = ()
    """Scopes that every token needs."""

    def __post_init__(self) -> None:
        if not all(_URL.fullmatch(url) and _hostname(url) for url in (self.url, *self.issuers)):
            raise ValueError("`url` and `issuers` must be URLs of http or https with a host")
        if not self.issuers or urlsplit(self.url).fragment:
            raise ValueError("there must be one of the `issuers` at least, and no fragment in the `url`")
        if not all(_SCOPE.fullmatch(scope) for scope in self.required_scopes):
            raise ValueError("`required_scopes` must be words of visible ASCII without quotation marks")

    @property
    def host(self) -> str:
        """The host by which clients reach it, as a header has it."""
        name = _hostname(self.url) or ""
        return f"[{name}]" if ":" in name else name

    @property
    def metadata_path(self) -> str:
        """Where its metadata is, below its host."""
        return WELL_KNOWN + urlsplit(self.url).path.rstrip("/")

    @property
    def metadata_url(self) -> str:
        """Where clients that come without a token are sent."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}{self.metadata_path}"

    def metadata(self) -> bytes:
        """What a client has to know to get a token."""
        document: dict[str, object] = {
            "resource": self.url,
            "authorization_servers": list(self.issuers),
            "bearer_methods_supported": ["header"],
        }
        if self.required_scopes:
            document["scopes_supported"] = list(self.required_scopes)
        return json.dumps(document).encode() + b"\n"


def challenge(resource: ProtectedResource | None, error: str | None = None) -> tuple[bytes, bytes]:
    """The header line that asks for a token, or says what is wrong with the one that came (RFC 6750)."""
    words: dict[str, str] = {} if error is None else {"error": error}
    if resource is not None and resource.required_scopes:
        words["scope"] = " ".join(resource.required_scopes)
    if resource is not None:
        words["resource_metadata"] = resource.metadata_url
    listed = ", ".join(f'{name}="{value}"' for name, value in words.items())
    return b"www-authenticate", f"Bearer {listed}".strip().encode("ascii")


def _hostname(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None
