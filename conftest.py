"""Rules that every test of the workspace obeys."""

from __future__ import annotations

import gc
import os
from collections.abc import Generator, Iterator

import pytest
from hypothesis import settings

from tests.faults import FAULTS
from tests.requirements import REQUIREMENTS

# No deadline: a busy machine is not a slow program. And the same examples in every run under CI, so that a change is
# judged by what it changed; everybody else's runs look for new ones.
settings.register_profile("workspace", deadline=None, derandomize=os.environ.get("CI") == "true")
settings.load_profile("workspace")

# Fixtures for tests of what is kept in a database, in any package.
pytest_plugins = ("tests.postgresql",)

_KNOWN = {
    "req": frozenset(requirement.id for requirement in REQUIREMENTS),
    "fault": frozenset(fault.id for fault in FAULTS),
}


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the million objects of all tests, which stay until the end, out of every search for garbage: 0.5 s each."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest, and refuse a test that claims to prove what does not exist."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)
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
