"""Whether a locked dependency has a known vulnerability that nobody has accepted for now."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from checks.lockfile import LOCK_NAME
from checks.workspace import ROOT, find_uv

EXCEPTIONS = ROOT / "audit-exceptions.toml"
_AUDITOR = "pip-audit==2.10.1"
_PINNED = re.compile(r"^([A-Za-z0-9._-]+)==", re.MULTILINE)
_SECONDS = 600
_NOTHING = (
    "nothing was audited: the service that the auditor asks answered for none of the {count} locked packages. An index "
    "that only mirrors files has no advisories. Run this where the auditor reaches the public service, or make a "
    "report there (`pip-audit --format=json --require-hashes --disable-pip -r requirements.lock -o FILE`) "
    "and judge it here: `scripts/audit --report FILE`"
)


class AuditError(Exception):
    """The report or the list of exceptions does not say what it must."""


@dataclass(frozen=True, kw_only=True)
class AcceptedRisk:
    """One advisory that is accepted for a package until a day, for a reason."""

    package: str
    advisory: str
    expires: date
    reason: str


def read_exceptions(text: str) -> tuple[AcceptedRisk, ...]:
    """The accepted risks in the text of audit-exceptions.toml.

    Raises:
        AuditError: It is not TOML, an entry has other keys than the four, or a value is empty or of another kind.
    """
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as failure:
        raise AuditError(f"the exceptions are not TOML: {failure}") from failure
    entries = content.pop("exception", [])
    if content or not isinstance(entries, list):
        raise AuditError("the exceptions may hold `[[exception]]` tables and nothing else")
    return tuple(_read_exception(entry) for entry in entries)


def problems(report: str, locked: frozenset[str], accepted: tuple[AcceptedRisk, ...], *, today: date) -> list[str]:
    """Every reason why a report of pip-audit does not clear the locked packages, one line each.

    A package that the auditor skipped or left out is a problem too: it ends such a run with "no known
    vulnerabilities found" and exit code 0.

    Raises:
        AuditError: The report is not what pip-audit writes, or clears nothing at all.
    """
    found = _read_report(report)
    unaudited = sorted(name for name in locked if found.get(name) is None)
    if unaudited and len(unaudited) == len(locked):
        raise AuditError(_NOTHING.format(count=len(locked)))
    lines = [f"{name}: not audited" for name in unaudited]
    for name, advisories in sorted(found.items()):
        for names in advisories or []:
            lines += _judge(name, names, accepted, today)
    return lines + [
        f"{risk.package}: the exception for {risk.advisory} matches nothing any more; take it out"
        for risk in accepted
        if not any(risk.advisory in names for names in found.get(risk.package) or [])
    ]


def locked_names(lock: str) -> frozenset[str]:
    """The normalised names that the text of a lock file pins."""
    return frozenset(_normalized(name) for name in _PINNED.findall(lock))


def main(arguments: list[str] | None = None) -> int:
    """Audit the lock, or judge a report that was made elsewhere; 1 on any problem."""
    parser = argparse.ArgumentParser(prog="scripts/audit", description=__doc__)
    parser.add_argument("--report", type=Path, help="judge this JSON report of pip-audit instead of making one")
    options = parser.parse_args(arguments)
    lock = (ROOT / LOCK_NAME).read_text(encoding="utf-8")
    try:
        accepted = read_exceptions(EXCEPTIONS.read_text(encoding="utf-8"))
        report = options.report.read_text(encoding="utf-8") if options.report else _run_auditor()
        found = problems(report, locked_names(lock), accepted, today=datetime.now(UTC).date())
    except (AuditError, OSError) as failure:
        print(f"error: {failure}", file=sys.stderr)
        return 1
    print("\n".join(found) or f"{len(locked_names(lock))} packages audited, {len(accepted)} accepted risks")
    return 1 if found else 0


def _read_exception(entry: object) -> AcceptedRisk:
    match entry:
        case {
            "package": str(package),
            "advisory": str(advisory),
            "expires": date() as expires,
            "reason": str(reason),
            **rest,
        } if not rest and package.strip() and advisory.strip() and reason.strip():
            # A datetime is a date too, but a moment is not a day.
            if not isinstance(expires, datetime):
                return AcceptedRisk(package=_normalized(package), advisory=advisory, expires=expires, reason=reason)
    raise AuditError(
        "an exception needs exactly `package`, `advisory`, `expires` (a day, unquoted) and `reason`, none empty"
    )


def _read_report(text: str) -> dict[str, list[frozenset[str]] | None]:
    """For each package the names of each of its advisories; `None` when it was skipped."""
    try:
        content = json.loads(text)
        return {
            _normalized(each["name"]): None
            if "skip_reason" in each
            else [frozenset({vulnerability["id"], *vulnerability["aliases"]}) for vulnerability in each["vulns"]]
            for each in content["dependencies"]
        }
    except (ValueError, KeyError, TypeError) as failure:
        raise AuditError(f"the report is not what pip-audit writes: {failure!r}") from failure


def _judge(name: str, advisories: frozenset[str], accepted: tuple[AcceptedRisk, ...], today: date) -> list[str]:
    known = ", ".join(sorted(advisories))
    for risk in accepted:
        if risk.package == name and risk.advisory in advisories:
            expired = risk.expires < today
            return [f"{name}: the exception for {known} expired on {risk.expires}"] if expired else []
    return [f"{name}: {known}"]


def _normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _run_auditor() -> str:
    uv = find_uv()
    if uv is None:
        raise AuditError("uv is not on PATH; scripts/audit installs it by itself")
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        options = ("--disable-pip", "--require-hashes", "--progress-spinner=off", "--format=json")
        command = [uv, "tool", "run", _AUDITOR, *options, f"--output={report}", f"--requirement={ROOT / LOCK_NAME}"]
        # Its exit code only repeats what the report says.
        run = subprocess.run(command, check=False, capture_output=True, text=True, timeout=_SECONDS)
        if not report.is_file():
            raise AuditError(f"the auditor gave no report: {run.stderr.strip()}")
        return report.read_text(encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
