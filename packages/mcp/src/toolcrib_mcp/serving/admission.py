"""Who is let in, and what they have of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from toolcrib_mcp.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from toolcrib_mcp.config import HttpFront
    from toolcrib_mcp.config.settings import OAuthSettings
    from toolcrib_mcp.front.http.app import AsgiApp
    from toolcrib_mcp.front.http.resource import ProtectedResource
    from toolcrib_mcp.front.http.settings import Authenticate, HttpFrontSettings
    from toolcrib_mcp.personal import PersonalServers
    from toolcrib_mcp.safeguards import Checkpoint


@dataclass(frozen=True, kw_only=True)
class Admission:
    """How clients are told apart; without anything, all of them are the user of this machine."""

    principal: str | None = None
    """Who the client over standard input and output is."""
    authenticate: Authenticate | None = None
    """Tells who a client over HTTP is, by its bearer token; without it nobody has to say."""
    resource: ProtectedResource | None = None
    """Where clients over HTTP get tokens that `authenticate` knows, where an authorization server gives them out."""
    personal: PersonalServers | None = None
    """The servers of one's own, which only the gateway shows."""
    mounts: Mapping[str, AsgiApp] = field(default_factory=dict)
    """Other applications on the same HTTP address, by the beginning of their paths."""
    checkpoint: asyncio.Future[Checkpoint] | None = None
    """Is given what calls pass, once that is open: for the calls of these applications."""


ANYBODY = Admission()
"""Nobody is asked who they are."""


def by_oauth(admission: Admission, settings: OAuthSettings, *, directory: Path | None = None) -> Admission:
    """The same, where clients over HTTP bring access tokens; a file of keys is looked for in `directory`.

    Raises:
        ConfigError: The settings cannot be used.
    """
    from toolcrib_mcp.front.http import ProtectedResource
    from toolcrib_mcp.front.http.oauth import JwtVerifier, keys_at, verified_by

    try:
        resource = ProtectedResource(
            url=settings.resource, issuers=(settings.issuer,), required_scopes=settings.required_scopes
        )
        verifier = JwtVerifier(
            keys_at(settings.jwks, directory=directory, network=settings.network),
            issuer=settings.issuer,
            resource=settings.resource,
            principal_claim=settings.principal_claim,
            algorithms=settings.algorithms,
        )
    except ValueError as error:
        raise _unusable("http.oauth", error) from error
    return replace(admission, authenticate=verified_by(verifier, resource=settings.resource), resource=resource)


def front_settings(http: HttpFront, admission: Admission, *, drain: float) -> HttpFrontSettings:
    """How the front over HTTP is kept safe and bounded, by the configuration and by who is let in.

    Raises:
        ConfigError: The configuration cannot be used.
    """
    from toolcrib_mcp.front.http import HttpFrontSettings

    try:
        return HttpFrontSettings(
            authenticate=admission.authenticate,
            resource=admission.resource,
            allowed_hosts=http.allowed_hosts,
            allowed_origins=http.allowed_origins,
            max_body=http.max_body_bytes,
            requests_per_minute=http.requests_per_minute,
            unauthenticated_per_minute=http.unauthenticated_per_minute,
            max_sessions=http.max_sessions,
            max_principal_sessions=http.max_principal_sessions,
            max_requests=http.max_requests,
            max_principal_requests=http.max_principal_requests,
            max_address_connections=http.max_address_connections,
            drain_timeout=drain,
        )
    except ValueError as error:
        raise _unusable("http", error) from error


def _unusable(place: str, problem: ValueError) -> ConfigError:
    return ConfigError(
        f"What the configuration says in `{place}` cannot be used: {problem}.",
        hint=f"Correct `{place}` of the configuration.",
        details={"place": place},
    )
