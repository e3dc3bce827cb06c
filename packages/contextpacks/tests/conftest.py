"""One bench for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pack_cases import Bench, bench


@pytest.fixture
def packs(tmp_path: Path) -> Iterator[Bench]:
    """A source tree and an empty database of SQLite."""
    with bench(tmp_path) as made:
        yield made


@pytest.fixture
def packs_anywhere(tmp_path: Path, store_url: str) -> Iterator[Bench]:
    """The same on both databases in turn."""
    with bench(tmp_path, store_url) as made:
        yield made
