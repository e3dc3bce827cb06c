"""The lazy face of a package: names from its own modules and from those of other packages of ours."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from toolcrib_core.faces import lazy_face


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A package with a name of its own and one of core."""
    package, home = ModuleType("small"), ModuleType("small.home")
    home.__dict__["own"] = "mine"
    monkeypatch.setitem(sys.modules, "small", package)
    monkeypatch.setitem(sys.modules, "small.home", home)
    homes = {"own": "home", "lazy_face": "toolcrib_core.faces"}
    package.__getattr__, package.__dir__ = lazy_face("small", homes)  # type: ignore[assignment]  # as a package has it
    return package


def test_a_name_comes_from_its_home_and_is_kept(package: ModuleType) -> None:
    assert package.own == "mine"
    assert vars(package)["own"] == "mine"


def test_a_name_may_live_in_another_package_of_ours(package: ModuleType) -> None:
    assert package.lazy_face is lazy_face


def test_every_name_is_listed_before_it_is_loaded(package: ModuleType) -> None:
    assert {"own", "lazy_face"} <= set(dir(package))


def test_a_name_without_a_home_is_an_attribute_error(package: ModuleType) -> None:
    with pytest.raises(AttributeError, match="module `small` has no attribute `other`"):
        _ = package.other
