"""The export surface of each package, read from its source: names, kinds, signatures and class members."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path

import griffe

from checks.workspace import ROOT, Package, find_packages

SNAPSHOTS = ROOT / "tests" / "architecture" / "api"

_PROMISED_DUNDERS = {"__init__", "__call__", "__contains__", "__getitem__", "__iter__", "__len__"}
_Kind = griffe.ParameterKind
_STARS: dict[griffe.ParameterKind | None, str] = {_Kind.var_positional: "*", _Kind.var_keyword: "**"}


def surface(package: Package, *, beside: tuple[Package, ...] = ()) -> list[str]:
    """The lines of a package's snapshot, ordered by name.

    `beside` are the packages whose names it may re-export.
    """
    paths = [each.folder / "src" for each in (package, *beside)]
    loader = griffe.GriffeLoader(search_paths=paths, allow_inspection=False)
    face = loader.load(package.module)
    loader.resolve_aliases(implicit=True, external=True)
    exported = frozenset(exported_names(face))
    return [line for name in sorted(exported) for line in _describe_export(face, name, exported)]


def exported_names(face: griffe.Object | griffe.Alias) -> list[str]:
    """What `__all__` of a face lists; for a face that has none, every name it takes from one of our packages."""
    if face.exports is not None:
        return sorted(str(name) for name in face.exports)
    taken = [member for member in face.members.values() if isinstance(member, griffe.Alias)]
    return sorted(alias.name for alias in taken if alias.target_path.startswith("toolcrib"))


def changes(package: Package, *, beside: tuple[Package, ...] = (), snapshots: Path = SNAPSHOTS) -> list[str]:
    """How the source of a package differs from its snapshot; nothing when it does not."""
    file = snapshots / f"{package.module}.txt"
    before = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    after = surface(package, beside=beside)
    return list(unified_diff(before, after, str(file.name), f"{package.module} now", lineterm="", n=0))


def main(arguments: list[str] | None = None) -> int:
    """Compare every package with its snapshot, or renew the snapshots; 1 when one differs."""
    parser = argparse.ArgumentParser(prog="scripts/api", description=__doc__)
    parser.add_argument("--update", action="store_true", help="write the snapshots: the change was meant")
    update = parser.parse_args(arguments).update
    packages = find_packages()
    differing = 0
    for package in packages:
        found = changes(package, beside=packages)
        if update:
            SNAPSHOTS.mkdir(exist_ok=True)
            text = "".join(f"{line}\n" for line in surface(package, beside=packages))
            (SNAPSHOTS / f"{package.module}.txt").write_text(text, encoding="utf-8")
        elif found:
            differing += 1
            print("\n".join(found))
    return 1 if differing else 0


def _describe_export(face: griffe.Object | griffe.Alias, name: str, exported: frozenset[str]) -> Iterator[str]:
    target = _target(face[name])
    home = target.package.path
    if home == face.path:
        yield from _describe(target, name, exported)
    else:
        yield f"{name} of {home}"


def _describe(target: griffe.Object, name: str, exported: frozenset[str]) -> Iterator[str]:
    match target:
        case griffe.Class():
            yield f"class {name}({', '.join(str(base) for base in target.bases)})"
            for inner, member in sorted(_class_members(target, exported).items()):
                yield from (f"    {line}" for line in _describe(member, inner, exported))
        case griffe.Function():
            yield _signature(target, name)
        case griffe.Attribute() if "property" in target.labels:
            yield f"property {name}{_part(': ', target.annotation)}"
        case griffe.Attribute():
            # What a constructor assigns is its business; what a class body or a module says is a default or a constant.
            value = None if target.labels == {"instance-attribute"} else target.value
            yield f"{name}{_part(': ', target.annotation)}{_part(' = ', value)}"
        case _:
            yield f"{target.kind.value} {name}"


def _class_members(target: griffe.Class, exported: frozenset[str]) -> dict[str, griffe.Object]:
    """Promised members, with those inherited from a base that is not itself exported."""
    inherited = {name: _target(alias) for name, alias in target.inherited_members.items()}
    hidden = {name: member for name, member in inherited.items() if _owner(member) not in exported}
    own = {name: _target(member) for name, member in target.members.items()}
    return {name: member for name, member in (hidden | own).items() if _is_promised(name)}


def _target(member: griffe.Object | griffe.Alias) -> griffe.Object:
    return member.final_target if isinstance(member, griffe.Alias) else member


def _owner(member: griffe.Object) -> str:
    return member.parent.name if member.parent is not None else ""


def _is_promised(name: str) -> bool:
    return not name.startswith("_") or name in _PROMISED_DUNDERS


def _signature(function: griffe.Function, name: str) -> str:
    labels = "".join(f"{label} " for label in ("async", "classmethod", "staticmethod") if label in function.labels)
    return f"{labels}def {name}({', '.join(_parameters(function))}){_part(' -> ', function.returns)}"


def _parameters(function: griffe.Function) -> Iterator[str]:
    previous: griffe.ParameterKind | None = None
    for parameter in function.parameters:
        kind = parameter.kind
        if previous is _Kind.positional_only and kind is not previous:
            yield "/"
        if kind is _Kind.keyword_only and previous not in {kind, _Kind.var_positional}:
            yield "*"
        # griffe gives `*args` the default `()`: the stars say it.
        default = None if kind in _STARS else parameter.default
        yield f"{_STARS.get(kind, '')}{parameter.name}{_part(': ', parameter.annotation)}{_part(' = ', default)}"
        previous = kind


def _part(sign: str, value: object) -> str:
    return "" if value is None else f"{sign}{value}"


if __name__ == "__main__":
    sys.exit(main())
