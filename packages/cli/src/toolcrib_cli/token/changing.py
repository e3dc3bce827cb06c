"""`toolcrib token create|list|revoke`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

from toolcrib_cli.screen import print_json, screen, tell
from toolcrib_cli.toolset.opening import opened_store
from toolcrib_toolsets import AccessToken, AccessTokens, Role, ToolsetScope

_DAY: Final = 86_400.0


def create_token(
    database: str | None,
    principal: str,
    *,
    role: str,
    types: list[str] | None,
    days: float | None,
    note: str,
    as_json: bool,
) -> None:
    """Make a token and print its text, which cannot be had again.

    Raises:
        ToolError: It cannot be made.
    """
    with opened_store(database) as store:
        made, text = AccessTokens(store).create(
            principal,
            role=Role(role),
            scopes=None if types is None else [ToolsetScope(toolset_type=each) for each in types],
            note=note,
            seconds=None if days is None else days * _DAY,
        )
    if as_json:
        print_json({**_told(made), "token": text.reveal()})
        return
    screen().print(text.reveal(), soft_wrap=True)
    tell(f"This is the only time that it is shown. Revoke it with: toolcrib token revoke {made.id}")


def show_tokens(database: str | None, *, as_json: bool) -> None:
    """Print what may be told of all tokens.

    Raises:
        StoreError: The database cannot be used.
    """
    with opened_store(database) as store:
        found, now = AccessTokens(store).list(), store.now()
    if as_json:
        print_json({"tokens": [{**_told(each), "valid": each.is_valid(now)} for each in found]})
        return
    console = screen()
    if not found:
        console.print("There are no access tokens. Make one: toolcrib token create PRINCIPAL", soft_wrap=True)
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for heading in ("Id", "Principal", "Role", "State", "Note"):
        table.add_column(heading, overflow="fold")
    for each in found:
        state = "good" if each.is_valid(now) else "revoked" if each.revoked_at is not None else "expired"
        table.add_row(each.id, each.principal, each.role.value, state, each.note)
    console.print(table)


def revoke_token(database: str | None, token_id: str, *, as_json: bool) -> None:
    """End a token.

    Raises:
        TokenRefused: There is none with this id.
        StoreError: The database cannot be used.
    """
    with opened_store(database) as store:
        revoked = AccessTokens(store).revoke(token_id)
    if as_json:
        print_json(_told(revoked))
    else:
        screen().print(f"The token {revoked.id} of {revoked.principal} is revoked.", soft_wrap=True)


def _told(token: AccessToken) -> dict[str, Any]:
    return {
        "id": token.id,
        "principal": token.principal,
        "role": token.role.value,
        "scopes": None if token.scopes is None else sorted(map(str, token.scopes)),
        "note": token.note,
        "createdAt": _moment(token.created_at),
        "expiresAt": _moment(token.expires_at),
        "revokedAt": _moment(token.revoked_at),
    }


def _moment(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
