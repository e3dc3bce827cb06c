"""`ApprovalBook`: questions that wait for somebody at the command line, and what was decided."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sqlalchemy import Connection, Select, bindparam, delete, func, insert, or_, select, update

from toolcrib_core import digest
from toolcrib_core.wording import quoted
from toolcrib_mcp.approvals.questions import (
    DENIED,
    GRANTED,
    WAITING,
    KeptQuestion,
    QuestionState,
    SealedContent,
    forget_questions,
    question_of,
)
from toolcrib_mcp.approvals.sealing import Seals
from toolcrib_mcp.approvals.subjects import CallFacts, key_of
from toolcrib_mcp.approvals.tables import DENIALS, QUESTIONS, SESSION_ANSWERS
from toolcrib_mcp.errors import ApprovalNotFound
from toolcrib_mcp.policy.answers import short_name
from toolcrib_mcp.policy.risks import is_covered
from toolcrib_runtime.clock import SystemClock
from toolcrib_runtime.errors import ApprovalRefused
from toolcrib_runtime.policy.approval_tokens import refusal
from toolcrib_runtime.policy.approvals import Approvals, ApprovalSubject
from toolcrib_store import SqlSpentApprovals, upsert

if TYPE_CHECKING:
    from typing import Any

    from toolcrib_mcp.approvals.key_file import StateKey
    from toolcrib_mcp.policy import PolicySubject
    from toolcrib_runtime.policy.approval_tokens import Grant
    from toolcrib_store import Store

TTL: Final = 3_600.0
"""Seconds from the question to the call that uses the answer."""

SESSION_TTL: Final = 86_400.0
"""Seconds for which an answer for a session holds at most."""

MAX_WAITING: Final = 32
"""How many questions of one principal wait at once."""

MAX_WAITING_IN_ALL: Final = 1_000

MAX_CONTENT: Final = 256 * 1024
"""How many bytes of a call are kept for the person who decides; a larger one nobody can look at."""

_FORGOTTEN_AT_ONCE: Final = 100

# Built once: it is asked for every call that needs an approval, and to build it takes longer than to execute it.
_ABOUT: Final = select(QUESTIONS).where(
    QUESTIONS.c.expires_at > bindparam("now"), QUESTIONS.c.subject == bindparam("of_subject")
)


@dataclass(frozen=True, kw_only=True)
class Unkeepable:
    """Why a question cannot be kept for somebody to decide later."""

    why: str


class ApprovalBook:
    """The questions in the database of a configuration; `open_store` needs `APPROVALS_LINE` for it.

    Whoever has the key of the state directory and its database, and nobody else, can grant.
    """

    def __init__(self, store: Store, key: StateKey, *, ttl: float = TTL) -> None:
        self._store = store
        self._seals = Seals(key, purpose="approvals:content")
        self._ttl = ttl
        self.approvals = Approvals(
            key.derived("approvals:signing"), ttl=ttl, ledger=SqlSpentApprovals(store), clock=_StoreClock(store)
        )
        """Signs what is granted, and takes each approval once."""

    def now(self) -> float:
        """Seconds since the epoch, as the database counts them."""
        return self._store.now()

    def find(self, subject: ApprovalSubject) -> KeptQuestion | None:
        """The question about exactly this call, if there is one whose time is not over.

        Raises:
            StoreError: The database failed.
        """
        with self._store.reading() as connection:
            return self._about(connection, subject)

    def keep(
        self, subject: ApprovalSubject, facts: CallFacts, *, reason: str, summary: str, instead_of: str | None = None
    ) -> KeptQuestion | Unkeepable:
        """Keep a question; the one that is there already about the same call counts, unless it is `instead_of`.

        Raises:
            StoreError: The database failed.
        """
        pending = self.approvals.request(subject, reason=reason, summary=summary)
        content = SealedContent(facts=facts, pending=pending).dumped()
        if len(content) > MAX_CONTENT:
            return Unkeepable(why="it is too large to be shown to anybody")
        now = self._store.now()
        row: dict[str, Any] = {
            "id": pending.id,
            "subject": key_of(subject),
            "principal": facts.principal,
            "tool_id": facts.tool_id,
            "server": facts.server,
            "title": facts.title,
            "client": facts.client,
            "reason": reason,
            "state": WAITING,
            "sealed": self._seals.seal(content, row=pending.id),
            "created_at": now,
            "expires_at": pending.expires_at,
        }
        with self._store.writing() as connection:
            forget_questions(connection, now, _FORGOTTEN_AT_ONCE)
            found = self._about(connection, subject)
            if found is not None and found.id != instead_of:
                return found
            # One whose time is over may still be there, behind many others.
            connection.execute(delete(QUESTIONS).where(QUESTIONS.c.subject == row["subject"]))
            if _waiting(connection, facts.principal) >= MAX_WAITING or _waiting(connection) >= MAX_WAITING_IN_ALL:
                return Unkeepable(why="too many calls wait for a decision already")
            taken = connection.scalars(select(QUESTIONS.c.name).where(QUESTIONS.c.name.is_not(None)))
            connection.execute(insert(QUESTIONS).values(**row, name=short_name(taken)))
            (kept,) = connection.execute(select(QUESTIONS).where(QUESTIONS.c.id == pending.id))
            return question_of(kept)

    def allow_session(self, session: str, subject: PolicySubject, *, by: str) -> None:
        """Let a tool run for the rest of a session of a client: the same definition, with no higher risk.

        Raises:
            StoreError: The database failed.
        """
        row = {"key": _session_key(session, subject), "risk": subject.risk_class, "answered_by": by}
        with self._store.writing() as connection:
            connection.execute(delete(SESSION_ANSWERS).where(SESSION_ANSWERS.c.key == row["key"]))
            expires_at = self._store.now() + SESSION_TTL
            connection.execute(insert(SESSION_ANSWERS).values(**row, expires_at=expires_at))

    def who_allowed(self, session: str, subject: PolicySubject) -> str | None:
        """Who answered that a tool may run for the rest of a session; `None` if it may not.

        Raises:
            StoreError: The database failed.
        """
        if subject.flags:
            return None
        ours = SESSION_ANSWERS.c.key == _session_key(session, subject)
        alive = select(SESSION_ANSWERS).where(ours, SESSION_ANSWERS.c.expires_at > self._store.now())
        with self._store.reading() as connection:
            row = connection.execute(alive).one_or_none()
        if row is None or not is_covered(subject.risk_class, row.risk):
            return None
        by: str = row.answered_by
        return by

    def note_denial(self, subject: ApprovalSubject) -> None:
        """End every question about this call that was asked until now; another one may be asked.

        Raises:
            StoreError: The database failed.
        """
        with self._store.writing() as connection:
            forget_questions(connection, self._store.now(), _FORGOTTEN_AT_ONCE)
            asked = (QUESTIONS.c.subject == key_of(subject)) & (QUESTIONS.c.state != DENIED)
            connection.execute(delete(QUESTIONS).where(asked))
            self._deny_asked(connection, key_of(subject))

    async def redeem(self, token: str, subject: ApprovalSubject) -> Grant:
        """Use up an approval for this call; none that was asked for before the call was denied is good for it.

        Raises:
            ApprovalRefused: It is not good for this call; `details["reason"]` says why.
            StoreError: The database failed, and the call must not run.
        """
        grant = await self.approvals.redeem(token, subject)
        # Only now: of a denial and an approval at once, the denial holds.
        if await asyncio.to_thread(self._was_denied, key_of(subject), grant.expires_at):
            raise refusal("denied")
        return grant

    def _was_denied(self, subject: str, expires_at: float) -> bool:
        later = select(DENIALS.c.subject).where(DENIALS.c.subject == subject, DENIALS.c.expires_at >= expires_at)
        with self._store.reading() as connection:
            return connection.execute(later).first() is not None

    def drop(self, question_id: str) -> None:
        """Forget a question whose approval was used.

        Raises:
            StoreError: The database failed.
        """
        with self._store.writing() as connection:
            connection.execute(delete(QUESTIONS).where(QUESTIONS.c.id == question_id))

    def questions(self, *, principal: str | None = None) -> list[KeptQuestion]:
        """All that wait or were decided, the oldest first; with a `principal`, only theirs.

        Raises:
            StoreError: The database failed.
        """
        every = self._alive().order_by(QUESTIONS.c.created_at, QUESTIONS.c.id)
        if principal is not None:
            every = every.where(QUESTIONS.c.principal == principal)
        with self._store.reading() as connection:
            return [question_of(each) for each in connection.execute(every)]

    def question(self, question_id: str, *, principal: str | None = None) -> KeptQuestion:
        """One of them.

        Raises:
            ApprovalNotFound: There is none, or its time is over, or it is somebody else's than the `principal`'s.
            StoreError: The database failed.
        """
        with self._store.reading() as connection:
            return question_of(self._row(connection, question_id, principal))

    def facts(self, question_id: str, *, principal: str | None = None) -> CallFacts | None:
        """What would run; `None` once somebody has decided.

        Raises:
            ApprovalNotFound: As `question`.
            ApprovalRefused: What was kept was altered, or sealed under another key.
            StoreError: The database failed.
        """
        with self._store.reading() as connection:
            row = self._row(connection, question_id, principal)
        return None if row.sealed is None else self._content(row).facts

    def grant(self, question_id: str, *, by: str, principal: str | None = None) -> KeptQuestion:
        """Allow the call, once; whoever asks for it again with the same arguments may make it until the time is over.

        Raises:
            ApprovalNotFound: As `question`.
            ApprovalRefused: Somebody has decided already, or what was kept was altered.
            StoreError: The database failed, and nothing was decided.
        """
        with self._store.writing() as connection:
            row = self._undecided(connection, question_id, principal)
            token = self.approvals.grant(self._content(row).pending, by=by)
            return self._decide(connection, row.id, state=GRANTED, by=by, token=token)

    def deny(self, question_id: str, *, by: str, principal: str | None = None) -> KeptQuestion:
        """Refuse the call; until the time is over, the same call is refused without asking anybody.

        One that was granted, and was not made yet, is refused as well.

        Raises:
            ApprovalNotFound: As `question`.
            ApprovalRefused: It was denied already.
            StoreError: The database failed, and nothing was decided.
        """
        with self._store.writing() as connection:
            row = self._row(connection, question_id, principal)
            if row.state == DENIED:
                raise _decided_already(row, question_id)
            self._deny_asked(connection, row.subject)
            return self._decide(connection, row.id, state=DENIED, by=by, token=None)

    def _alive(self) -> Select[Any]:
        return select(QUESTIONS).where(QUESTIONS.c.expires_at > self._store.now())

    def _about(self, connection: Connection, subject: ApprovalSubject) -> KeptQuestion | None:
        asked = {"now": self._store.now(), "of_subject": key_of(subject)}
        row = connection.execute(_ABOUT, asked).one_or_none()
        return None if row is None else question_of(row)

    def _row(self, connection: Connection, question_id: str, principal: str | None) -> Any:
        named = or_(QUESTIONS.c.id == question_id, QUESTIONS.c.name == question_id.upper())
        row = connection.execute(self._alive().where(named)).one_or_none()
        if row is None or (principal is not None and row.principal != principal):
            raise ApprovalNotFound(
                f"No call waits under the id {quoted(question_id)}.",
                hint="Its time may be over, or the call was made. `toolcrib approvals list` has those that wait.",
            )
        return row

    def _undecided(self, connection: Connection, question_id: str, principal: str | None) -> Any:
        row = self._row(connection, question_id, principal)
        if row.state != WAITING:
            raise _decided_already(row, question_id)
        return row

    def _deny_asked(self, connection: Connection, subject: str) -> None:
        """Note that no question about this call that was asked until now may be granted."""
        row = {"subject": subject, "expires_at": self._store.now() + self._ttl}
        upsert(connection, DENIALS, row, key=["subject"])

    def _decide(
        self, connection: Connection, question_id: str, *, state: QuestionState, by: str, token: str | None
    ) -> KeptQuestion:
        decided = {"state": state, "decided_by": by, "token": token, "sealed": None}
        connection.execute(update(QUESTIONS).where(QUESTIONS.c.id == question_id).values(**decided))
        (row,) = connection.execute(select(QUESTIONS).where(QUESTIONS.c.id == question_id))
        return question_of(row)

    def _content(self, row: Any) -> SealedContent:
        opened = self._seals.unseal(row.sealed, row=row.id)
        if opened is None:
            raise refusal("signature")
        return SealedContent.loaded(opened)


class _StoreClock(SystemClock):
    """Approvals expire by the clock of the database, which never goes back."""

    def __init__(self, store: Store) -> None:
        self.wall = store.now


def _session_key(session: str, subject: PolicySubject) -> str:
    return digest([session, subject.principal, subject.server, subject.tool, subject.definition])


def _decided_already(row: Any, question_id: str) -> ApprovalRefused:
    return ApprovalRefused(
        f"{quoted(question_id)} was {row.state} already, by {row.decided_by}.",
        hint="Nothing was changed.",
        details={"reason": "decided", "state": row.state},
    )


def _waiting(connection: Connection, principal: str | None = None) -> int:
    every = select(func.count()).select_from(QUESTIONS).where(QUESTIONS.c.state == WAITING)
    if principal is not None:
        every = every.where(QUESTIONS.c.principal == principal)
    return connection.scalar(every) or 0
