"""How the tools of one namespace hang in clusters, before anything is listed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from toolcrib_core.definition import ToolDefinition
from toolcrib_core.tree.entries import TreeLeaf
from toolcrib_core.tree.inflection import plural
from toolcrib_core.tree.paths import MAX_SEGMENT_LENGTH
from toolcrib_core.tree.segments import told_apart, tool_segment
from toolcrib_core.tree.topics import TopicWord, topic_of, words_of

KeyPath: TypeAlias = tuple[str, ...]
"""A cluster by the singular nouns that lead to it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolMark:
    """What a tree keeps of a definition."""

    tool_id: str
    name: str
    told_by: str | None
    """The version or the shape hash: what tells it from another tool of that name."""

    @classmethod
    def of(cls, definition: ToolDefinition) -> ToolMark:
        """The mark of a definition."""
        identity = definition.identity
        return cls(tool_id=definition.id, name=definition.name, told_by=identity.version or identity.hash8)


@dataclass(kw_only=True, slots=True)
class Branch:
    """A namespace or cluster while the tree is made."""

    path: str
    label: str
    children: dict[str, Branch | TreeLeaf] = field(default_factory=dict)
    count: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Growth:
    """A namespace with all its tools hung, and two ways to find a place in it."""

    trunk: Branch
    clusters: Mapping[KeyPath, str]
    """The path of each cluster of tools that share a topic."""
    shortcuts: Mapping[str, str]
    """The path of each tool, or group of tools with one segment, by that segment."""


def grow(tools: Iterable[ToolMark], *, segment: str, label: str) -> Growth:
    """Hang tools, sorted by id, below the namespace with that root segment.

    A tool hangs in the cluster of its topic, which its own name decides. Tools that share a segment (versions, or names
    that differ in case only) share a branch of that name and are told apart below it.
    """
    groups: dict[str, list[ToolMark]] = {}
    for tool in tools:
        groups.setdefault(tool_segment(tool.name), []).append(tool)
    said = words_of(segment)
    topics = {each: topic_of(each, namespace_words=said) for each in sorted(groups)}
    names = _cluster_names(topics.values())
    trunk = Branch(path=f"/{segment}", label=label)
    clusters: dict[KeyPath, Branch] = {}
    homes = {each: _home(trunk, topic, names, clusters) for each, topic in topics.items()}
    shortcuts = {each: _hang(homes[each], each, groups[each]) for each in topics}
    _count(trunk)
    paths = {keys: branch.path for keys, branch in clusters.items()}
    return Growth(trunk=trunk, clusters=paths, shortcuts=shortcuts)


def _cluster_names(topics: Iterable[Sequence[TopicWord]]) -> dict[KeyPath, str]:
    countable: dict[KeyPath, bool] = {}
    for topic in topics:
        keys: KeyPath = ()
        for word in topic:
            keys = (*keys, word.key)
            countable[keys] = countable.get(keys, False) or word.countable
    return {keys: _cluster_name(keys[-1], countable=shown) for keys, shown in countable.items()}


def _cluster_name(key: str, *, countable: bool) -> str:
    many = plural(key) if countable else key
    return many if len(many) <= MAX_SEGMENT_LENGTH else key


def _home(
    trunk: Branch, topic: Sequence[TopicWord], names: Mapping[KeyPath, str], clusters: dict[KeyPath, Branch]
) -> Branch:
    home = trunk
    keys: KeyPath = ()
    for word in topic:
        keys = (*keys, word.key)
        if keys not in clusters:
            clusters[keys] = _sprout(home, names[keys], within=None if home is trunk else home.label)
        home = clusters[keys]
    return home


def _hang(home: Branch, segment: str, tools: Sequence[ToolMark]) -> str:
    # A tool may be called like a cluster (`issues`): it then hangs inside, and the path means the cluster.
    while isinstance(inner := home.children.get(segment), Branch):
        home = inner
    if len(tools) == 1:
        return _leaf(home, segment, tools[0]).path
    fork = _sprout(home, segment, within=None)
    apart = told_apart({tool.tool_id: tool.told_by for tool in tools})
    for tool in tools:
        _leaf(fork, apart[tool.tool_id], tool)
    return fork.path


def _sprout(home: Branch, segment: str, *, within: str | None) -> Branch:
    words = segment.replace("_", " ")
    branch = Branch(path=f"{home.path}/{segment}", label=words if within is None else f"{within} / {words}")
    home.children[segment] = branch
    return branch


def _leaf(home: Branch, segment: str, tool: ToolMark) -> TreeLeaf:
    leaf = TreeLeaf(path=f"{home.path}/{segment}", tool_id=tool.tool_id, name=tool.name)
    home.children[segment] = leaf
    return leaf


def _count(branch: Branch) -> int:
    branch.count = sum(1 if isinstance(child, TreeLeaf) else _count(child) for child in branch.children.values())
    return branch.count
