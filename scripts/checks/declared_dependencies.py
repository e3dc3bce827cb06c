"""Whether each package declares exactly what it imports: deptry, once per package."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from checks.workspace import ROOT, Package, find_packages


def undeclared(package: Package) -> list[str]:
    """What deptry holds against a package: undeclared, transitive and unused dependencies, one line each."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "deptry", "src", "--json-output", str(report)]
        # From inside the package: deptry reads the pyproject.toml of the folder it runs in.
        run = subprocess.run(command, cwd=package.folder, check=False, capture_output=True, text=True)
        if not report.is_file():
            return [f"{package.name}: deptry failed: {run.stderr.strip()}"]
        findings = json.loads(report.read_text(encoding="utf-8"))
    return [
        f"{package.name}: {finding['error']['code']} {finding['error']['message']} ({finding['location']['file']})"
        for finding in findings
    ]


def main() -> int:
    """Print every finding of every package; 1 when there is one."""
    findings = [finding for package in find_packages(ROOT) for finding in undeclared(package)]
    print("\n".join(findings) or "every package declares what it imports")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
