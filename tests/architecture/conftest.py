"""A copy of the tree that tests may break."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.architecture.tree_copy import TreeCopy, copy_tree_to


@pytest.fixture
def tree(tmp_path: Path) -> TreeCopy:
    """A copy for one test."""
    return copy_tree_to(tmp_path)
