"""The files of the repository, for tests that hold all of them to something."""

from __future__ import annotations

import subprocess
from pathlib import Path

from checks.workspace import ROOT
from tests.real_parts import real_part_missing


def repository_files() -> list[Path]:
    """Files that are tracked, or would be by the next `git add`."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    run = subprocess.run(command, cwd=ROOT, check=False, capture_output=True)
    if run.returncode:
        real_part_missing("this is not a git checkout")
    return [path for name in run.stdout.decode().split("\0") if name and (path := ROOT / name).is_file()]
