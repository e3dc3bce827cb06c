"""The signed text that carries an approval: `tcap1.<payload>.<mac>`.

The payload is the canonical JSON of a `Grant`, the mac its HMAC-SHA256; both are base64url without padding. The mac is
over the text itself, so that there is one text for one grant.
"""

from __future__ import annotations

import hmac
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel

from toolcrib_core import canonical_json
from toolcrib_runtime.errors import ApprovalRefused

MAX_TOKEN_LENGTH: Final = 8_192
"""A grant with the longest tool id and the longest name of whoever granted it needs less than 6,000."""
MAX_BY_LENGTH: Final = 200

RefusalReason: TypeAlias = Literal[
    "malformed",
    "signature",
    "expired",
    "spent",
    "other-arguments",
    "other-tool",
    "changed-definition",
    "other-principal",
    "changed-policy",
    "denied",
]

_TOKEN = re.compile(r"(tcap1\.([A-Za-z0-9_-]+))\.([A-Za-z0-9_-]{43})")
_WHY: dict[RefusalReason, str] = {
    "malformed": "it is not in the form in which approvals are given",
    "signature": "it was not signed here, or was changed afterwards",
    "expired": "its time is over",
    "spent": "it was used before, and is good for one call",
    "other-arguments": "it was given for other arguments",
    "other-tool": "it was given for another tool",
    "changed-definition": "the definition of the tool has changed since it was given",
    "other-principal": "it was given to somebody else",
    "changed-policy": "the rules have changed since it was given",
    "denied": "the call was denied since it was asked about",
}

Signer: TypeAlias = Callable[[bytes], str]
"""Gives the HMAC-SHA256 of a message, as base64url without padding."""

HexDigest: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class Grant(BaseModel):
    """What was granted: one call of one tool, with these arguments, to one caller, under these rules, until then."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, alias_generator=to_camel, populate_by_name=True)

    approval_id: Annotated[str, Field(min_length=1, max_length=100)]
    tool_id: str
    tool_digest: HexDigest
    arguments_digest: HexDigest
    caller_digest: HexDigest
    policy_digest: HexDigest
    expires_at: Annotated[float, Field(allow_inf_nan=False)]
    by: Annotated[str, Field(min_length=1, max_length=MAX_BY_LENGTH)]
    """Who granted it, for those who ask later."""


def refusal(reason: RefusalReason) -> ApprovalRefused:
    """The error for an approval that is not accepted; it shows nothing of what the approval or the call holds."""
    return ApprovalRefused(
        f"The approval is not accepted: {_WHY[reason]}.",
        hint="Nothing was run. Make the call without an approval to ask for a new one.",
        details={"reason": reason},
    )


def signer(key: bytes) -> Signer:
    """Signs with the key. A function and not the key is kept: what dumps objects would list and print the key."""
    return lambda message: _base64(hmac.digest(key, message, "sha256"))


def write_token(grant: Grant, sign: Signer) -> str:
    """The grant as signed text."""
    payload = canonical_json(grant.model_dump(by_alias=True))
    signed = f"tcap1.{_base64(payload)}"
    return f"{signed}.{sign(signed.encode())}"


def read_token(token: object, sign: Signer) -> Grant:
    """The grant that the token carries, if it was signed here; it may come from anywhere, and be anything.

    Raises:
        ApprovalRefused: The reason is `malformed` or `signature`.
    """
    matched = _TOKEN.fullmatch(token) if isinstance(token, str) and len(token) <= MAX_TOKEN_LENGTH else None
    if matched is None:
        raise refusal("malformed")
    signed, payload, mac = matched.groups()
    if not hmac.compare_digest(mac, sign(signed.encode())):
        raise refusal("signature")
    try:
        return Grant.model_validate_json(urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except ValueError:
        # Signed with our key, but by another version: nothing is guessed.
        raise refusal("malformed") from None


def _base64(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()
