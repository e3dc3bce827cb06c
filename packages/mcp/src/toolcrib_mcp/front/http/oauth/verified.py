"""From what a verifier of the SDK says of a token to who its client is."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from toolcrib_core import ToolError, ToolErrorCategory
from toolcrib_mcp.errors import GatewayError
from toolcrib_mcp.front.http.settings import Authenticate
from toolcrib_mcp.front.service import Identity
from toolcrib_mcp.safeguards.call import LOCAL
from toolcrib_runtime.clock import SYSTEM_CLOCK, Clock

if TYPE_CHECKING:
    from mcp.server.auth.provider import AccessToken, TokenVerifier

MAX_PRINCIPAL: Final = 256
"""Characters of a principal's name."""

_logger = logging.getLogger("toolcrib.mcp")


def verified_by(verifier: TokenVerifier, *, resource: str | None = None, clock: Clock = SYSTEM_CLOCK) -> Authenticate:
    """Let in whom the verifier knows, by the `subject` of the token and with its scopes.

    With a `resource` the token must have been given out for it; without, that is for the verifier to see to. A token
    without a `subject` belongs to nobody: a client may have chosen its own id so that it is somebody's name.
    """

    async def authenticate(token: str) -> Identity | None:
        found = await _asked(verifier, token)
        if found is None or found.subject is None or not _is_name(found.subject):
            return None
        if found.expires_at is not None and found.expires_at <= clock.wall():
            return None
        if resource is not None and (found.resource or "").removesuffix("/") != resource.removesuffix("/"):
            return None
        return Identity(name=found.subject, scopes=frozenset(found.scopes))

    return authenticate


async def _asked(verifier: TokenVerifier, token: str) -> AccessToken | None:
    try:
        return await verifier.verify_token(token)
    except ToolError:
        raise
    except Exception as error:  # noqa: BLE001  # the edge to a verifier of anybody's; its text may repeat the token
        _logger.warning("the verifier of access tokens failed: %s", type(error).__name__)
        raise GatewayError("The verifier of access tokens failed.", category=ToolErrorCategory.UNAVAILABLE) from None


def _is_name(subject: str) -> bool:
    """Whether a principal may be called so: not as nobody is, and without line breaks, which end names elsewhere."""
    usable = 0 < len(subject) <= MAX_PRINCIPAL and subject.isprintable() and subject == subject.strip()
    return usable and subject != LOCAL
