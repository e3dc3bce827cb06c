"""Listings of a bounded length: what does not fit goes into alphabetical ranges."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TypeAlias

from toolcrib_core.tree.entries import TreeEntry, TreeLeaf, TreeNode

MAX_EXAMPLES = 3

Pages: TypeAlias = dict[str, tuple[TreeEntry, ...]]
"""What each path lists."""

_REST = "other"
_MAX_BOUNDARY = 24


@dataclass(frozen=True, slots=True)
class Item:
    """Something to list, and the name it is sorted by."""

    name: str
    entry: TreeEntry


def paginate(
    items: Sequence[Item], *, path: str, limit: int, namespace: str | None, reserved: AbstractSet[str] = frozenset()
) -> Pages:
    """The listing of `path` and of all the ranges below it, each of at most `limit` entries.

    When there are more, the nodes with the most tools stay, and the rest goes into as few ranges as will do. No range
    gets a segment out of `reserved`.
    """
    items = sorted(items, key=lambda item: (item.name, item.entry.path))
    if len(items) <= limit:
        return {path: tuple(item.entry for item in items)}
    kept, rest = _part(items, limit)
    slices = _slices(rest, limit)
    pages: Pages = {}
    ranges: list[TreeEntry] = []
    for name, part in zip(_range_names(slices, reserved), slices, strict=True):
        node = _range(part, path=f"{path.rstrip('/')}/{name}", namespace=namespace)
        ranges.append(node)
        pages |= paginate(part, path=node.path, limit=limit, namespace=namespace)
    return {path: (*(item.entry for item in kept), *ranges)} | pages


def _part(items: Sequence[Item], limit: int) -> tuple[list[Item], list[Item]]:
    nodes = sorted(
        (item for item in items if isinstance(item.entry, TreeNode)),
        key=lambda item: (-_tools_in(item.entry), item.name),
    )
    kept = set(nodes[: _kept_count(len(items), len(nodes), limit)])
    return [item for item in items if item in kept], [item for item in items if item not in kept]


def _kept_count(items: int, nodes: int, limit: int) -> int:
    counts = range(min(nodes, limit - 1), 0, -1)
    return next((kept for kept in counts if kept + _ceil(items - kept, limit) <= limit), 0)


def _slices(items: Sequence[Item], limit: int) -> list[Sequence[Item]]:
    number = min(_ceil(len(items), limit), limit)
    bounds = [len(items) * index // number for index in range(number + 1)]
    return [items[start:end] for start, end in itertools.pairwise(bounds)]


def _range_names(slices: Sequence[Sequence[Item]], reserved: AbstractSet[str]) -> list[str]:
    names: list[str] = []
    for index, part in enumerate(slices):
        before = slices[index - 1][-1].name if index else ""
        after = slices[index + 1][0].name if index + 1 < len(slices) else ""
        start, end = _boundary(part[0].name, before), _boundary(part[-1].name, after)
        wanted = _REST if len(slices) == 1 else f"{start}-{end}"
        names.append(next(name for name in _numbered(wanted) if name not in reserved and name not in names))
    return names


def _boundary(name: str, neighbour: str) -> str:
    """The shortest beginning of a name that its neighbour does not share, as on the pages of a dictionary."""
    shared = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(name, neighbour, strict=False)))
    return name[: min(shared + 1, _MAX_BOUNDARY)].rstrip("_-")


def _numbered(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}-{number}" for number in itertools.count(2))


def _range(part: Sequence[Item], *, path: str, namespace: str | None) -> TreeNode:
    return TreeNode(
        kind="range",
        path=path,
        label=f"{part[0].name} … {part[-1].name}",
        count=sum(_tools_in(item.entry) for item in part),
        examples=tuple(_example(item.entry) for item in part[:MAX_EXAMPLES]),
        namespace=namespace,
    )


def _example(entry: TreeEntry) -> str:
    if isinstance(entry, TreeLeaf):
        return entry.name
    return entry.label if entry.kind == "namespace" else entry.examples[0]


def _tools_in(entry: TreeEntry) -> int:
    return 1 if isinstance(entry, TreeLeaf) else entry.count


def _ceil(number: int, size: int) -> int:
    return -(-number // size)
