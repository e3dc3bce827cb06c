"""What a test does when a real part that it needs is not on this machine."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def real_part_missing(reason: str) -> NoReturn:
    """Skip loudly on a person's machine, fail where `CI=true`: a skipped proof must not look like a passed one.

    Raises:
        pytest.skip.Exception: Outside CI.
        pytest.fail.Exception: Under `CI=true`.
    """
    if os.environ.get("CI") == "true":
        pytest.fail(f"a real part is missing under CI: {reason}", pytrace=False)
    pytest.skip(f"a real part is missing: {reason}")
