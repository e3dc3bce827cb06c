"""A known vulnerability fails the audit unless it is accepted, with a reason, for a time that has not passed."""

from __future__ import annotations

import json
from datetime import date

import pytest

from checks.advisories import EXCEPTIONS, AuditError, locked_names, problems, read_exceptions

pytestmark = pytest.mark.fault("J5")

TODAY = date(2026, 6, 1)
LOCKED = frozenset({"httpx", "typing-extensions"})
ACCEPTED = """
[[exception]]
package = "httpx"
advisory = "CVE-2026-1"
expires = 2026-06-01
reason = "we do not use its proxy support"
"""


def _report(*httpx: dict[str, object]) -> str:
    clean = {"name": "typing_extensions", "version": "4.0", "vulns": []}
    return json.dumps({"dependencies": [{"name": "httpx", "version": "0.1", "vulns": httpx}, clean], "fixes": []})


VULNERABLE = _report({"id": "GHSA-1", "aliases": ["CVE-2026-1"], "fix_versions": ["0.2"], "description": "bad"})


def test_a_lock_without_known_vulnerabilities_passes() -> None:
    assert problems(_report(), LOCKED, (), today=TODAY) == []


def test_a_known_vulnerability_fails() -> None:
    assert problems(VULNERABLE, LOCKED, (), today=TODAY) == ["httpx: CVE-2026-1, GHSA-1"]


def test_an_accepted_vulnerability_passes_through_its_last_day() -> None:
    assert problems(VULNERABLE, LOCKED, read_exceptions(ACCEPTED), today=TODAY) == []


def test_an_expired_exception_fails() -> None:
    found = problems(VULNERABLE, LOCKED, read_exceptions(ACCEPTED), today=date(2026, 6, 2))

    assert found == ["httpx: the exception for CVE-2026-1, GHSA-1 expired on 2026-06-01"]


def test_an_exception_for_another_package_or_advisory_accepts_nothing() -> None:
    other = read_exceptions(ACCEPTED.replace("CVE-2026-1", "CVE-2026-2"))

    found = problems(VULNERABLE, LOCKED, other, today=TODAY)

    assert "httpx: CVE-2026-1, GHSA-1" in found


def test_an_exception_that_matches_nothing_any_more_must_go() -> None:
    found = problems(_report(), LOCKED, read_exceptions(ACCEPTED), today=TODAY)

    assert found == ["httpx: the exception for CVE-2026-1 matches nothing any more; take it out"]


def test_a_package_that_the_auditor_skipped_was_not_audited() -> None:
    clean = {"name": "anyio", "version": "4.0", "vulns": []}
    report = json.dumps({"dependencies": [{"name": "httpx", "skip_reason": "not found by the service"}, clean]})

    found = problems(report, LOCKED | {"anyio"}, (), today=TODAY)

    assert found == ["httpx: not audited", "typing-extensions: not audited"]


def test_a_report_that_clears_nothing_says_so_once_and_what_to_do() -> None:
    report = json.dumps({"dependencies": [{"name": "httpx", "skip_reason": "not found by the service"}]})

    with pytest.raises(
        AuditError, match=r"nothing was audited: .* none of the 2 locked packages.* `scripts/audit --rep"
    ):
        problems(report, LOCKED, (), today=TODAY)


@pytest.mark.parametrize("report", ["", "[]", "{}", '{"dependencies": [{}]}', '{"dependencies": [{"name": "x"}]}'])
def test_a_report_of_another_form_is_refused(report: str) -> None:
    with pytest.raises(AuditError, match="not what pip-audit writes"):
        problems(report, LOCKED, (), today=TODAY)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("[[exception", id="not TOML"),
        pytest.param("[exception]\npackage = 'x'", id="one table"),
        pytest.param(ACCEPTED.replace("exception", "ignore"), id="another name"),
        pytest.param(ACCEPTED.replace('advisory = "CVE-2026-1"', ""), id="no advisory"),
        pytest.param(ACCEPTED.replace("expires = 2026-06-01", ""), id="no day"),
        pytest.param(ACCEPTED.replace("2026-06-01", '"2026-06-01"'), id="a quoted day"),
        pytest.param(ACCEPTED.replace("2026-06-01", "2026-06-01T00:00:00Z"), id="a moment"),
        pytest.param(ACCEPTED.replace("we do not use its proxy support", " "), id="no reason"),
        pytest.param(ACCEPTED + "forever = true", id="one key more"),
        pytest.param('exception = ["httpx"]', id="a bare name"),
    ],
)
def test_a_malformed_list_of_exceptions_fails(text: str) -> None:
    with pytest.raises(AuditError):
        read_exceptions(text)


def test_the_committed_list_of_exceptions_is_well_formed() -> None:
    read_exceptions(EXCEPTIONS.read_text("utf-8"))


def test_names_of_the_lock_are_normalised() -> None:
    lock = "typing_extensions==4.1 \\\n    --hash=sha256:00\nHTTPX==0.1 ; sys_platform == 'linux' \\\n"

    assert locked_names(lock) == LOCKED
