"""`requirements.lock`: every version and hash of the workspace, with no index host and no path in it."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from difflib import unified_diff
from pathlib import Path

from checks.workspace import ROOT, find_uv

LOCK_NAME = "requirements.lock"
_TIMESTAMP = re.compile(r'^exclude-newer = "[^"]*"$', re.MULTILINE)
_EXPORT = (
    "export",
    "--quiet",
    "--frozen",
    "--all-packages",
    "--all-extras",
    "--all-groups",
    "--no-emit-workspace",
    "--no-header",
    "--no-annotate",
)
_SHOWN_LINES = 40
# Younger releases may still get files, and some indexes show them late: a lock of them would not hold for a week.
_SETTLED_DAYS = 10


class LockError(Exception):
    """The lock cannot be made, or does not hold what it should."""


def resolve(root: Path) -> str:
    """A fresh resolution of the workspace at `root`, as the text of a lock file.

    Raises:
        LockError: uv is missing or fails, or its answer names a host or a path.
    """
    _uv(root, "lock", "--quiet", "--upgrade")
    text = _uv(root, *_EXPORT)
    leaks = [line for line in text.splitlines() if "://" in line or line.startswith(("-", ".", "/"))]
    if leaks:
        raise LockError(f"the export is bound to a host or a path: {leaks[0]}")
    return text


def differences(root: Path) -> list[str]:
    """How the committed lock of `root` differs from a fresh resolution; nothing when they agree.

    Raises:
        LockError: There is no committed lock, or no resolution can be made.
    """
    file = root / LOCK_NAME
    if not file.is_file():
        raise LockError(f"`{LOCK_NAME}` is missing; scripts/lock makes it")
    committed = file.read_text(encoding="utf-8").splitlines()
    return list(unified_diff(committed, resolve(root).splitlines(), LOCK_NAME, "resolution", lineterm="", n=0))


def renew(root: Path, day: str) -> None:
    """Move the timestamp of `root` to the start of `day`, and write the lock that follows from it.

    Raises:
        LockError: The root pyproject has no timestamp, or no resolution can be made.
    """
    project = root / "pyproject.toml"
    text, count = _TIMESTAMP.subn(f'exclude-newer = "{day}T00:00:00Z"', project.read_text(encoding="utf-8"))
    if count != 1:
        raise LockError("the root pyproject.toml must hold exactly one `exclude-newer`")
    project.write_text(text, encoding="utf-8")
    (root / LOCK_NAME).write_text(resolve(root), encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    """Check the lock, or renew it for a day; 1 when it disagrees."""
    parser = argparse.ArgumentParser(prog="scripts/lock", description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare only, change nothing but the ignored uv.lock")
    parser.add_argument("--date", type=_day, help="newest day to take releases from (default: ten days ago)")
    options = parser.parse_args(arguments)
    try:
        if not options.check:
            renew(ROOT, options.date or _day((datetime.now(UTC) - timedelta(days=_SETTLED_DAYS)).date().isoformat()))
            print(f"renewed {LOCK_NAME}")
            return 0
        found = differences(ROOT)
    except LockError as failure:
        print(f"error: {failure}", file=sys.stderr)
        return 1
    print("\n".join(found[:_SHOWN_LINES]) or f"{LOCK_NAME} agrees with the resolution")
    if found:
        print(f"error: {LOCK_NAME} and the resolution disagree; scripts/lock renews it on purpose", file=sys.stderr)
    return 1 if found else 0


def _day(text: str) -> str:
    return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).date().isoformat()


def _uv(root: Path, *arguments: str) -> str:
    uv = find_uv()
    if uv is None:
        raise LockError("uv is not on PATH; scripts/lock and scripts/test install it by themselves")
    run = subprocess.run([uv, *arguments], cwd=root, check=False, capture_output=True, text=True)
    if run.returncode:
        raise LockError(f"`uv {arguments[0]}` failed: {run.stderr.strip()}")
    return run.stdout


if __name__ == "__main__":
    sys.exit(main())
