"""Access tokens of principals: made once, shown once, kept by their digest only."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Row, bindparam, insert, select, update

from toolcrib_core import ToolError, ToolErrorCategory
from toolcrib_core.wording import quoted
from toolcrib_runtime.guards.secrets import Secret
from toolcrib_store import Store
from toolcrib_toolsets.contract import Role, ToolsetScope
from toolcrib_toolsets.tables import ACCESS_TOKENS

PREFIX: Final = "tcat_"
"""What an access token begins with, so that scanners for secrets know it."""

MAX_PRINCIPAL_LEN: Final = 200
MAX_SECONDS: Final = 100 * 365 * 86_400.0
_MAX_TOKEN: Final = 200

# Built once: it is asked for every request, and to build it takes several times as long as to execute it.
_OF_DIGEST: Final = select(ACCESS_TOKENS).where(ACCESS_TOKENS.c.digest == bindparam("of_digest"))


class TokenRefused(ToolError):
    """There is no such token, or the principal of a new one is none."""

    default_code = "toolbox.token-refused"
    default_category = ToolErrorCategory.VALIDATION


@dataclass(frozen=True, kw_only=True)
class AccessToken:
    """What may be told of a token."""

    id: str
    principal: str
    role: Role
    scopes: frozenset[ToolsetScope] | None
    """The toolset types it reaches, or `None` where it is not limited."""
    note: str
    created_at: float
    expires_at: float | None
    revoked_at: float | None

    def is_valid(self, now: float) -> bool:
        """Whether it opens anything at a moment."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


class AccessTokens:
    """Makes, finds and revokes access tokens."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def create(
        self,
        principal: str,
        *,
        role: Role = Role.USER,
        scopes: Iterable[ToolsetScope] | None = None,
        note: str = "",
        seconds: float | None = None,
    ) -> tuple[AccessToken, Secret]:
        """A new token and its text, which cannot be had again.

        Raises:
            TokenRefused: The principal has no name, or one that cannot be shown; or the time is none.
            StoreError: The database failed.
        """
        if not principal or len(principal) > MAX_PRINCIPAL_LEN or not principal.isprintable():
            raise TokenRefused(
                f"A principal has a name of 1 to {MAX_PRINCIPAL_LEN} characters that can be shown.",
                hint="An example is `alice@example.org`.",
            )
        if seconds is not None and not 0 < seconds <= MAX_SECONDS:  # nor NaN, which some databases keep as "never"
            raise TokenRefused("A token is good for some time, and for a hundred years at most.")
        text = Secret(PREFIX + secrets.token_urlsafe(32))
        now = self._store.now()
        made = AccessToken(
            id=secrets.token_hex(4),
            principal=principal,
            role=role,
            scopes=None if scopes is None else frozenset(scopes),
            note=note,
            created_at=now,
            expires_at=None if seconds is None else now + seconds,
            revoked_at=None,
        )
        with self._store.writing() as connection:
            connection.execute(
                insert(ACCESS_TOKENS).values(
                    id=made.id,
                    digest=_digest(text.reveal()),
                    principal=principal,
                    role=role.value,
                    scopes="*" if made.scopes is None else " ".join(sorted(map(str, made.scopes))),
                    note=note,
                    created_at=now,
                    expires_at=made.expires_at,
                )
            )
        return made, text

    def find(self, text: str) -> AccessToken | None:
        """The token of a text, if it is one and valid now. How long that takes says nothing about what is kept.

        Raises:
            StoreError: The database failed.
        """
        if not text.startswith(PREFIX) or len(text) > _MAX_TOKEN:
            return None
        with self._store.reading() as connection:
            # By digest: whoever measures the comparison learns of a hash that they cannot choose.
            row = connection.execute(_OF_DIGEST, {"of_digest": _digest(text)}).first()
        found = None if row is None else _token(row)
        return found if found is not None and found.is_valid(self._store.now()) else None

    def list(self) -> list[AccessToken]:
        """All tokens that were ever made, oldest first.

        Raises:
            StoreError: The database failed.
        """
        with self._store.reading() as connection:
            chosen = select(ACCESS_TOKENS).order_by(ACCESS_TOKENS.c.created_at, ACCESS_TOKENS.c.id)
            return [_token(each) for each in connection.execute(chosen)]

    def revoke(self, token_id: str) -> AccessToken:
        """End a token; one that was ended before stays so.

        Raises:
            TokenRefused: There is none with this id.
            StoreError: The database failed.
        """
        chosen = ACCESS_TOKENS.c.id == token_id
        with self._store.writing() as connection:
            live = chosen & ACCESS_TOKENS.c.revoked_at.is_(None)
            connection.execute(update(ACCESS_TOKENS).where(live).values(revoked_at=self._store.now()))
            row = connection.execute(select(ACCESS_TOKENS).where(chosen)).first()
        if row is None:
            raise TokenRefused(
                f"There is no access token {quoted(token_id)}.",
                category=ToolErrorCategory.NOT_FOUND,
                hint="`toolcrib token list` shows them.",
            )
        return _token(row)


def _token(row: Row[Any]) -> AccessToken:
    return AccessToken(
        id=row.id,
        principal=row.principal,
        role=Role(row.role),
        scopes=None if row.scopes == "*" else ToolsetScope.parse_claim(row.scopes),
        note=row.note,
        created_at=row.created_at,
        expires_at=row.expires_at,
        revoked_at=row.revoked_at,
    )


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
