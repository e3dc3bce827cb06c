"""How much work a schema can make of a value: how many schemas it applies to one place.

Composition multiplies: an `anyOf` of two schemas that each hold an `anyOf` of two applies four to the same value, and a
recursive schema whose branches both recurse doubles that with every level. Counted on the graph of the schema, without
unfolding it, the numbers tell beforehand which schemas and which values would take too long.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from toolcrib_core.errors import InvalidSchema, SchemaTooComplex
from toolcrib_core.schema.refs import SchemaIndex, SchemaNode
from toolcrib_core.schema.subschemas import APPLICATORS, IN_PLACE, subschemas

MAX_APPLIED_IN_PLACE: Final = 10_000
"""How many schemas a schema may apply to one value, itself included."""

# Bounds on the counting itself. The largest of the published schemas measured needs 1,100 entries and 9 levels.
_MAX_ENTRIES = 50_000
_MAX_LEVELS = 64
_UNBOUNDED = 10**12

_REACHES_BELOW = APPLICATORS.keys() - IN_PLACE.keys()

_Graph: TypeAlias = dict[SchemaNode, list[SchemaNode]]


@dataclass(frozen=True, kw_only=True)
class _Below:
    """What applies to the members of a value: `everywhere`, and `at` a key so much more (or, if negative, less)."""

    everywhere: list[tuple[SchemaNode, int]] = field(default_factory=list)
    at: defaultdict[str | int, list[tuple[SchemaNode, int]]] = field(default_factory=lambda: defaultdict(list))

    def most(self, applied: dict[SchemaNode, int]) -> int:
        """The most schemas that apply to any one member."""
        base = sum(applied[node] * weight for node, weight in self.everywhere)
        extra = (sum(applied[node] * weight for node, weight in entries) for entries in self.at.values())
        return base + max(0, max(extra, default=0))

    def size(self) -> int:
        return len(self.everywhere) + sum(map(len, self.at.values()))


def applications_by_depth(index: SchemaIndex) -> tuple[int, ...]:
    """The most schemas that apply to one place of a value, by the depth of the place.

    The last entry stands for all deeper places.

    Raises:
        InvalidSchema: A schema applies itself to the same value, without end.
        SchemaTooComplex: Too many schemas apply to the same value.
    """
    graph = _in_place_graph(index)
    order = _innermost_first(graph)
    applied = _applied_in_place(graph, order)
    below = _all_below(index, _with_multiplicity(graph, order))
    profile = [applied[index.root]]
    while len(profile) < _MAX_LEVELS:
        deeper = {
            node: max(applied[node], *(each.most(applied) for each in below.get(node, ())), 0) for node in applied
        }
        if deeper == applied:
            return tuple(profile)
        applied = deeper
        profile.append(min(applied[index.root], _UNBOUNDED))
        if profile[-1] == _UNBOUNDED:
            return tuple(profile)
    return (*profile, _UNBOUNDED)


def _in_place_graph(index: SchemaIndex) -> _Graph:
    graph: _Graph = {}
    at = 0
    # Following a reference may add nodes to the index, so its length is asked for each time.
    while at < len(index.nodes):
        node = index.nodes[at]
        inner = [index.node_of(schema) for _, schema in subschemas(node.schema, forms=IN_PLACE)]
        graph[node] = [each for each in inner if each is not None] + index.targets(node)
        at += 1
    return graph


def _innermost_first(graph: _Graph) -> list[SchemaNode]:
    """The nodes in an order in which each comes after all that it applies in place."""
    order: list[SchemaNode] = []
    is_done: dict[SchemaNode, bool] = {}
    for start in graph:
        trail = [] if start in is_done else [(start, iter(graph[start]))]
        is_done.setdefault(start, False)
        while trail:
            node, rest = trail[-1]
            following = next(rest, None)
            if following is None:
                is_done[node] = True
                order.append(node)
                trail.pop()
            elif following not in is_done:
                is_done[following] = False
                trail.append((following, iter(graph[following])))
            elif not is_done[following]:
                raise _endless([each for each, _ in trail], following)
    return order


def _applied_in_place(graph: _Graph, order: list[SchemaNode]) -> dict[SchemaNode, int]:
    applied: dict[SchemaNode, int] = {}
    for node in order:
        applied[node] = 1 + sum(applied[inner] for inner in graph[node])
        if applied[node] > MAX_APPLIED_IN_PLACE:
            raise _too_complex(node, f"applies more than {MAX_APPLIED_IN_PLACE:,} schemas to one value")
    return applied


def _with_multiplicity(graph: _Graph, order: list[SchemaNode]) -> dict[SchemaNode, Counter[SchemaNode]]:
    """For each node all that it applies in place, itself included, with how often."""
    members: dict[SchemaNode, Counter[SchemaNode]] = {}
    entries = 0
    for node in order:
        members[node] = Counter([node])
        for inner in graph[node]:
            members[node].update(members[inner])
        entries += len(members[node])
        if entries > _MAX_ENTRIES:
            raise _too_complex(node, "has too many schemas composed of each other")
    return members


def _all_below(index: SchemaIndex, members: dict[SchemaNode, Counter[SchemaNode]]) -> dict[SchemaNode, list[_Below]]:
    result: dict[SchemaNode, list[_Below]] = {}
    entries = 0
    for node, inner in members.items():
        below = [each for each in _below(index, inner) if each.everywhere or each.at]
        if below:
            result[node] = below
        entries += sum(each.size() for each in below)
        if entries > _MAX_ENTRIES:
            raise _too_complex(node, "has too many schemas composed of each other")
    return result


def _below(index: SchemaIndex, members: Counter[SchemaNode]) -> tuple[_Below, ...]:
    """What the members of an object, of a list, and the names of an object are under."""
    holders = [(node.schema, weight) for node, weight in members.items() if not _REACHES_BELOW.isdisjoint(node.schema)]
    if not holders:
        return ()
    objects, lists, names = _Below(), _Below(), _Below()
    for schema, weight in holders:
        patterns = _values(schema.get("patternProperties"))
        _add(index, objects, weight, schema.get("properties"), schema.get("additionalProperties"))
        _add(index, objects, weight, None, schema.get("unevaluatedProperties"), *patterns)
        _add(index, lists, weight, schema.get("prefixItems"), schema.get("items"))
        _add(index, lists, weight, None, schema.get("contains"), schema.get("unevaluatedItems"))
        _add(index, names, weight, None, schema.get("propertyNames"))
    return objects, lists, names


def _add(index: SchemaIndex, below: _Below, weight: int, named: Any, *rest: Any) -> None:
    """Enter the schemas for `rest`, and those `named` by key, which stand instead of the rest."""
    others = [(node, weight) for schema in rest if (node := index.node_of(schema)) is not None]
    below.everywhere.extend(others)
    pairs = named.items() if isinstance(named, dict) else enumerate(named) if isinstance(named, list) else ()
    for key, schema in pairs:
        node = index.node_of(schema)
        if node is not None:
            below.at[key].append((node, weight))
        if others:
            below.at[key].extend((other, -weight) for other, _ in others)


def _values(value: Any) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else []


def _endless(trail: list[SchemaNode], back_to: SchemaNode) -> InvalidSchema:
    loop = [node.pointer or "/" for node in trail[trail.index(back_to) :]]
    shown = " → ".join(f"`{pointer}`" for pointer in [*loop, loop[0]][:10])
    return InvalidSchema(
        f"The schema refers to itself without end: {shown}.",
        hint="A schema may refer to itself only for a part of the value, as in `properties` or `items`.",
        details={
            "violations": [
                {"pointer": back_to.pointer, "keyword": "$ref", "message": "It applies itself without end."}
            ],
            "loop": loop,
        },
    )


def _too_complex(node: SchemaNode, why: str) -> SchemaTooComplex:
    return SchemaTooComplex(
        f"The schema is too complex: `{node.pointer or '/'}` {why}.",
        hint="Use fewer alternatives inside alternatives (`anyOf`, `oneOf`, `allOf`).",
        details={"violations": [{"pointer": node.pointer, "keyword": "", "message": f"It {why}."}]},
    )
