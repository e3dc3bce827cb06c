"""The browse tree: how much of it stays when tools are added, what shape it has, and what it costs.

    uv run python bench/browse_tree.py [--quick] [--json]

Catalogues: our own corpus, the real ones in `../shared/data` beside the checkout if there are any, and synthetic ones.
"""

from __future__ import annotations

import itertools
import json
import random
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import corpus
from ratios import Row, cpu_seconds, parser, report

from toolcrib_core.definition import ToolDefinition
from toolcrib_core.tree import BrowseTree, PathNotFound, TreeNode
from toolcrib_core.upstream_names import upstream_identity

_SHARED = Path(__file__).parents[2] / "shared" / "data"
_VERBS = ("get", "list", "create", "update", "delete", "search", "archive", "assign", "export", "move", "copy", "merge")
_NOUNS = [
    first + second
    for first in ("inv", "ord", "cust", "tick", "pay", "team", "mail", "task", "acc", "plan")
    for second in ("oice", "er", "omer", "et", "ment", "page")
]


def main() -> None:
    """Measure every catalogue and print the rows."""
    options = parser("The browse tree: stability, shape and cost.").parse_args()
    rows: list[Row] = []
    for name, tools in catalogues(10_000 if not options.quick else 1_000):
        rows += [*stability(name, tools, rounds=3 if options.quick else 10), *shape(name, tools), *cost(name, tools)]
    report("browse_tree", rows, as_json=options.json)


def catalogues(count: int) -> Iterator[tuple[str, list[ToolDefinition]]]:
    """Each catalogue by name."""
    yield "own corpus", [_from_server(row["server"], row["tool"]["name"]) for row in corpus.tool_rows()]
    servers = _SHARED / "mcp-catalogs" / "catalog.jsonl"
    if servers.is_file():
        yield "MCP servers", [_from_server(row["server"], row["tool"]["name"]) for row in _rows(servers)]
    for path in sorted(_SHARED.glob("retrieval/*/tools.jsonl")):
        yield path.parent.name, _distinct(_from_server(row["namespace"], row["name"]) for row in _rows(path))
    for namespaces in (1, 60, 1_000):
        yield f"synthetic x{namespaces}", _synthetic(count, namespaces)


def stability(name: str, tools: list[ToolDefinition], *, rounds: int) -> list[Row]:
    """The share of paths that stay when a tenth more tools come, out of the same catalogue and unrelated ones."""
    tree = BrowseTree.build(tools)
    related = statistics.mean(_unchanged(_sample(tools, seed), tools, _same) for seed in range(rounds))
    resolved = statistics.mean(_unchanged(_sample(tools, seed), tools, _found) for seed in range(rounds))
    namespaces = sorted({tool.namespace for tool in tools})
    strangers = [
        ToolDefinition(namespace=namespaces[number % len(namespaces)], name=f"get_zyx{number}_qwv{number}")
        for number in range(max(len(tools) // 10, 1))
    ]
    unrelated = _share(tree, BrowseTree.build([*tools, *strangers]), tools, _same)
    return [
        Row(
            id="BT1",
            what=f"{name}: paths unchanged, +10 % of the same servers",
            ours=related,
            unit="of paths",
            target=">= 0.95",
        ),
        Row(
            id="BT2",
            what=f"{name}: old paths that still lead to the tool",
            ours=resolved,
            unit="of paths",
            target=">= 0.99",
        ),
        Row(id="BT3", what=f"{name}: paths unchanged, +10 % unrelated", ours=unrelated, unit="of paths", target="== 1"),
    ]


def shape(name: str, tools: list[ToolDefinition]) -> list[Row]:
    """The longest listing, and how many listings a visitor reads on the way to a tool."""
    steps, longest = _browse(BrowseTree.build(tools))
    mean = statistics.mean(steps)
    return [
        Row(id="BT4", what=f"{name}: longest listing", ours=longest, unit="entries", target="<= 24"),
        Row(id="BT5", what=f"{name}: listings to a tool", ours=mean, unit="on average", note=f"at most {max(steps)}"),
    ]


def cost(name: str, tools: list[ToolDefinition]) -> list[Row]:
    """CPU time of a build, and of replacing the tools of one namespace."""
    tree = BrowseTree.build(tools)
    namespace = tools[0].namespace
    own = [tool for tool in tools if tool.namespace == namespace]
    build = cpu_seconds(lambda: BrowseTree.build(tools))
    change = cpu_seconds(lambda: tree.with_namespace(namespace, own[1:]))
    what = f"{name}: build, {len(tools)} tools"
    return [
        Row(id="BT6", what=what, ours=build, unit="s CPU", target="<= 2"),
        Row(id="BT7", what=f"{name}: replace a namespace of {len(own)}", ours=change, unit="s CPU"),
    ]


def _sample(tools: list[ToolDefinition], seed: int) -> list[ToolDefinition]:
    return random.Random(seed).sample(tools, round(len(tools) / 1.1))


def _unchanged(
    before: list[ToolDefinition], after: list[ToolDefinition], kept: Callable[[BrowseTree, BrowseTree, str], bool]
) -> float:
    return _share(BrowseTree.build(before), BrowseTree.build(after), before, kept)


def _share(
    old: BrowseTree, new: BrowseTree, tools: list[ToolDefinition], kept: Callable[[BrowseTree, BrowseTree, str], bool]
) -> float:
    return sum(kept(old, new, tool.id) for tool in tools) / len(tools)


def _same(old: BrowseTree, new: BrowseTree, tool_id: str) -> bool:
    return old.path_of(tool_id) == new.path_of(tool_id)


def _found(old: BrowseTree, new: BrowseTree, tool_id: str) -> bool:
    """Whether the old path leads to the tool, or to a node that begins its new path."""
    try:
        found = new.find(old.path_of(tool_id)).path
    except PathNotFound:
        return False
    return f"{new.path_of(tool_id)}/".startswith(f"{found}/")


def _browse(tree: BrowseTree) -> tuple[list[int], int]:
    steps, longest, open_paths = [], 0, [("/", 1)]
    while open_paths:
        path, depth = open_paths.pop()
        listed = tree.children(path)
        longest = max(longest, len(listed))
        nodes = [entry.path for entry in listed if isinstance(entry, TreeNode)]
        steps += [depth] * (len(listed) - len(nodes))
        open_paths += [(node, depth + 1) for node in nodes]
    return steps, longest


def _synthetic(count: int, namespaces: int) -> list[ToolDefinition]:
    names = (
        f"{verb}_{noun}{serial or ''}"
        for serial in itertools.count()
        for verb, noun in itertools.product(_VERBS, _NOUNS)
    )
    per_namespace = list(itertools.islice(names, max(count // namespaces, 1)))
    return [
        ToolDefinition(namespace=f"service{number}", name=name)
        for number in range(namespaces)
        for name in per_namespace
    ]


def _from_server(server: str, name: str) -> ToolDefinition:
    return ToolDefinition(identity=upstream_identity(name, server=server or "mcp"), upstream_name=name)


def _distinct(tools: Iterator[ToolDefinition]) -> list[ToolDefinition]:
    return list({tool.id: tool for tool in tools}.values())


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


if __name__ == "__main__":
    main()
