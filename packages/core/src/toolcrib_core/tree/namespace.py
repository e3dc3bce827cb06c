"""The part of a browse tree below one namespace: independent of all others, so that it is rebuilt alone."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from toolcrib_core.tree.branches import Branch, KeyPath, ToolMark, grow
from toolcrib_core.tree.entries import TreeEntry, TreeLeaf, TreeNode
from toolcrib_core.tree.inflection import singular
from toolcrib_core.tree.listing import MAX_EXAMPLES, Item, Pages, paginate
from toolcrib_core.tree.paths import format_path
from toolcrib_core.tree.topics import MAX_TOPIC_WORDS


@dataclass(frozen=True, kw_only=True)
class NamespaceTree:
    """Every path below one namespace."""

    namespace: str
    segment: str
    tools: tuple[ToolMark, ...]
    node: TreeNode
    entries: Mapping[str, TreeEntry]
    pages: Mapping[str, tuple[TreeEntry, ...]]
    paths: Mapping[str, str]
    """The path of each tool by its id."""
    clusters: Mapping[KeyPath, str]
    """The path of each cluster by its topic."""
    shortcuts: Mapping[str, str]
    """The path of each tool by the short path right below the namespace."""

    @classmethod
    def build(cls, tools: tuple[ToolMark, ...], *, namespace: str, segment: str, max_children: int) -> NamespaceTree:
        """The tree of these tools, which are at least one and sorted by their different ids."""
        growth = grow(tools, segment=segment, label=namespace)
        entries: dict[str, TreeEntry] = {}
        pages: Pages = {}
        for branch in _branches(growth.trunk):
            entries[branch.path] = _node(branch, namespace, is_trunk=branch is growth.trunk)
            reserved = branch.children.keys() | (growth.shortcuts.keys() if branch is growth.trunk else ())
            items = list(_items(branch, namespace, max_children))
            pages |= paginate(items, path=branch.path, limit=max_children, namespace=namespace, reserved=reserved)
        entries |= {entry.path: entry for page in pages.values() for entry in page}
        return cls(
            namespace=namespace,
            segment=segment,
            tools=tools,
            node=_node(growth.trunk, namespace, is_trunk=True),
            entries=entries,
            pages=pages,
            paths={entry.tool_id: path for path, entry in entries.items() if isinstance(entry, TreeLeaf)},
            clusters=growth.clusters,
            shortcuts={f"/{segment}/{short}": path for short, path in growth.shortcuts.items()},
        )

    def find(self, segments: Sequence[str]) -> TreeEntry | None:
        """What is at the path with these segments, the root segment included.

        Beside its own path a tool answers to its segment right below the namespace, and a cluster to its name in the
        singular or plural, so a path that was right once stays right when tools come and go.
        """
        ways = itertools.chain([format_path(segments)], self._other_ways(segments))
        return next((self.entries[path] for path in ways if path in self.entries), None)

    def _other_ways(self, segments: Sequence[str]) -> Iterator[str]:
        # Only a short beginning can be said in another way: the namespace with one tool, or with the words of a topic.
        for cut in range(min(len(segments), MAX_TOPIC_WORDS + 1), 1, -1):
            tool = self.shortcuts.get(format_path(segments[:cut]))
            cluster = self.clusters.get(tuple(map(singular, segments[1:cut])))
            for beginning in filter(None, (tool, cluster)):
                yield "/".join((beginning, *segments[cut:]))


def _branches(branch: Branch) -> Iterator[Branch]:
    yield branch
    for child in branch.children.values():
        if isinstance(child, Branch):
            yield from _branches(child)


def _items(branch: Branch, namespace: str, max_children: int) -> Iterator[Item]:
    if branch.count <= max_children:
        yield from (Item(leaf.name, leaf) for leaf in _leaves(branch))
        return
    for name, child in _collapsed(branch).children.items():
        place = _shown(child)
        yield Item(name, place if isinstance(place, TreeLeaf) else _node(place, namespace))


def _shown(place: Branch | TreeLeaf) -> Branch | TreeLeaf:
    if isinstance(place, TreeLeaf):
        return place
    place = _collapsed(place)
    return place if place.count > 1 else next(_leaves(place))


def _collapsed(branch: Branch) -> Branch:
    """The branch a visitor would reach after every step at which a branch is the only way on."""
    while len(branch.children) == 1:
        (child,) = branch.children.values()
        if isinstance(child, TreeLeaf):
            break
        branch = child
    return branch


def _node(branch: Branch, namespace: str, *, is_trunk: bool = False) -> TreeNode:
    return TreeNode(
        kind="namespace" if is_trunk else "cluster",
        path=branch.path,
        label=branch.label,
        count=branch.count,
        examples=_examples(branch),
        namespace=namespace,
    )


def _examples(branch: Branch) -> tuple[str, ...]:
    """Tools out of different children, the largest first."""
    by_size = sorted(
        branch.children.items(), key=lambda child: (-_size(child[1]), isinstance(child[1], Branch), child[0])
    )
    rows = [_leaves(child) for _, child in by_size[:MAX_EXAMPLES]]
    in_turn = itertools.chain.from_iterable(itertools.zip_longest(*rows))
    names = (leaf.name for leaf in in_turn if leaf is not None)
    return tuple(dict.fromkeys(itertools.islice(names, MAX_EXAMPLES)))


def _leaves(place: Branch | TreeLeaf) -> Iterator[TreeLeaf]:
    if isinstance(place, TreeLeaf):
        yield place
        return
    for name in sorted(place.children, key=lambda name: (isinstance(place.children[name], Branch), name)):
        yield from _leaves(place.children[name])


def _size(place: Branch | TreeLeaf) -> int:
    return place.count if isinstance(place, Branch) else 1
