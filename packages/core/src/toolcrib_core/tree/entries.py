"""What a browse tree is made of: nodes that list something, and tools."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

NodeKind: TypeAlias = Literal["root", "namespace", "cluster", "range"]


@dataclass(frozen=True, kw_only=True, slots=True)
class TreeNode:
    """A place that lists others.

    A namespace and a cluster hold the tools whose paths they begin. A range is a slice, in alphabetical order, of a
    node that has too much to list at once: it only lists, and the paths of what it lists do not contain it.
    """

    kind: NodeKind
    path: str
    label: str
    count: int
    """How many tools are below."""
    examples: tuple[str, ...]
    """Names of a few of them."""
    namespace: str | None = None
    """The namespace it is or lies in; none for the root and its ranges."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TreeLeaf:
    """One tool at its canonical path."""

    path: str
    tool_id: str
    name: str


TreeEntry: TypeAlias = TreeNode | TreeLeaf
