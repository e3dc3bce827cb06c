"""Existing paths near one that leads nowhere."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence

from toolcrib_core.tree.namespace import NamespaceTree
from toolcrib_core.tree.paths import ROOT

MAX_NEAREST = 4

# The deepest path of a tree has far fewer segments; a longer one is wrong before its end.
_MAX_DEPTH = 32
_MAX_POOL = 2_000


def nearest_namespaces(segments: Sequence[str], trees: Mapping[str, NamespaceTree]) -> tuple[str, ...]:
    """Paths near one whose first segment is no namespace: tools of that name, namespaces spelt like it, the root."""
    tools = (tree.shortcuts.get(f"/{tree.segment}/{segments[-1]}") for tree in trees.values())
    spelt_alike = (f"/{each}" for each in _close(segments[0], trees))
    return _best([*filter(None, tools)][: MAX_NEAREST - 2], spelt_alike)


def nearest_below(segments: Sequence[str], tree: NamespaceTree) -> tuple[str, ...]:
    """Paths near one that leaves a namespace at an unknown segment: what is spelt like it, and the last right step."""
    right, known = _last_right_step(segments, tree)
    places = {path.rpartition("/")[2]: path for path in sorted(tree.clusters.values(), reverse=True)}
    places |= {short.rpartition("/")[2]: path for short, path in tree.shortcuts.items()}
    wanted = dict.fromkeys((segments[-1], segments[known]))
    spelt_alike = [places[match] for word in wanted for match in _close(word, places)]
    return _best(spelt_alike[: MAX_NEAREST - 1], [right])


def _last_right_step(segments: Sequence[str], tree: NamespaceTree) -> tuple[str, int]:
    for known in range(min(len(segments) - 1, _MAX_DEPTH), 1, -1):
        entry = tree.find(segments[:known])
        if entry is not None:
            return entry.path, known
    return tree.node.path, 1


def _close(word: str, known: Iterable[str]) -> list[str]:
    pool = sorted(known)
    if len(pool) > _MAX_POOL:
        # Comparing costs some 10 µs a word; a misspelt word mostly starts right.
        pool = [each for each in pool if each[0] == word[0]][:_MAX_POOL]
    return difflib.get_close_matches(word, pool, n=MAX_NEAREST - 1)


def _best(*groups: Iterable[str]) -> tuple[str, ...]:
    paths = dict.fromkeys(path for group in groups for path in group)
    return (*paths, ROOT)[:MAX_NEAREST]
