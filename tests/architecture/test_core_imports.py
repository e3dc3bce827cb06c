"""What core may import: an explicit list, because a list of forbidden names cannot say "and nothing else"."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from checks.workspace import ROOT
from tests.architecture.tree_copy import TreeCopy

pytestmark = pytest.mark.req("AR-9.1")

THIRD_PARTY = {
    "docstring_parser",
    "jsonschema_rs",
    "numpy",
    "orjson",
    "pydantic",
    "pydantic_core",
    "rpds",
    "snowballstemmer",
    "tiktoken",
    "typing_extensions",
}
# Nothing here opens a connection, starts a process or writes a file. `gzip` and `pathlib` read the shipped vocabulary.
STANDARD_LIBRARY = {
    "__future__",
    "abc",
    "array",
    "base64",
    "binascii",
    "bisect",
    "collections",
    "contextlib",
    "copy",
    "dataclasses",
    "datetime",
    "difflib",
    "enum",
    "functools",
    "gzip",
    "hashlib",
    "heapq",
    "importlib",
    "inspect",
    "itertools",
    "json",
    "math",
    "operator",
    "pathlib",
    "re",
    "string",
    "sys",
    "threading",
    "types",
    "typing",
    "unicodedata",
    "urllib",
    "uuid",
    "warnings",
    "weakref",
    "zlib",
}

_LIST_IMPORTS = """
import grimp, json
graph = grimp.build_graph("toolcrib_core", include_external_packages=True, cache_dir=None)
ours = graph.find_descendants("toolcrib_core") | {"toolcrib_core"}
imported = set().union(*(graph.find_modules_directly_imported_by(module) for module in ours))
print(json.dumps(sorted(imported - ours)))
"""

_IMPORT_EACH_FIRST = """
import importlib, sys, warnings
for module in sys.argv[1:]:
    for loaded in [name for name in sys.modules if name.partition(".")[0] == "toolcrib_core"]:
        del sys.modules[loaded]
    importlib.import_module(module)
"""


def _external_imports(tree: TreeCopy) -> set[str]:
    run = tree.run("-c", _LIST_IMPORTS)
    assert run.returncode == 0, run.stderr
    return set(json.loads(run.stdout))


def _modules(source: Path) -> list[str]:
    files = sorted(source.rglob("*.py"))
    return [".".join(file.relative_to(source.parent).with_suffix("").parts).removesuffix(".__init__") for file in files]


@pytest.mark.req("D4-1.3h", "D1-10a", "D1-1l", "D1-8a")
def test_core_imports_nothing_but_what_is_listed(tree: TreeCopy) -> None:
    imported = _external_imports(tree)

    assert imported - THIRD_PARTY - STANDARD_LIBRARY == set()


@pytest.mark.req("D1-10a")
@pytest.mark.parametrize("statement", ["import ctypes", "from os import environ", "import requests", "import toolcrib"])
def test_an_import_that_is_not_listed_is_found(tree: TreeCopy, statement: str) -> None:
    tree.plant("toolcrib_core.planted", f"def deep() -> None:\n    {statement}\n")

    imported = _external_imports(tree)

    assert statement.split()[1] in imported - THIRD_PARTY - STANDARD_LIBRARY


def test_core_takes_only_the_parser_of_urllib() -> None:
    sources = (ROOT / "packages/core/src").rglob("*.py")

    lines = {line.strip() for source in sources for line in source.read_text("utf-8").splitlines() if "urllib" in line}

    assert {line for line in lines if not line.startswith("from urllib.parse import ")} == set()


@pytest.mark.fault("J2")
def test_every_module_of_core_can_be_the_first_to_be_imported(tree: TreeCopy) -> None:
    run = tree.run("-W", "error", "-c", _IMPORT_EACH_FIRST, *_modules(tree.packages["toolcrib_core"].source))

    assert run.stderr == ""
    assert run.returncode == 0


@pytest.mark.fault("J2")
def test_a_cycle_that_stops_a_module_from_loading_is_found(tree: TreeCopy) -> None:
    tree.plant("toolcrib_core.planted_one", "from toolcrib_core.planted_two import two\none = two\n")
    tree.plant("toolcrib_core.planted_two", "from toolcrib_core.planted_one import one\ntwo = one\n")

    run = tree.run("-c", _IMPORT_EACH_FIRST, "toolcrib_core.planted_one")

    assert "circular import" in run.stderr
