"""`toolcrib toolpack lint`: every violation with its file and line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from toolcrib_cli.edge import FAILED
from toolcrib_cli.screen import print_json, printable, tell
from toolcrib_core.wording import count
from toolcrib_toolpacks import Toolpack, ToolpackLoader, ToolpackValidationError, ToolpackViolation
from toolcrib_toolpacks.model import HttpExecution, templates_of
from toolcrib_toolpacks.source_files import shown_path
from toolcrib_toolpacks.template_rules import absent_inputs
from toolcrib_toolpacks.templating import parse_template


class Linted(NamedTuple):
    """What came of one path."""

    packs: tuple[Toolpack, ...]
    violations: tuple[ToolpackViolation, ...]


def run_lint(paths: Sequence[Path], *, as_json: bool) -> int:
    """Check the files at the paths, print what is wrong, and give the exit code."""
    loader = ToolpackLoader()
    linted = [_linted(path, loader) for path in paths]
    packs = [pack for each in linted for pack in each.packs]
    violations = [violation for each in linted for violation in each.violations]
    if as_json:
        told = {"ok": not violations, "files": len(packs), "violations": [each.to_dict() for each in violations]}
        print_json(told | {"advice": [{"tool": pack.id, "message": line} for pack in packs for line in _advice(pack)]})
    else:
        _tell(packs, violations)
    return FAILED if violations else 0


def print_violations(violations: Sequence[ToolpackViolation], *, folder: Path | None = None) -> None:
    """Print each on a line of its own, as editors read them."""
    for each in violations:
        print(printable(str(each if folder is None else _seen_from_here(each, folder))))  # noqa: T201  # a list, not a note


def _linted(path: Path, loader: ToolpackLoader) -> Linted:
    folder = path if path.is_dir() else path.parent
    try:
        packs = loader.load_file(path) if path.is_file() else loader.load_dir(path)
    except ToolpackValidationError as failure:
        return Linted((), tuple(_seen_from_here(each, folder) for each in failure.violations))
    return Linted(packs, ())


def _seen_from_here(violation: ToolpackViolation, folder: Path) -> ToolpackViolation:
    # A violation names its file from the folder that was loaded; a click in a terminal needs it from here.
    file = violation.file if violation.code == "no-folder" else str(folder / violation.file)
    return violation._replace(file=file)


def _tell(packs: Sequence[Toolpack], violations: Sequence[ToolpackViolation]) -> None:
    print_violations(violations)
    if violations:
        files = len({each.file for each in violations})
        tell(f"{count(len(violations), 'place')} in {count(files, 'file')} must be mended.")
        return
    for pack in packs:
        for line in _advice(pack):
            tell(f"advice: {pack.file}: {line}")
    if packs:
        tell(f"{count(len(packs), 'tool file is', 'tool files are')} fine.")
    else:
        tell("There are no `*.tool.yaml` files there, so that nothing was checked.")


def _advice(pack: Toolpack) -> Iterator[str]:
    """What is allowed and yet makes a tool hard to find, or hard to run."""
    if not pack.description:
        yield "`description` is missing: models and search have little to go by."
    if pack.risk is None:
        yield "`risk` is missing: a careful gateway asks before every call of a tool whose effects it does not know."
    for place, text in templates_of(pack).items():
        tree = parse_template(text)
        for name in absent_inputs(tree, pack.input_schema) if tree is not None else ():
            yield (
                f"`{shown_path(place)}` uses `{name}`, which a call may leave out: put it into `required`, give it a "
                "`default` in the schema, or write `| default(…)` behind it."
            )
    execution, declared = pack.execution, pack.caps.network
    if (
        isinstance(execution, HttpExecution)
        and declared
        and (scheme := execution.url.partition(":")[0]) not in declared
    ):
        yield f"`caps.network` does not list `{scheme}`, with which `execution.url` begins and which it may use anyhow."
