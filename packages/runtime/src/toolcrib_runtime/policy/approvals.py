"""Approvals: what somebody must decide before a call may run, bound to exactly that call."""

from __future__ import annotations

import hmac
import math
import re
import secrets
from collections.abc import Mapping
from typing import Annotated, Final, NamedTuple, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from toolcrib_core import JsonObject, canonical_json, digest
from toolcrib_runtime.clock import SYSTEM_CLOCK, Clock
from toolcrib_runtime.guards.secrets.secret import Secret
from toolcrib_runtime.policy.approval_ledger import MemorySpentApprovals, SpentApprovals
from toolcrib_runtime.policy.approval_tokens import (
    MAX_BY_LENGTH,
    Grant,
    HexDigest,
    RefusalReason,
    read_token,
    refusal,
    signer,
    write_token,
)

DEFAULT_TTL: Final = 900.0
"""Seconds from the question to the call that uses the answer."""
MIN_SECRET_LENGTH: Final = 16

# So that the seal of a question can never be taken for the signature of an answer, which is over `tcap1.…`.
_SEALED_AS = b"tcap1-pending."

# The bound says nothing, but with one pydantic reads the text, and refuses what UTF-8 cannot carry.
_Text: TypeAlias = Annotated[str, Field(min_length=0)]


class ApprovalSubject(NamedTuple):
    """Exactly which call an approval is for: if any of these is another, it is another call."""

    tool_id: str
    tool_digest: str
    arguments_digest: str
    principal: str | None
    tenant: str | None
    policy_version: str


