"""Bearer tokens: whose they are, and how they may come."""

from __future__ import annotations

import hashlib
import hmac
import re
from typing import Final
from urllib.parse import parse_qsl

from toolcrib_core import ToolError
from toolcrib_mcp.front.http.headers import Headers
from toolcrib_mcp.front.http.replies import RETRY_SOON, Refusal
from toolcrib_mcp.front.http.resource import challenge
from toolcrib_mcp.front.http.settings import HttpFrontSettings
from toolcrib_mcp.front.service import Identity

MAX_TOKEN: Final = 8 * 1024
"""Characters of a token."""

_SENT = re.compile(r"[!-~]*")
_IN_ADDRESS = frozenset({"access_token", "token"})


class Bearers:
    """Tells who a client is by the token in the header of its request, and takes one from nowhere else."""

    def __init__(self, settings: HttpFrontSettings) -> None:
        self._tokens = {principal: _digest(token.reveal()) for principal, token in settings.tokens.items()}
        self._authenticate = settings.authenticate
        self._resource = settings.resource
        self._needed = frozenset() if settings.resource is None else frozenset(settings.resource.required_scopes)
        self._asks_who = settings.asks_who

    async def identity(self, headers: Headers) -> Identity | None:
        """Who the client is; `None` where nobody has to say.

        Raises:
            Refusal: It does not say, nobody is known who would say so, or the token does not reach that far.
        """
        if not self._asks_who:
            return None
        found = await self._owner(self._token(headers.get(b"authorization")))
        if found is None:
            raise self._unknown("That bearer token is not known here.", "invalid_token")
        if found.scopes is not None and not self._needed <= found.scopes:
            missing = challenge(self._resource, "insufficient_scope")
            raise Refusal(403, "That bearer token lacks a scope that every token needs.", headers=(missing,))
        return found

    def _token(self, authorization: str | None) -> str:
        scheme, _, token = (authorization or "").partition(" ")
        if scheme.lower() != "bearer":
            raise self._unknown("This server wants a bearer token.")
        token = token.strip(" ")
        if len(token) > MAX_TOKEN:
            raise Refusal(431, f"A bearer token has at most {MAX_TOKEN} characters.")
        if not _SENT.fullmatch(token):
            broken = challenge(self._resource, "invalid_request")
            raise Refusal(400, "A bearer token is one word of visible ASCII.", headers=(broken,))
        return token

    async def _owner(self, token: str) -> Identity | None:
        presented, known = _digest(token), None
        for principal, digest in self._tokens.items():
            # All of them, so that the time it takes does not tell which one was near.
            if hmac.compare_digest(presented, digest):
                known = principal
        if known is not None:
            return Identity(name=known)
        try:
            return None if self._authenticate is None else await self._authenticate(token)
        except ToolError:
            raise Refusal(503, "It cannot be told now whose bearer token that is.", headers=(RETRY_SOON,)) from None

    def _unknown(self, message: str, error: str | None = None) -> Refusal:
        return Refusal(401, message, headers=(challenge(self._resource, error),))


def check_query(query: bytes) -> None:
    """Refuse a request that carries a token in its address, which others write down (RFC 9700, 2.6).

    Raises:
        Refusal: It does; what it carries is not repeated.
    """
    if not query:
        return
    named = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
    if any(name.strip().lower() in _IN_ADDRESS for name, _ in named):
        raise Refusal(400, "A token may not stand in the address of a request; send it as `Authorization: Bearer`.")


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
