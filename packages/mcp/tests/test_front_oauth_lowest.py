"""Forged access tokens, with the oldest library of tokens that the package allows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from checks.workspace import ROOT
from tests.environments import failure_of_uv
from tests.real_parts import real_part_missing

TESTS = ("test_front_oauth_tokens.py", "test_front_oauth_keys.py")
FORGED = (
    "too_short or long_enough or broken or no_signature or no_secret_to_sign or own_key or was_changed or good_token"
)
_SECONDS = 240


@pytest.mark.slow
@pytest.mark.enable_socket
@pytest.mark.req("GW-8.5")
@pytest.mark.fault("K21")
def test_what_is_refused_with_the_newest_library_is_refused_with_the_oldest(tmp_path: Path) -> None:
    version = oldest_allowed("pyjwt")
    failure = failure_of_uv("pip", "install", "--no-deps", "--target", tmp_path, f"pyjwt=={version}")
    if failure:
        real_part_missing(f"PyJWT {version} cannot be installed: {failure}")
    program = "import jwt, pytest, sys; print(jwt.__version__); sys.exit(pytest.main(sys.argv[1:]))"
    files = [Path(__file__).with_name(name) for name in TESTS]

    run = subprocess.run(
        [sys.executable, "-c", program, "-q", "-p", "no:cacheprovider", "-k", FORGED, *files],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        check=False,
        capture_output=True,
        text=True,
        timeout=_SECONDS,
    )

    assert run.returncode == 0, run.stdout[-3000:]
    assert run.stdout.startswith(version)


def oldest_allowed(library: str) -> str:
    """The version that the dependencies of the package begin with."""
    project = tomllib.loads((ROOT / "packages/mcp/pyproject.toml").read_text("utf-8"))["project"]
    (found,) = (
        match["version"]
        for each in project["dependencies"]
        if (match := re.match(rf"{library}(?:\[\w+\])?>=(?P<version>[\d.]+)", each))
    )
    return str(found) if found.count(".") > 1 else f"{found}.0"
