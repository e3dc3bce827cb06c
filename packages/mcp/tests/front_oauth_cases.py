"""An authorization server for the tests of OAuth: it has keys, signs what a test wants, and can be asked by HTTP."""

from __future__ import annotations

import asyncio
import base64
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from typing import Any
from urllib.parse import parse_qs

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from toolcrib_mcp.front.http import ProtectedResource
from toolcrib_mcp.front.http.oauth import IssuerKeys, JwtVerifier, verified_by

ISSUER = "https://issuer.example"
RESOURCE = "https://gateway.example/mcp"
SCOPE = "mcp:use"


class Key:
    """A key that an issuer signs with."""

    def __init__(self, kid: str, algorithm: str = "ES256", *, number: int = 0) -> None:
        self.kid = kid
        self.algorithm = algorithm
        self.private: Any = _private(algorithm, number)

    @property
    def jwk(self) -> dict[str, Any]:
        """The public half, as an issuer publishes it."""
        public = jwt.get_algorithm_by_name(self.algorithm).to_jwk(self.private.public_key(), as_dict=True)
        return {**public, "kid": self.kid, "use": "sig"}

    @property
    def pem(self) -> bytes:
        """The public half, as text that everybody may read."""
        pem: bytes = self.private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        return pem


class Issuer:
    """Gives tokens out, good ones unless a test wants others."""

    def __init__(self, *keys: Key, name: str = ISSUER, resource: str = RESOURCE) -> None:
        self.keys = list(keys) or [Key("first")]
        self.name = name
        self.resource = resource
        self.readings = 0
        self.failing = False

    def claims(self, **changes: Any) -> dict[str, Any]:
        """What a good token says; `None` leaves a claim out."""
        now = int(time.time())
        good = {"iss": self.name, "aud": self.resource, "sub": "ann", "client_id": "app", "scope": SCOPE}
        claims = {**good, "iat": now, "exp": now + 3600, **changes}
        return {name: value for name, value in claims.items() if value is not None}

    def token(self, *, key: Key | None = None, headers: dict[str, Any] | None = None, **changes: Any) -> str:
        """A signed token."""
        by = key or self.keys[0]
        named = {"kid": by.kid, "typ": "at+jwt", **(headers or {})}
        return jwt.encode(self.claims(**changes), by.private, algorithm=by.algorithm, headers=named)

    def document(self) -> bytes:
        """All keys, as they are published."""
        return json.dumps({"keys": [key.jwk for key in self.keys]}).encode()

    async def read(self) -> bytes:
        """The same, for whoever asks, unless the issuer is down."""
        self.readings += 1
        if self.failing:
            raise OSError("the issuer is down")
        return self.document()

    def verifier(self, **options: Any) -> JwtVerifier:
        """A verifier of its tokens."""
        settings = {"issuer": self.name, "resource": self.resource, **options}
        keys = settings.pop("keys", None) or IssuerKeys(self.read)
        return JwtVerifier(keys, **settings)

    def front(self, *, scopes: tuple[str, ...] = (SCOPE,), **options: Any) -> dict[str, Any]:
        """The settings of a front that takes its tokens."""
        resource = ProtectedResource(url=self.resource, issuers=(self.name,), required_scopes=scopes)
        verifier = self.verifier(**options)
        return {"resource": resource, "authenticate": verified_by(verifier, resource=self.resource)}


def bearer(token: str) -> str:
    """The header that carries it."""
    return f"Bearer {token}"


def unsigned(header: dict[str, Any], claims: dict[str, Any], signature: bytes = b"") -> str:
    """A token that nobody who has a key had a hand in."""
    return b".".join(
        _packed(part) for part in (json.dumps(header).encode(), json.dumps(claims).encode(), signature)
    ).decode()


@asynccontextmanager
async def authorization_server(issuer: Issuer) -> AsyncIterator[str]:
    """The issuer on loopback, with the URL that it is called by: its keys, its metadata, and tokens for one client."""
    server = await asyncio.start_server(lambda reader, writer: _answer(issuer, reader, writer), "127.0.0.1", 0)
    issuer.name = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield issuer.name
    finally:
        server.close()


async def _answer(issuer: Issuer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    length = next(
        (int(line.split(":")[1]) for line in head.splitlines() if line.lower().startswith("content-length")), 0
    )
    form = parse_qs((await reader.readexactly(length)).decode())
    status, body = _document(issuer, head.split()[1], form)
    writer.write(
        b"HTTP/1.1 %d X\r\ncontent-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%b"
        % (status, len(body), body)
    )
    await writer.drain()
    writer.close()


def _document(issuer: Issuer, path: str, form: dict[str, list[str]]) -> tuple[int, bytes]:
    if issuer.failing:
        return 500, b"{}"
    match path:
        case "/jwks":
            issuer.readings += 1
            return 200, issuer.document()
        case "/token":
            resource, scope = form["resource"][0], form.get("scope", [""])[0]
            token = issuer.token(aud=resource, scope=scope, sub="machine")
            return 200, json.dumps({"access_token": token, "token_type": "Bearer", "expires_in": 3600}).encode()
        case "/.well-known/oauth-authorization-server":
            places = {"authorization_endpoint": f"{issuer.name}/authorize", "token_endpoint": f"{issuer.name}/token"}
            return 200, json.dumps({"issuer": issuer.name, "response_types_supported": ["code"], **places}).encode()
    return 404, b"{}"


@cache
def _private(algorithm: str, number: int) -> Any:
    match algorithm[:2]:
        case "RS" | "PS":
            # The second one is shorter than anybody should sign with.
            return rsa.generate_private_key(public_exponent=65537, key_size=2048 if number == 0 else 1024)
        case "Ed":
            return ed25519.Ed25519PrivateKey.generate()
    curves = {"ES256": ec.SECP256R1, "ES384": ec.SECP384R1, "ES512": ec.SECP521R1}
    return ec.generate_private_key(curves[algorithm]())


def _packed(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")
