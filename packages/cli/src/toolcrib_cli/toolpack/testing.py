"""`toolcrib toolpack test`: the examples of tool files are run, and their search cases searched for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from toolcrib_cli.edge import FAILED
from toolcrib_cli.screen import print_json, say, screen, working
from toolcrib_cli.toolpack.grants import Grants
from toolcrib_cli.toolpack.loading import load_folders
from toolcrib_core import create_registry, findability
from toolcrib_core.json_values import thaw
from toolcrib_core.wording import count, kind_of, listed, quoted, shown
from toolcrib_runtime import Toolbox, ToolCall, ToolResult
from toolcrib_toolpacks import Toolpack, open_toolbox
from toolcrib_toolpacks.model import PackExample


@dataclass(frozen=True, kw_only=True)
class Checked:
    """What came of one example or search case; without a problem it passed."""

    tool: str
    case: str
    problem: str | None = None

    def to_dict(self) -> dict[str, object]:
        """As JSON."""
        return {"tool": self.tool, "case": self.case, "passed": self.problem is None, "problem": self.problem}


def run_tests(folders: Sequence[Path], *, grants: Grants, as_json: bool) -> int:
    """Run what there is to run, print what came of it, and give the exit code.

    Raises:
        ToolpackValidationError: A folder cannot be loaded.
    """
    packs = load_folders(folders)
    with working("Running examples …"):
        checked = [*asyncio.run(_examples(packs, grants)), *_search_cases(packs)]
    failed = [each for each in checked if each.problem is not None]
    if as_json:
        print_json({"passed": len(checked) - len(failed), "cases": [each.to_dict() for each in checked]})
        return FAILED if failed else 0
    console = screen()
    for each in checked:
        mark = "passed" if each.problem is None else "FAILED"
        say(console, f"{mark}  {each.tool}: {each.case}{'' if each.problem is None else f': {each.problem}'}")
    untested = [pack.tool for pack in packs if not pack.examples and not pack.search_cases]
    if untested:
        say(console, f"Without examples and search cases: {listed(untested)}.")
    say(console, f"{len(checked) - len(failed)} of {count(len(checked), 'case')} passed.")
    return FAILED if failed else 0


async def _examples(packs: Sequence[Toolpack], grants: Grants) -> list[Checked]:
    async with open_toolbox(packs, settings=grants.settings()) as toolbox:
        return [
            await _example(toolbox, pack, at, example) for pack in packs for at, example in enumerate(pack.examples)
        ]


async def _example(toolbox: Toolbox, pack: Toolpack, at: int, example: PackExample) -> Checked:
    result = await toolbox.execute(ToolCall(tool=pack.definition.id, arguments=thaw(example.input)))
    name = f"example {at + 1}" if example.request is None else f"example {at + 1} ({shown(example.request)})"
    return Checked(tool=pack.tool, case=name, problem=_problem(example, result))


def _problem(example: PackExample, result: ToolResult) -> str | None:
    error = result.error
    if example.error is not None:
        if error is None:
            return f"it was to end with {quoted(example.error)}, and gave a value"
        is_expected = example.error in {error.code, error.category.value, error.code.removeprefix("toolbox.")}
        return (
            None if is_expected else f"it was to end with {quoted(example.error)}, and ended with {quoted(error.code)}"
        )
    if error is not None:
        return f"{error.code}: {error.message}"
    if "output" in example.model_fields_set and result.value != example.output:
        kinds = f"expected {kind_of(example.output)}, got {kind_of(result.value)}"
        return f"the output differs: {kinds}{_where(example, result)}"
    return None


def _where(example: PackExample, result: ToolResult) -> str:
    wanted, given = example.output, result.value
    if not (isinstance(wanted, dict) and isinstance(given, dict)):
        return ""
    keys = sorted(key for key in wanted.keys() | given.keys() if wanted.get(key) != given.get(key))
    return f"; different in {listed(keys)}"


def _search_cases(packs: Sequence[Toolpack]) -> Iterator[Checked]:
    registry = create_registry()
    for pack in packs:
        registry.register(pack.definition)
    names = {pack.definition.id: pack.tool for pack in packs}
    for each in findability(registry.search_index()).cases:
        if each.rank == 1:
            problem = None
        elif each.rank is None:
            problem = "it is not among the first ten"
        else:
            problem = f"it is number {each.rank}, behind {listed(names[front] for front in each.in_front)}"
        yield Checked(tool=names[each.tool_id], case=f"search {quoted(each.request)}", problem=problem)
