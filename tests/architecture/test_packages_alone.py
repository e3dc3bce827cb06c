"""Every package installs and imports alone, from its wheel, with the newest and the lowest dependencies it allows."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from checks.lockfile import LOCK_NAME
from checks.workspace import ROOT, Package, find_packages
from tests.environments import newest_allowed, run_uv

pytestmark = [
    pytest.mark.slow,
    pytest.mark.req("AR-9.4"),
    pytest.mark.fault("J4"),
    # One worker builds the wheels once.
    pytest.mark.xdist_group("packages-alone"),
]

PACKAGES = {package.name: package for package in find_packages()}
SUPPORTED = ("3.11", "3.12", "3.13", "3.14")
_SECONDS = 300

# Imports every module, with warnings as errors, but those of an extra that is not installed, and tells which of our
# distributions are there.
_SMOKE = """
import importlib, importlib.metadata, json, pkgutil, re, sys
face = importlib.import_module(sys.argv[1])
lines = importlib.metadata.requires(sys.argv[1].replace("_", "-")) or []
extras = {re.match(r"[A-Za-z0-9_.-]+", line)[0].replace("-", "_") for line in lines if "extra ==" in line}
for module in pkgutil.walk_packages(face.__path__, f"{face.__name__}.", onerror=lambda name: None):
    try:
        importlib.import_module(module.name)
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in extras:
            raise
for name in face.__all__:
    getattr(face, name)
names = {distribution.metadata["Name"] for distribution in importlib.metadata.distributions()}
print(json.dumps(sorted(name for name in names if name.startswith("toolcrib"))))
"""


_DIGEST = """
import dataclasses, enum, hashlib, json, sys
from typing import Annotated, Literal
from pydantic import Field
from toolcrib_core import ToolDefinition, create_registry, define_tool, registry_json, upstream_identity

class Unit(enum.Enum):
    METRIC = "metric"
    IMPERIAL = "imperial"

@dataclasses.dataclass
class Place:
    '''A place.'''
    city: str
    near: list["Place"] = dataclasses.field(default_factory=list)

def forecast(place: Place, days: Annotated[int, Field(ge=1, le=14)] = 3, unit: Unit = Unit.METRIC,
             detail: Literal["low", "high"] | None = None) -> dict[str, float]:
    '''The weather of the next days.'''

rows = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
tools = [
    ToolDefinition(
        identity=upstream_identity(row["tool"]["name"], server=row["server"]),
        upstream_name=row["tool"]["name"],
        input_schema=row["tool"]["inputSchema"],
    )
    for row in sorted(rows, key=lambda row: hash(row["tool"]["name"]))
]
print(hashlib.sha256(registry_json(create_registry([*tools, define_tool(forecast), define_tool(Place)]))).hexdigest())
"""


def _interpreters() -> dict[str, str]:
    """The supported versions of Python that are on this machine; none is ever downloaded."""
    candidates = [sys.executable, *filter(None, (shutil.which(f"python{version}") for version in SUPPORTED))]
    candidates += map(str, sorted(Path.home().glob(".pyenv/versions/3.1[1-4]*/bin/python")))
    found: dict[str, str] = {}
    for candidate in candidates:
        ask = [candidate, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        answer = subprocess.run(ask, check=False, capture_output=True, text=True, timeout=_SECONDS).stdout.strip()
        if answer in SUPPORTED:
            found.setdefault(answer, candidate)
    return found


def _requirements(package: Package) -> list[Requirement]:
    return [Requirement(line) for line in package.project["dependencies"]]


def _closure(package: Package) -> set[str]:
    """The package and the siblings it declares, and theirs."""
    siblings = [PACKAGES[each.name] for each in _requirements(package) if each.name in PACKAGES]
    return {package.name}.union(*(_closure(sibling) for sibling in siblings))


def _third_party(names: Iterable[str]) -> list[str]:
    """What the named packages ask for beyond each other, so that the lowest of it can be asked for."""
    requirements = [each for name in names for each in _requirements(PACKAGES[name])]
    return sorted({str(each) for each in requirements if each.name not in PACKAGES})


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheels of all packages."""
    folder = tmp_path_factory.mktemp("wheels")
    run_uv("build", "--all-packages", "--wheel", "--out-dir", folder)
    return folder


def _wheel(wheels: Path, package: Package) -> Path:
    return wheels / f"{package.module}-{package.project['version']}-py3-none-any.whl"


def _install_locked_and_smoke(package: Package, *, python: str, wheels: Path) -> set[str]:
    """As `_install_and_smoke`, with locked dependencies.

    They have the same versions in all of these environments, and so the same bytecode, found by the same path.
    """
    place = wheels.parent / "locked"
    return _install_and_smoke(
        package,
        python=python,
        wheels=wheels,
        home=place / "v",
        options=["--constraint", str(ROOT / LOCK_NAME)],
        flags=["-X", f"pycache_prefix={place / 'bytecode'}"],
    )


