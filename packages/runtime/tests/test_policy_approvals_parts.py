"""The parts of approvals: secrets, tokens, and the ledger of what is spent."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from policy_tools import NOW, WallClock

from toolcrib_runtime import Approvals, PendingApproval
from toolcrib_runtime.errors import ApprovalRefused
from toolcrib_runtime.guards.secrets import REDACTED, Scrubber, Secret
from toolcrib_runtime.policy.approval_ledger import MemorySpentApprovals
from toolcrib_runtime.policy.approval_tokens import MAX_BY_LENGTH, MAX_TOKEN_LENGTH, read_token, signer
from toolcrib_runtime.policy.approvals import ApprovalSubject

KEY = b"k" * 16
SUBJECT = ApprovalSubject(
    tool_id="fs:delete@1.0.0",
    tool_digest="a" * 64,
    arguments_digest="b" * 64,
    principal="ada",
    tenant=None,
    policy_version="1",
)


def _asked(approvals: Approvals, subject: ApprovalSubject = SUBJECT) -> PendingApproval:
    return approvals.request(subject, reason="it deletes", summary="Run it.")


@pytest.mark.parametrize("secret", [b"", b"fifteen bytes!!", Secret("short")])
def test_a_secret_that_could_be_guessed_is_refused_without_being_shown(secret: bytes | Secret) -> None:
    with pytest.raises(ValueError, match="must have at least 16 bytes; it has") as caught:
        Approvals(secret)

    assert "fifteen" not in str(caught.value)


@pytest.mark.parametrize("secret", ["0123456789abcdef", 32, bytearray(KEY)])
def test_a_secret_is_bytes_or_wrapped(secret: Any) -> None:
    with pytest.raises(TypeError, match="must be `bytes` or a `Secret`"):
        Approvals(secret)


def test_an_approval_is_known_for_a_secret_wherever_it_stands() -> None:
    approvals = Approvals(KEY)
    token = approvals.grant(_asked(approvals), by="grace")

    assert Scrubber().scrub_text(f"with {token}, again") == f"with tcap1.{REDACTED}, again"


async def test_a_wrapped_secret_signs_as_its_bytes_do() -> None:
    one, other = Approvals(Secret(KEY.decode())), Approvals(KEY)

    grant = await other.redeem(one.grant(_asked(one), by="grace"), SUBJECT)

    assert grant.by == "grace"


def test_the_secret_is_nowhere_to_be_seen() -> None:
    approvals = Approvals(KEY)

    shown = [repr(approvals), *(repr(getattr(approvals, name)) for name in Approvals.__slots__)]

    assert KEY.decode() not in " ".join(shown)


async def test_without_a_secret_every_object_has_its_own() -> None:
    one, other = Approvals(), Approvals()

    with pytest.raises(ApprovalRefused):
        await other.redeem(one.grant(_asked(one), by="grace"), SUBJECT)


@pytest.mark.parametrize("ttl", [0, -1, float("inf"), float("nan")])
def test_an_approval_always_ends(ttl: float) -> None:
    with pytest.raises(ValueError, match="a finite number above 0"):
        Approvals(KEY, ttl=ttl)


@pytest.mark.parametrize("by", ["", "x" * (MAX_BY_LENGTH + 1)])
def test_whoever_grants_gives_a_name(by: str) -> None:
    approvals = Approvals(KEY)

    with pytest.raises(ValueError, match="says who grants it"):
        approvals.grant(_asked(approvals), by=by)


@pytest.mark.req("RT-10")
async def test_an_approval_fits_into_its_bound_however_long_everything_is() -> None:
    approvals = Approvals(KEY)
    subject = SUBJECT._replace(
        tool_id="%20" * 768, principal="p" * 100_000, tenant="t" * 100_000, policy_version="v" * 9_999
    )

    token = approvals.grant(_asked(approvals, subject), by="\x01" * MAX_BY_LENGTH)

    assert len(token) < 6_000 < MAX_TOKEN_LENGTH
    assert (await approvals.redeem(token, subject)).approval_id.startswith("apr_")


@pytest.mark.parametrize("payload", ["e30", "AA", "A", "W10"], ids=["empty", "bytes", "not base64", "a list"])
def test_what_we_signed_but_cannot_read_is_malformed(payload: str) -> None:
    sign = signer(KEY)
    signed = f"tcap1.{payload}"

    with pytest.raises(ApprovalRefused) as caught:
        read_token(f"{signed}.{sign(signed.encode())}", sign)

    assert caught.value.details == {"reason": "malformed"}


@pytest.mark.parametrize(
    "change",
    [
        {"id": ""},
        {"toolDigest": "xyz"},
        {"expiresAt": "soon"},
        {"expiresAt": float("nan")},
        {"summary": "\ud800"},
        {"principal": 7},
        {"approved": True},
    ],
    ids=repr,
)
def test_what_is_not_a_question_cannot_be_read_as_one(change: dict[str, object]) -> None:
    data = {**_asked(Approvals(KEY)).to_dict(), **change}

    with pytest.raises(ApprovalRefused) as caught:
        PendingApproval.from_dict(data)

    assert caught.value.details == {"reason": "malformed"}
    assert caught.value.__cause__ is None


def test_the_question_has_this_form_on_the_wire() -> None:
    data = _asked(Approvals(KEY, clock=WallClock())).to_dict()

    assert len(str(data.pop("id"))) == 36
    assert len(str(data.pop("seal"))) == 43
    assert data == {
        "toolId": "fs:delete@1.0.0",
        "toolDigest": "a" * 64,
        "argumentsDigest": "b" * 64,
        "principal": "ada",
        "tenant": None,
        "policyVersion": "1",
        "expiresAt": NOW + 900,
        "reason": "it deletes",
        "summary": "Run it.",
    }


@pytest.mark.req("RT-10")
async def test_the_ledger_holds_no_more_than_what_has_not_expired() -> None:
    clock = WallClock()
    ledger = MemorySpentApprovals(clock=clock)

    for number in range(1_000):
        clock.now = NOW + number
        await ledger.spend(f"apr_{number}", clock.now + 10)

    assert len(ledger) == 10


@pytest.mark.req("RT-10")
def test_one_of_many_threads_spends_an_approval() -> None:
    ledger, start = MemorySpentApprovals(), threading.Barrier(8)
    wins: list[int] = []

    def spend_all() -> None:
        start.wait(timeout=10)
        wins.extend(number for number in range(500) if _now(ledger.spend(f"apr_{number}", 4e9)))

    threads = [threading.Thread(target=spend_all) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=10)

    assert sorted(wins) == list(range(500))


def _now(spending: Any) -> bool:
    """Run a coroutine that never waits."""
    try:
        spending.send(None)
    except StopIteration as ended:
        return bool(ended.value)
    raise AssertionError("it waited")
