"""The names that each package exports change only on purpose."""

from __future__ import annotations

import importlib
import re
from types import ModuleType

import pytest

from checks.api_surface import SNAPSHOTS, changes, surface
from checks.workspace import Package, find_packages
from tests.architecture.tree_copy import TreeCopy

pytestmark = pytest.mark.req("AR-9.3")

PACKAGES = {package.module: package for package in find_packages()}
EXECUTE_LIKE = {"call", "dispatch", "exec", "execute", "executor", "invoke", "perform", "run", "runner", "spawn"}


def _words(name: str) -> list[str]:
    return re.findall(r"[a-z]+|[A-Z][a-z]*", name)


def _execute_like(lines: list[str]) -> set[str]:
    """Functions, methods and classes named for running something.

    A field such as `run_id` names a value, and a class such as `ToolCall` is a call as data: it is read and carried.
    """
    names = re.findall(r"^ *(?:async |classmethod |staticmethod )*(?:def|class) (\w+)", "\n".join(lines), re.MULTILINE)
    names = [name for name in names if not re.fullmatch(r"[A-Z]\w*Calls?", name)]
    return {name for name in names if {word.lower() for word in _words(name)} & EXECUTE_LIKE}


def _public_names(module: ModuleType) -> set[str]:
    """Names of a face without its submodules, which Python adds by itself, and without what `__future__` leaves."""
    names = {name for name in dir(module) if not name.startswith("_")}
    submodules = {name for name in names if isinstance(getattr(module, name), ModuleType)}
    return names - submodules - {"annotations", "TYPE_CHECKING", "import_module", "lazy_face"}


# The names at the top level of the umbrella are deprecated, and exported still.
@pytest.mark.filterwarnings("ignore:.toolcrib:DeprecationWarning")
@pytest.mark.parametrize("module", PACKAGES)
def test_all_lists_exactly_the_public_names_of_a_face(module: str) -> None:
    face = importlib.import_module(module)

    assert sorted(face.__all__) == sorted(_public_names(face))


@pytest.mark.req("D1-10j")
@pytest.mark.parametrize("module", PACKAGES)
def test_a_package_exports_what_its_snapshot_says(module: str) -> None:
    found = changes(PACKAGES[module], beside=tuple(PACKAGES.values()))

    assert found == [], "scripts/api --update renews the snapshot when the change was meant"


def test_there_is_a_snapshot_for_every_package_and_no_other() -> None:
    assert {file.stem for file in SNAPSHOTS.iterdir()} == set(PACKAGES)


@pytest.mark.req("D1-1k", "D1-12a")
def test_core_has_no_execute_like_name() -> None:
    assert _execute_like(surface(PACKAGES["toolcrib_core"])) == set()


@pytest.mark.req("D1-1k")
@pytest.mark.parametrize(
    "line", ["def execute(tool)", "    def run_tool(self)", "class ToolRunner()", "async def call()"]
)
def test_an_execute_like_name_is_found(line: str) -> None:
    assert _execute_like(["def register(tool)", line])


FACE = '''"""A face."""

from toolcrib_store.ledger import Ledger, open_ledger

__all__ = ["Ledger", "open_ledger"]
'''
LEDGER = '''"""A ledger."""


class _Reader:
    def read(self, key: str) -> str:
        return key


class Ledger(_Reader):
    limit: int = 3

    def __init__(self, *, path: str) -> None:
        self.path = path

    def append(self, line: str, /, *more: str, sync: bool = True) -> int:
        return self._count(line)

    def _count(self, line: str) -> int:
        return len(line)


async def open_ledger(path: str) -> Ledger:
    return Ledger(path=path)
'''


@pytest.fixture
def store(tree: TreeCopy) -> Package:
    """A package that exports something, beside its snapshot."""
    tree.plant("toolcrib_store.__init__", FACE)
    tree.plant("toolcrib_store.ledger", LEDGER)
    package = tree.packages["toolcrib_store"]
    snapshot = "".join(f"{line}\n" for line in surface(package))
    (tree.root / "toolcrib_store.txt").write_text(snapshot, "utf-8")
    return package


def _change(package: Package, file: str, old: str, new: str) -> list[str]:
    path = package.source / file
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")
    found = changes(package, snapshots=package.folder.parents[1])
    return [line for line in found if re.match(r"[-+] *\w", line)]


def test_a_snapshot_holds_signatures_members_and_what_a_hidden_base_gives(store: Package) -> None:
    assert surface(store) == [
        "class Ledger(_Reader)",
        "    def __init__(self, *, path: str) -> None",
        "    def append(self, line: str, /, *more: str, sync: bool = True) -> int",
        "    limit: int = 3",
        "    path",
        "    def read(self, key: str) -> str",
        "async def open_ledger(path: str) -> Ledger",
    ]


@pytest.mark.req("D1-10j")
@pytest.mark.fault("J3")
def test_a_removed_name_is_found(store: Package) -> None:
    found = _change(store, "__init__.py", '["Ledger", "open_ledger"]', '["Ledger"]')

    assert found == ["-async def open_ledger(path: str) -> Ledger"]


@pytest.mark.fault("J3")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("sync: bool = True", "sync: bool = False", id="another default"),
        pytest.param("line: str, /", "line: bytes, /", id="another type"),
        pytest.param("line: str, /, *more", "line: str, *more", id="another kind of parameter"),
        pytest.param("-> int:\n        return self._count", "-> str:\n        return self._count", id="another result"),
        pytest.param("async def open_ledger", "def open_ledger", id="no longer awaited"),
        pytest.param("def read(", "def _read(", id="a method that a hidden base gave"),
        pytest.param("limit: int = 3", "limit: int = 4", id="a constant"),
        pytest.param("self.path = path", "self._path = path", id="an attribute"),
    ],
)
def test_a_changed_signature_or_member_is_found(store: Package, old: str, new: str) -> None:
    assert _change(store, "ledger.py", old, new) != []


def test_a_private_change_is_not_a_change_of_the_surface(store: Package) -> None:
    found = _change(store, "ledger.py", "_count", "_length")

    assert found == []
