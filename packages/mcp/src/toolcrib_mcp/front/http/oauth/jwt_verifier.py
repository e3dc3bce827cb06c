"""`JwtVerifier`: access tokens that an authorization server has signed for this resource and no other."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

import jwt
from mcp.server.auth.provider import AccessToken

from toolcrib_core.wording import listed
from toolcrib_mcp.front.http.oauth.issuer_keys import IssuerKeys
from toolcrib_mcp.front.http.oauth.key_set import ALGORITHMS

DEFAULT_ALGORITHMS: Final = ("RS256", "ES256", "EdDSA")

LEEWAY_SECONDS: Final = 30.0
"""By how much the clocks of the issuer and of this machine may differ."""

# Other kinds of JWT that an issuer signs are no access tokens, even where they are for us (RFC 8725, 3.11).
_KINDS = frozenset({"jwt", "at+jwt", "application/at+jwt"})
_NEEDED = ("exp", "iss", "aud")
_logger = logging.getLogger("toolcrib.mcp")


class JwtVerifier:
    """A `TokenVerifier` of the SDK for signed tokens (RFC 9068).

    The `subject` of what it gives is the `principal_claim`. What kind of key and signature a token needs is said here,
    and never by the token.
    """

    def __init__(
        self,
        keys: IssuerKeys,
        *,
        issuer: str,
        resource: str,
        principal_claim: str = "sub",
        algorithms: Sequence[str] = DEFAULT_ALGORITHMS,
        leeway: float = LEEWAY_SECONDS,
    ) -> None:
        """What is taken.

        Raises:
            ValueError: There is a way to sign among the `algorithms` that is not taken, or none at all.
        """
        if not algorithms or not ALGORITHMS.issuperset(algorithms):
            raise ValueError(f"`algorithms` must be some of {listed(sorted(ALGORITHMS))}")
        self._keys = keys
        self._issuer = issuer
        self._resource = resource
        # A URL without a path is the same with a slash, and clients put one there.
        self._audience = (resource.removesuffix("/"), f"{resource.removesuffix('/')}/")
        self._principal_claim = principal_claim
        self._algorithms = tuple(algorithms)
        self._leeway = leeway

    async def verify_token(self, token: str) -> AccessToken | None:
        """What the token says; nothing where it is not good.

        Raises:
            GatewayError: The keys of the issuer cannot be read.
        """
        try:
            return await self._read(token)
        except jwt.PyJWTError as error:
            # Its name alone: the text may repeat what is in the token.
            _logger.info("an access token was refused: %s", type(error).__name__)
            return None

    async def _read(self, token: str) -> AccessToken:
        header = jwt.get_unverified_header(token)
        algorithm, kind = header.get("alg"), header.get("typ", "JWT")
        if not isinstance(algorithm, str) or algorithm not in self._algorithms:
            raise jwt.InvalidAlgorithmError
        if not isinstance(kind, str) or kind.lower() not in _KINDS:
            raise jwt.InvalidTokenError
        key = await self._keys.find(header.get("kid"), algorithm)
        if key is None:
            raise jwt.InvalidKeyError
        claims = jwt.decode(
            token,
            key,
            algorithms=self._algorithms,
            audience=self._audience,
            issuer=self._issuer,
            leeway=self._leeway,
            options={"require": list(_NEEDED)},
        )
        principal, client = claims.get(self._principal_claim), claims.get("client_id", claims.get("azp"))
        return AccessToken(
            token=token,
            client_id=client if isinstance(client, str) else "",
            scopes=_scopes(claims),
            expires_at=int(int(claims["exp"]) + self._leeway),
            resource=self._resource,
            subject=principal if isinstance(principal, str) else None,
            claims=dict(claims),
        )


def _scopes(claims: Mapping[str, Any]) -> list[str]:
    """The scopes, as most issuers write them, or as some do."""
    said = claims.get("scope", claims.get("scp"))
    words = said.split() if isinstance(said, str) else said if isinstance(said, list) else []
    return [word for word in words if isinstance(word, str)]
