"""The browse tree: every tool by path, from namespaces over clusters down to the tool."""

from __future__ import annotations

from toolcrib_core.errors import PathInvalid, PathNotFound
from toolcrib_core.tree.browse import DEFAULT_MAX_CHILDREN, BrowseTree
from toolcrib_core.tree.entries import NodeKind, TreeEntry, TreeLeaf, TreeNode
from toolcrib_core.tree.paths import parse_path

__all__ = [
    "DEFAULT_MAX_CHILDREN",
    "BrowseTree",
    "NodeKind",
    "PathInvalid",
    "PathNotFound",
    "TreeEntry",
    "TreeLeaf",
    "TreeNode",
    "parse_path",
]
