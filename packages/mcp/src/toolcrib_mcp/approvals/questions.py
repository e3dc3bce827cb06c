"""A question that waits for an answer, as it is kept."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, TypeAlias

import orjson
from sqlalchemy import Connection, Row, delete, select

from toolcrib_mcp.approvals.subjects import CallFacts
from toolcrib_mcp.approvals.tables import DENIALS, QUESTIONS, SESSION_ANSWERS
from toolcrib_runtime.policy.approvals import PendingApproval

WAITING: Final = "waiting"
GRANTED: Final = "granted"
DENIED: Final = "denied"

QuestionState: TypeAlias = Literal["waiting", "granted", "denied"]


@dataclass(frozen=True, kw_only=True)
class KeptQuestion:
    """A call that waits, or was decided and not made yet; what is in its arguments is not here."""

    id: str
    name: str
    """What people call it."""
    tool_id: str
    server: str
    title: str
    principal: str
    client: str
    reason: str
    """Why somebody is asked."""
    state: QuestionState
    decided_by: str | None
    created_at: float
    """Seconds since the epoch."""
    expires_at: float
    """Seconds since the epoch."""
    token: str | None
    """The approval itself, where it was granted."""

    def __repr__(self) -> str:
        return f"KeptQuestion({self.id!r}, {self.state!r})"


@dataclass(frozen=True, kw_only=True)
class SealedContent:
    """What of a question is closed to whoever reads the database."""

    facts: CallFacts
    pending: PendingApproval

    def dumped(self) -> bytes:
        """As bytes, to be sealed."""
        return orjson.dumps({"facts": asdict(self.facts), "pending": self.pending.to_dict()})

    @classmethod
    def loaded(cls, data: bytes) -> SealedContent:
        """What `dumped` wrote."""
        content = orjson.loads(data)
        return cls(facts=CallFacts(**content["facts"]), pending=PendingApproval.from_dict(content["pending"]))


def question_of(row: Row[Any]) -> KeptQuestion:
    """A question from its row."""
    named = row._mapping  # noqa: SLF001  # how SQLAlchemy spells the columns of a row by name
    fields = {field: named[field] for field in KeptQuestion.__dataclass_fields__}
    return KeptQuestion(**fields | {"name": named["name"] or named["id"]})


def forget_questions(connection: Connection, now: float, limit: int) -> int:
    """Forget up to so many questions, denials and answers for sessions whose time is over; gives how many."""
    forgotten = 0
    for key in (QUESTIONS.c.id, DENIALS.c.subject, SESSION_ANSWERS.c.key):
        ends = key.table.c.expires_at
        old = select(key).where(ends <= now).order_by(ends).limit(limit - forgotten)
        forgotten += connection.execute(delete(key.table).where(key.in_(old))).rowcount
    return forgotten
