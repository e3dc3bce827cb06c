"""What a ledger knows about a call, and what follows from it for whoever asks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Self, TypeAlias

from toolcrib_store.seals import seal

CallState: TypeAlias = Literal["fresh", "running", "finished", "unknown", "conflict"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallStanding:
    """What a ledger answers about a key.

    `fresh`: nothing is known; it is yours now, and you owe it an end. `running`: somebody has it, and lives.
    `finished`: it came to an end, which `record` holds. `unknown`: it was begun, and nobody knows how it ended.
    `conflict`: it was used with another fingerprint.
    """

    state: CallState
    record: bytes | None = None


class Call(NamedTuple):
    """A row of the ledger, but for who holds it."""

    key: str
    fingerprint: str
    state: str
    lease_until: float
    record: bytes | None
    expires_at: float
    seal: bytes

    @classmethod
    def of(cls, row: Mapping[Any, Any]) -> Self:
        """A call from its row."""
        return cls(*(row[name] for name in cls._fields))

    @classmethod
    def sealed(
        cls,
        key: str,
        fingerprint: str,
        state: str,
        *,
        record: bytes | None = None,
        lease_until: float,
        expires_at: float,
    ) -> Self:
        """A call with the seal of what must not change by itself: leases are renewed, and leave it as it is."""
        own = seal(key, fingerprint, state, record)
        return cls(key, fingerprint, state, lease_until, record, expires_at, own)

    @property
    def is_whole(self) -> bool:
        """Whether it is what was written."""
        return self.seal == seal(self.key, self.fingerprint, self.state, self.record)


def standing_of(known: Call | None, fingerprint: str, *, now: float, repeatable: bool) -> CallStanding:
    """What to answer somebody who asks for a key."""
    if known is None or known.expires_at <= now:
        return CallStanding(state="fresh")
    if known.fingerprint != fingerprint:
        return CallStanding(state="conflict")
    if known.state == "finished":
        return CallStanding(state="finished", record=known.record)
    if known.state == "running" and known.lease_until > now:
        return CallStanding(state="running")
    return CallStanding(state="fresh" if repeatable else "unknown")
