"""Whether all that is written here is used: vulture, over the sources, and then over their tests as well."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

from vulture.core import Item, Vulture  # type: ignore[import-untyped]  # it ships no types

from checks.workspace import ROOT

PRODUCT = ("packages/*/src", "packages/adapters/*/src", "scripts/checks")
USERS = ("bench/*.py", "examples")  # what peers bring along is not ours
TESTS = ("conftest.py", "tests", "packages/*/tests", "packages/adapters/*/tests")

_EXPORTS = "tests/architecture/api/*.txt"
_EXPORTED = re.compile(r"^ *(?:async |classmethod |staticmethod |property |class |def )*(\w+)", re.MULTILINE)
_BEHAVIOUR = frozenset({"class", "function", "method", "property"})
# Published for the tests of others: nothing but tests is to use it.
_KIT = "packages/runtime/src/toolcrib_runtime/testing"


def unused(root: Path) -> list[str]:
    """What nothing below `root` uses, and the behaviour that only its tests use, one line each.

    What a package exports is used by whoever installs it.
    """
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["vulture"]
    look = Vulture(ignore_names=settings["ignore_names"], ignore_decorators=settings["ignore_decorators"])
    look.scavenge(_found(root, (*PRODUCT, *USERS)))
    only_tested = [each for each in look.get_unused_code() if _is_behaviour(each, but_in=root / _KIT)]
    look.scavenge(_found(root, TESTS))
    product = _found(root, PRODUCT)
    nowhere = [each for each in look.get_unused_code() if _is_in(each, product) and not _is_taken_by_name(each)]
    exported = {name for file in root.glob(_EXPORTS) for name in _EXPORTED.findall(file.read_text(encoding="utf-8"))}
    found = {**dict.fromkeys(only_tested, "only tests use"), **dict.fromkeys(nowhere, "nothing uses")}
    return [
        f"{each.filename.relative_to(root)}:{each.first_lineno}: {by} the {each.typ} `{each.name}`"
        for each, by in found.items()
        if each.name not in exported
    ]


def main() -> int:
    """Print all that is not used; 1 when there is anything."""
    findings = unused(ROOT)
    print("\n".join(findings) or "everything is used")
    return 1 if findings else 0


def _found(root: Path, patterns: Iterable[str]) -> list[Path]:
    return [path for pattern in patterns for path in sorted(root.glob(pattern))]


def _is_in(item: Item, folders: Iterable[Path]) -> bool:
    return any(item.filename.is_relative_to(folder) for folder in folders)


def _is_behaviour(item: Item, *, but_in: Path) -> bool:
    # A value that only a test reads may be meant for whoever gets the object.
    return item.typ in _BEHAVIOUR and not item.filename.is_relative_to(but_in)


def _is_taken_by_name(item: Item) -> bool:
    """Members of an enum are also used by their values (`--format mcp` is `Format.MCP`), and keys of a dict as text."""
    module = ast.parse(item.filename.read_text(encoding="utf-8"))
    classes = [node for node in ast.walk(module) if isinstance(node, ast.ClassDef)]
    return any(
        item.first_lineno in range(each.lineno, (each.end_lineno or 0) + 1)
        for each in classes
        if any(ast.unparse(base).endswith(("Enum", "TypedDict")) for base in each.bases)
    )


if __name__ == "__main__":
    sys.exit(main())
