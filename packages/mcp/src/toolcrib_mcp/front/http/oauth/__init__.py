"""Access tokens of an authorization server: an OAuth 2.1 resource server, with any verifier of the official SDK.

Whoever imports this loads the SDK and the cryptography; a front without OAuth does not.
"""

from __future__ import annotations

from toolcrib_mcp.front.http.oauth.issuer_keys import IssuerKeys, keys_at
from toolcrib_mcp.front.http.oauth.jwt_verifier import JwtVerifier
from toolcrib_mcp.front.http.oauth.verified import verified_by

__all__ = ["IssuerKeys", "JwtVerifier", "keys_at", "verified_by"]