class PendingApproval(BaseModel):
    """A call that waits for a decision. It travels as JSON, and gives no right by itself.

    It holds no values of arguments. It is sealed: one that was changed on its way cannot be granted.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, alias_generator=to_camel, populate_by_name=True)

    id: Annotated[str, Field(min_length=1, max_length=100)]
    tool_id: _Text
    tool_digest: HexDigest
    arguments_digest: HexDigest
    principal: _Text | None
    tenant: _Text | None = None
    policy_version: _Text
    expires_at: Annotated[float, Field(allow_inf_nan=False)]
    """Seconds since the epoch."""
    reason: _Text
    """Why somebody is asked."""
    summary: _Text
    """What would be done, for the person who decides: the tool, its title, the names of the arguments."""
    seal: _Text

    def to_dict(self) -> JsonObject:
        """The question as JSON, with the keys that travel on the wire."""
        return self.model_dump(by_alias=True)

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> PendingApproval:
        """Read what `to_dict` wrote.

        Raises:
            ApprovalRefused: It is not that; the reason is `malformed`.
        """
        try:
            return cls.model_validate(data)
        except ValidationError:
            # The cause would show the values.
            raise refusal("malformed") from None


class Approvals:
    """Asks for approvals, signs those that are granted, and accepts each of them once, for the call it was given for.

    With a `secret` (16 bytes or more) and a `ledger` that are kept, approvals outlive the process. Without a secret a
    random one is made for this object alone. All that share a secret must share the ledger too.

    Raises:
        TypeError: The secret is neither bytes nor a `Secret`.
        ValueError: It is shorter than 16 bytes, or `ttl` is not a finite number of seconds above 0.
    """

    __slots__ = ("_clock", "_ledger", "_sign", "_ttl")

    def __init__(
        self,
        secret: bytes | Secret | None = None,
        *,
        ttl: float = DEFAULT_TTL,
        ledger: SpentApprovals | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        if not (math.isfinite(ttl) and ttl > 0):
            raise ValueError("`ttl` is how many seconds an approval is good for: a finite number above 0")
        self._sign = signer(_usable_key(secret))
        self._ttl = ttl
        self._clock = clock
        self._ledger = MemorySpentApprovals(clock=clock) if ledger is None else ledger

    def request(self, subject: ApprovalSubject, *, reason: str, summary: str) -> PendingApproval:
        """The question whether this call may run."""
        unsealed = PendingApproval(
            **subject._asdict(),
            id=f"apr_{secrets.token_hex(16)}",
            expires_at=self._clock.wall() + self._ttl,
            reason=reason,
            summary=summary,
            seal="",
        )
        return unsealed.model_copy(update={"seal": self._seal_of(unsealed)})

    def grant(self, pending: PendingApproval, *, by: str) -> str:
        """The answer yes, as a token that goes with the call; whoever calls this speaks for `by`.

        A no needs no token: what is not granted does not run.

        Raises:
            ApprovalRefused: The question is not one of ours, was changed, or its time is over.
        """
        if not 0 < len(by) <= MAX_BY_LENGTH:
            raise ValueError(f"`by` says who grants it, in 1 to {MAX_BY_LENGTH} characters")
        if not hmac.compare_digest(pending.seal.encode(), self._seal_of(pending).encode()):
            raise refusal("signature")
        self._refuse_expired(pending.expires_at)
        subject = ApprovalSubject(*(getattr(pending, name) for name in ApprovalSubject._fields))
        return write_token(_grant(subject, approval_id=pending.id, expires_at=pending.expires_at, by=by), self._sign)

    async def redeem(self, token: str, subject: ApprovalSubject) -> Grant:
        """Use up the token for this call. One that is for another call is refused, and stays unused.

        Raises:
            ApprovalRefused: It is not good for this call; `details["reason"]` says why.
        """
        grant = read_token(token, self._sign)
        self._refuse_expired(grant.expires_at)
        reason = _difference(grant, subject)
        if reason is not None:
            raise refusal(reason)
        if not await self._ledger.spend(grant.approval_id, grant.expires_at):
            raise refusal("spent")
        return grant

    def _refuse_expired(self, expires_at: float) -> None:
        if self._clock.wall() >= expires_at:
            raise refusal("expired")

    def _seal_of(self, pending: PendingApproval) -> str:
        return self._sign(_SEALED_AS + canonical_json(pending.model_dump(by_alias=True, exclude={"seal"})))


def _usable_key(secret: bytes | Secret | None) -> bytes:
    if secret is None:
        return secrets.token_bytes(32)
    key = secret.reveal().encode() if isinstance(secret, Secret) else secret
    if not isinstance(key, bytes):
        raise TypeError(f"the secret for approvals must be `bytes` or a `Secret`, not `{type(key).__name__}`")
    if len(key) < MIN_SECRET_LENGTH:
        raise ValueError(f"the secret for approvals must have at least {MIN_SECRET_LENGTH} bytes; it has {len(key)}")
    return key


def _grant(subject: ApprovalSubject, *, approval_id: str, expires_at: float, by: str) -> Grant:
    return Grant(
        approval_id=approval_id,
        tool_id=subject.tool_id,
        tool_digest=subject.tool_digest,
        arguments_digest=subject.arguments_digest,
        # Digests, because nothing bounds the length of these, and a token has a bound.
        caller_digest=digest([subject.tenant, subject.principal]),
        policy_digest=digest(subject.policy_version),
        expires_at=expires_at,
        by=by,
    )


def _difference(grant: Grant, subject: ApprovalSubject) -> RefusalReason | None:
    wanted = _grant(subject, approval_id=grant.approval_id, expires_at=grant.expires_at, by=grant.by)
    if grant == wanted:
        return None
    if _unversioned(grant.tool_id) != _unversioned(wanted.tool_id):
        return "other-tool"
    if grant.caller_digest != wanted.caller_digest:
        return "other-principal"
    if (grant.tool_id, grant.tool_digest) != (wanted.tool_id, wanted.tool_digest):
        return "changed-definition"
    return "changed-policy" if grant.policy_digest != wanted.policy_digest else "other-arguments"


def _unversioned(tool_id: str) -> str:
    """`namespace:name`: version and hash are part of the definition, which may change."""
    return re.split("[@#]", tool_id, maxsplit=1)[0]
