"""The browse tree of a set of tools, made from the one before it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from toolcrib_core import BrowseTree, ToolDefinition

# Each step lays out the root anew; beyond a few of them all is built at once.
_MAX_STEPS = 8


class TreeKeeper:
    """Keeps the tree that was made last, so that the next one rebuilds only the namespaces that changed.

    There is no lock: two threads that ask at once may both make a tree, and either is right.
    """

    __slots__ = ("_last",)

    def __init__(self) -> None:
        self._last: tuple[Mapping[str, list[str]], BrowseTree] = ({}, BrowseTree.build(()))

    def branch(self) -> TreeKeeper:
        """One for other sets of tools that begins with the tree that was made last."""
        begun = TreeKeeper()
        begun._last = self._last
        return begun

    def tree_of(self, definitions: tuple[ToolDefinition, ...]) -> BrowseTree:
        """The tree of exactly these tools."""
        tools: dict[str, list[ToolDefinition]] = {}
        for definition in definitions:
            tools.setdefault(definition.namespace, []).append(definition)
        # An id says all that a tree knows of a tool.
        ids = {namespace: [each.id for each in members] for namespace, members in tools.items()}
        before, tree = self._last
        changed = sorted(name for name in ids.keys() | before.keys() if ids.get(name) != before.get(name))
        tree = BrowseTree.build(definitions) if len(changed) > _MAX_STEPS else _with_namespaces(tree, changed, tools)
        self._last = ids, tree
        return tree


def _with_namespaces(tree: BrowseTree, changed: Iterable[str], tools: Mapping[str, list[ToolDefinition]]) -> BrowseTree:
    for namespace in changed:
        tree = tree.with_namespace(namespace, tools.get(namespace, ()))
    return tree
