"""Access tokens."""

from __future__ import annotations

import pytest
from toolset_kit import ALICE

from toolcrib_runtime.guards.secrets import REDACTED, Scrubber
from toolcrib_store import Store, TurnableClock
from toolcrib_toolsets.contract import Role, ToolsetScope
from toolcrib_toolsets.tables import ACCESS_TOKENS
from toolcrib_toolsets.tokens import AccessTokens, TokenRefused


@pytest.fixture
def tokens(toolset_store: Store) -> AccessTokens:
    return AccessTokens(toolset_store)


def test_a_token_finds_its_principal_and_its_text_is_kept_nowhere(tokens: AccessTokens, toolset_store: Store) -> None:
    made, text = tokens.create(ALICE, role=Role.ADMIN, scopes=[ToolsetScope(toolset_type="echo")], note="laptop")

    assert tokens.find(text.reveal()) == made
    assert tokens.list() == [made]
    with toolset_store.reading() as connection:
        assert text.reveal() not in str(connection.execute(ACCESS_TOKENS.select()).all())
    assert text.reveal() not in repr(made)


@pytest.mark.parametrize("text", ["", "tcat_", "tcat_guess", "x" * 10_000, "tcat_" + "x" * 10_000, "tcat_\ud800"])
def test_nothing_else_finds_anything(tokens: AccessTokens, text: str) -> None:
    tokens.create(ALICE)

    assert tokens.find(text) is None


def test_a_token_is_known_for_a_secret_wherever_it_stands(tokens: AccessTokens) -> None:
    _, text = tokens.create("alice")

    assert Scrubber().scrub_text(f"got {text.reveal()} from") == f"got {REDACTED} from"


def test_a_token_ends_when_its_time_is_up_or_it_is_revoked(tokens: AccessTokens, clock: TurnableClock) -> None:
    _, short = tokens.create(ALICE, seconds=60)
    made, long = tokens.create(ALICE)
    clock.turn(61)

    assert tokens.find(short.reveal()) is None
    assert tokens.find(long.reveal()) == made
    revoked = tokens.revoke(made.id)
    clock.turn(5)
    assert tokens.find(long.reveal()) is None
    assert tokens.revoke(made.id) == revoked
    with pytest.raises(TokenRefused, match="no access token"):
        tokens.revoke("none")


@pytest.mark.parametrize("principal", ["", "x" * 201, "a\nb"])
def test_a_principal_has_a_name_that_can_be_shown(tokens: AccessTokens, principal: str) -> None:
    with pytest.raises(TokenRefused):
        tokens.create(principal)


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), float("inf"), 1e300])
def test_a_time_that_is_none_is_refused(tokens: AccessTokens, seconds: float) -> None:
    with pytest.raises(TokenRefused):
        tokens.create(ALICE, seconds=seconds)
    assert tokens.list() == []
