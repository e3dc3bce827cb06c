"""The README is what it promises to be: short code, every package, three figures, each with a command that is there."""

from __future__ import annotations

import re

from checks.workspace import ROOT, find_packages
from tests.docs.fenced_blocks import read_blocks

README = (ROOT / "README.md").read_text("utf-8")


def test_the_code_of_the_first_screen_has_at_most_twelve_lines() -> None:
    first = next(block for block in read_blocks(README) if block.language == "python")

    assert len([line for line in first.text.splitlines() if line.strip()]) <= 12


def test_every_package_is_listed() -> None:
    # Siblings are listed in short: `toolcrib-openai`, `-anthropic`.
    short = {f"toolcrib{each}" for each in re.findall(r"`(-[a-z-]+)`", README)}
    listed = short | set(re.findall(r"`(toolcrib(?:-[a-z-]+)?)`", README))

    assert [package.name for package in find_packages() if package.name not in listed] == []


def test_three_figures_stand_beside_commands_that_are_there() -> None:
    table = README[README.index("| measured") :].split("\n\n")[0].splitlines()[2:]
    commands = [row.rsplit("|", 2)[1].strip().strip("`") for row in table]

    assert len(commands) == 3
    assert [each for each in commands if each.startswith("python ") and not (ROOT / each.split()[1]).is_file()] == []


def test_every_decision_is_listed() -> None:
    folder = ROOT / "docs/decisions"
    listed = (folder / "index.md").read_text("utf-8")

    assert [path.name for path in folder.glob("0*.md") if path.name not in listed] == []
