"""`BrowseTree`: namespaces, clusters and tools by path, with a bounded number of children everywhere."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Self

from toolcrib_core.definition import ToolDefinition
from toolcrib_core.errors import CatalogError, DuplicateTool, UnknownTool
from toolcrib_core.identity import match_id, parse_tool_id
from toolcrib_core.tree.branches import ToolMark
from toolcrib_core.tree.entries import TreeEntry, TreeNode
from toolcrib_core.tree.listing import MAX_EXAMPLES, Item, Pages, paginate
from toolcrib_core.tree.namespace import NamespaceTree
from toolcrib_core.tree.nearest import nearest_below, nearest_namespaces
from toolcrib_core.tree.paths import ROOT, format_path, not_found, parse_path
from toolcrib_core.tree.segments import namespace_segments

DEFAULT_MAX_CHILDREN = 24

_MIN_CHILDREN = 2


@dataclass(frozen=True, kw_only=True)
class BrowseTree:
    """An immutable tree of tools, the same for the same tools in any order.

    The path of a tool follows from its namespace and its own name (`/github/issues/create_issue`), so tools that come
    and go do not move it. What a path *lists* follows from the bound: a node with no more tools than `max_children`
    lists them all, a larger one lists its clusters, and where even those are too many, the smaller of them go into
    alphabetical ranges. That holds for the root as well: beyond `max_children` namespaces the smaller ones are listed
    by ranges, while `/namespace` always leads to the namespace itself.
    """

    max_children: int
    _namespaces: Mapping[str, NamespaceTree] = field(repr=False)
    _segments: Mapping[str, str] = field(repr=False)
    _pages: Mapping[str, tuple[TreeEntry, ...]] = field(repr=False)
    _places: Mapping[str, TreeNode] = field(repr=False)

    @classmethod
    def build(cls, definitions: Iterable[ToolDefinition], *, max_children: int = DEFAULT_MAX_CHILDREN) -> Self:
        """The tree of these tools.

        Raises:
            DuplicateTool: Two definitions have one id.
            CatalogError: `max_children` is less than 2.
        """
        if max_children < _MIN_CHILDREN:
            raise CatalogError(f"A tree of at most {max_children} children a node is none.", hint="Allow at least 2.")
        tools: dict[str, list[ToolMark]] = {}
        for definition in definitions:
            tools.setdefault(definition.namespace, []).append(ToolMark.of(definition))
        return cls._assemble({name: _sorted(marks) for name, marks in tools.items()}, {}, max_children)

    def with_namespace(self, namespace: str, definitions: Iterable[ToolDefinition]) -> Self:
        """A tree in which these are the tools of that namespace; none at all remove it. The others are not rebuilt.

        Raises:
            DuplicateTool: Two definitions have one id.
            CatalogError: A definition belongs to another namespace.
        """
        marks: list[ToolMark] = []
        for definition in definitions:
            if definition.namespace != namespace:
                raise CatalogError(f"`{definition.id}` does not belong to the namespace `{namespace}`.")
            marks.append(ToolMark.of(definition))
        tools = {tree.namespace: tree.tools for tree in self._namespaces.values()}
        tools[namespace] = _sorted(marks)
        return self._assemble(tools, self._namespaces, self.max_children)

    def children(self, path: str) -> tuple[TreeEntry, ...]:
        """What a path lists: at most `max_children` entries, and for a tool that tool alone.

        Raises:
            PathInvalid: The text is not a path.
            PathNotFound: It leads nowhere.
        """
        entry = self.find(path)
        if not isinstance(entry, TreeNode):
            return (entry,)
        if entry.namespace is None:
            return self._pages[entry.path]
        return self._namespaces[self._segments[entry.namespace]].pages[entry.path]

    def find(self, path: str) -> TreeEntry:
        """The node or tool at a path; its own `path` is the canonical one.

        A tool is also found right below its namespace (`/github/create_issue`), and a cluster by the singular or plural
        of its name.

        Raises:
            PathInvalid: The text is not a path.
            PathNotFound: It leads nowhere; the error lists the nearest paths.
        """
        segments = parse_path(path)
        place = self._places.get(format_path(segments))
        if place is not None:
            return place
        tree = self._namespaces.get(segments[0])
        if tree is None:
            raise not_found(segments, nearest_namespaces(segments, self._namespaces))
        entry = tree.find(segments)
        if entry is None:
            raise not_found(segments, nearest_below(segments, tree))
        return entry

    def path_of(self, tool_id: str) -> str:
        """The canonical path of a tool; the hash of its id may be left out where one tool is meant.

        Raises:
            UnknownTool: No tool of the tree has that id.
            InvalidToolId: The text is not an id.
        """
        segment = self._segments.get(parse_tool_id(tool_id).namespace)
        paths = self._namespaces[segment].paths if segment else {}
        meant = tool_id if tool_id in paths else match_id(tool_id, paths)
        if meant is None:
            raise UnknownTool(f"`{tool_id}` is not in the tree.", hint="Browse `/` to see what is.")
        return paths[meant]

    @classmethod
    def _assemble(
        cls, tools: Mapping[str, tuple[ToolMark, ...]], known: Mapping[str, NamespaceTree], max_children: int
    ) -> Self:
        segments = namespace_segments(name for name, marks in tools.items() if marks)
        trees: dict[str, NamespaceTree] = {}
        for namespace, segment in sorted(segments.items()):
            tree = known.get(segment)
            if tree is None or (tree.namespace, tree.tools) != (namespace, tools[namespace]):
                tree = NamespaceTree.build(
                    tools[namespace], namespace=namespace, segment=segment, max_children=max_children
                )
            trees[segment] = tree
        pages = _root_pages(trees, max_children)
        nodes = {entry.path: entry for page in pages.values() for entry in page if isinstance(entry, TreeNode)}
        return cls(
            max_children=max_children,
            _namespaces=trees,
            _segments=segments,
            _pages=pages,
            _places=nodes | {ROOT: _root(trees)},
        )


def _sorted(tools: Iterable[ToolMark]) -> tuple[ToolMark, ...]:
    in_order = tuple(sorted(tools, key=attrgetter("tool_id")))
    for one, other in itertools.pairwise(in_order):
        if one.tool_id == other.tool_id:
            raise DuplicateTool(
                f"Two tools have the id `{one.tool_id}`.",
                hint="Give each its own name or version.",
                details={"id": one.tool_id},
            )
    return in_order


def _root_pages(trees: Mapping[str, NamespaceTree], max_children: int) -> Pages:
    items = [Item(segment, tree.node) for segment, tree in trees.items()]
    return paginate(items, path=ROOT, limit=max_children, namespace=None, reserved=trees.keys())


def _root(trees: Mapping[str, NamespaceTree]) -> TreeNode:
    by_size = sorted(trees.values(), key=lambda tree: (-len(tree.tools), tree.namespace))
    return TreeNode(
        kind="root",
        path=ROOT,
        label="all tools",
        count=sum(len(tree.tools) for tree in by_size),
        examples=tuple(tree.namespace for tree in by_size[:MAX_EXAMPLES]),
    )
