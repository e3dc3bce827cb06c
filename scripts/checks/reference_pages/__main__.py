"""Writes the pages that are made from the code, or says which of them are not current."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from checks.reference_pages.api import api_packages, render_api
from checks.reference_pages.commands import render_commands
from checks.reference_pages.configuration import render_configuration
from checks.reference_pages.errors import render_errors
from checks.reference_pages.lossiness import render_lossiness
from checks.reference_pages.requirements import render_contracts, render_requirements
from checks.workspace import ROOT

REFERENCE = ROOT / "docs/reference"


def pages() -> Mapping[str, Callable[[], str]]:
    """By the name of its file below `docs/reference`, how each page is made."""
    made = {
        "../contracts.md": render_contracts,
        "commands.md": render_commands,
        "configuration.md": render_configuration,
        "errors.md": render_errors,
        "lossiness.md": render_lossiness,
        "requirements.md": render_requirements,
    }
    return made | {f"api/{each.module}.md": partial(render_api, each) for each in api_packages()}


def is_current(name: str, text: str) -> bool:
    """Whether the file of a page holds this text."""
    file = REFERENCE / name
    return file.is_file() and file.read_text("utf-8") == text


def main(arguments: list[str] | None = None) -> int:
    """Write every page that is not current; with `--check`, 1 when there is one."""
    parser = argparse.ArgumentParser(prog="scripts/docs", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, and fail where something would be written")
    check = parser.parse_args(arguments).check
    old = {name: text for name, make in pages().items() if not is_current(name, text := make())}
    for name, text in old.items():
        print(f"{'not current' if check else 'written'}: {os.path.normpath(Path('docs/reference', name))}")
        if not check:
            (REFERENCE / name).parent.mkdir(parents=True, exist_ok=True)
            (REFERENCE / name).write_text(text, "utf-8")
    return 1 if check and old else 0


if __name__ == "__main__":
    sys.exit(main())