def _install_and_smoke(
    package: Package, *, python: str, wheels: Path, home: Path, options: Iterable[str], flags: Iterable[str] = ()
) -> set[str]:
    """Our distributions in a new environment that holds one package."""
    run_uv("venv", "--clear", "--python", python, home)
    source = ("--find-links", wheels, _wheel(wheels, package))
    run_uv("pip", "install", "--no-config", "--python", home, *source, *options)
    warnings = ("-W", "error", "-W", "ignore:`toolcrib.:DeprecationWarning")  # the umbrella's names of core and runtime
    command = [str(home / "bin" / "python"), "-I", *flags, *warnings, "-c", _SMOKE, package.module]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    run = subprocess.run(command, env=environment, check=False, capture_output=True, text=True, timeout=_SECONDS)
    assert run.returncode == 0, run.stderr
    return set(json.loads(run.stdout))


@pytest.mark.parametrize("name", PACKAGES)
def test_a_wheel_holds_its_package_with_types_and_nothing_else(wheels: Path, name: str) -> None:
    package = PACKAGES[name]

    names = zipfile.ZipFile(_wheel(wheels, package)).namelist()

    metadata = f"{package.module}-{package.project['version']}.dist-info"
    assert f"{package.module}/py.typed" in names
    assert {entry.partition("/")[0] for entry in names} == {package.module, metadata}


@pytest.mark.req("D1-8b")
@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_installs_and_imports_alone_with_the_locked_dependencies(wheels: Path, name: str) -> None:
    package = PACKAGES[name]

    present = _install_locked_and_smoke(package, python=sys.executable, wheels=wheels)

    assert present == _closure(package)


@pytest.mark.req("D1-0u")
@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_installs_and_imports_alone_with_the_lowest_dependencies(
    wheels: Path, tmp_path: Path, name: str
) -> None:
    package = PACKAGES[name]
    # uv takes the lowest only of what is asked for directly, so everything is.
    lowest = ["--resolution", "lowest-direct", "--exclude-newer", newest_allowed(), *_third_party(_closure(package))]

    present = _install_and_smoke(package, python=sys.executable, wheels=wheels, home=tmp_path / "v", options=lowest)

    assert present == _closure(package)


@pytest.mark.parametrize("name", ["toolcrib-core", "toolcrib"])
@pytest.mark.parametrize(("version", "python"), _interpreters().items(), ids=lambda value: Path(value).name)
def test_a_package_works_on_every_supported_python_of_this_machine(
    wheels: Path, name: str, version: str, python: str
) -> None:
    package = PACKAGES[name]

    present = _install_locked_and_smoke(package, python=python, wheels=wheels)

    assert present == _closure(package)


@pytest.mark.req("AR-6.1")
def test_a_registry_has_the_same_bytes_on_every_python_and_for_every_hash_seed(wheels: Path, tmp_path: Path) -> None:
    corpus = ROOT / "packages/core/tests/corpus/tools.jsonl"
    digests = {}

    for version, python in _interpreters().items():
        home = tmp_path / version
        run_uv("venv", "--python", python, home)
        locked = ("--constraint", ROOT / LOCK_NAME)
        run_uv("pip", "install", "--no-config", "--python", home, *locked, _wheel(wheels, PACKAGES["toolcrib-core"]))
        for seed in ("0", "1", "99"):
            command = [str(home / "bin" / "python"), "-c", _DIGEST, str(corpus)]
            environment = {**os.environ, "PYTHONHASHSEED": seed}
            run = subprocess.run(command, env=environment, check=True, capture_output=True, text=True, timeout=_SECONDS)
            digests[version, seed] = run.stdout

    assert len(set(digests.values())) == 1, digests


@pytest.mark.req("GW-6.1")
def test_the_command_works_from_wheels_in_an_empty_environment(wheels: Path, tmp_path: Path) -> None:
    home, here = tmp_path / "v", tmp_path / "here"
    here.mkdir()
    locked = ("--constraint", ROOT / LOCK_NAME)
    run_uv("venv", "--python", sys.executable, home)
    run_uv("pip", "install", "--no-config", "--python", home, "--find-links", wheels, *locked, "toolcrib")

    def toolcrib(*arguments: str, given: str = "") -> str:
        command = [str(home / "bin" / "toolcrib"), *arguments]
        environment = {"PATH": os.environ["PATH"], "HOME": str(here), "LANG": "C.UTF-8"}
        run = subprocess.run(
            command, cwd=here, env=environment, input=given, check=False, capture_output=True, text=True, timeout=60
        )
        assert run.returncode == 0, run.stderr
        assert "Traceback" not in run.stderr
        return run.stdout

    greeting = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": greeting}

    assert toolcrib("--version") == f"toolcrib {PACKAGES['toolcrib'].project['version']}\n"
    assert json.loads(toolcrib("doctor", "--json"))["ok"]
    assert json.loads(toolcrib("call", "database:list_tables"))[0]["table"] == "tools"
    assert "400 records with 5 fields" in toolcrib("demo")
    assert json.loads(toolcrib("serve", given=f"{json.dumps(hello)}\n"))["result"]["serverInfo"]["name"] == "toolcrib"


def test_the_umbrella_holds_every_package_but_the_optional_one() -> None:
    assert _closure(PACKAGES["toolcrib"]) == set(PACKAGES) - {"toolcrib-semantic"}
