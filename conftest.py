"""Rules that every test of the workspace obeys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from tests.faults import FAULTS
from tests.requirements import REQUIREMENTS

_KNOWN = {
    "req": frozenset(requirement.id for requirement in REQUIREMENTS),
    "fault": frozenset(fault.id for fault in FAULTS),
}


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Refuse a test that claims to prove a requirement or a fault that does not exist."""
    unknown = sorted({problem for item in items for problem in _unknown_ids(item)})
    if unknown:
        raise pytest.UsageError("\n".join(unknown))


def _unknown_ids(item: pytest.Item) -> Iterator[str]:
    for marker, known in _KNOWN.items():
        for mark in item.iter_markers(marker):
            for claimed in mark.args:
                if claimed not in known:
                    yield f"{item.nodeid}: no such `{marker}` id: `{claimed}`"
            if not mark.args:
                yield f"{item.nodeid}: `{marker}` names no id"
