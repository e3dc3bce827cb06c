"""How much work a schema can make of a value, counted before the validation engine is asked.

The engine holds the interpreter's lock, and nothing can stop it once it runs.

Composition multiplies: an `anyOf` of two schemas that each hold an `anyOf` of two applies four to the same value, and a
recursive schema whose branches both recurse doubles that with every level. Counted on the graph of the schema, without
unfolding it, the numbers tell beforehand which schemas and which values would take too long.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from toolcrib_core.errors import InvalidSchema, SchemaTooComplex
from toolcrib_core.schema.limits import INSTANCE_LIMITS, LevelSize
from toolcrib_core.schema.patterns import pattern_size
from toolcrib_core.schema.refs import SchemaIndex, SchemaNode
from toolcrib_core.schema.subschemas import APPLICATORS, IN_PLACE, subschemas

MAX_APPLIED_IN_PLACE: Final = 10_000
"""How many schemas a schema may apply to one value, itself included."""

# Bounds on the counting itself. The largest of the published schemas measured needs 1,100 entries and 9 levels.
_MAX_ENTRIES = 50_000
_EXACT_LEVELS = 16
_MAX_LEVELS = 64
_UNBOUNDED = 10**12

_REACHES_BELOW = APPLICATORS.keys() - IN_PLACE.keys()

_Graph: TypeAlias = dict[SchemaNode, list[SchemaNode]]

# All work is counted in steps of about 50 ns, as measured with the engine; `bench/validation.py` prints it.
_STEPS_OF_KEYWORD: Final[Mapping[str, int]] = {
    "multipleOf": 24,
    "minimum": 2,
    "maximum": 2,
    "exclusiveMinimum": 2,
    "exclusiveMaximum": 2,
}
_WEIGHED: Final = _STEPS_OF_KEYWORD.keys() | {
    "const",
    "dependentRequired",
    "enum",
    "pattern",
    "patternProperties",
    "required",
    "uniqueItems",
}
_STEPS_OF_COMPARISON = 4
_STEPS_OF_ERROR = 200
_STEPS_OF_COPIED_VALUE = 3
_PATTERN_BYTES_OF_STEP = 320
"""The engine takes up to 0.15 ns for each byte of text and each byte of the compiled pattern."""


@dataclass(frozen=True, kw_only=True)
class WorkProfile:
    """What a schema does at one place of a value at most, by the depth of the place.

    The last entry of each stands for all deeper places.
    """

    steps: tuple[int, ...]
    """To apply every schema that holds there."""
    compared: tuple[int, ...]
    """Members of `enum` and `const` that the engine compares one by one: all but texts."""
    copied: tuple[int, ...]
    """Members of `enum` and `const`, which an error holds a copy of."""
    matched: tuple[int, ...]
    """For each byte of text, by patterns."""
    spread: tuple[int, ...]
    """For each value below the place, by `uniqueItems`."""

    @property
    def steps_for_byte(self) -> float:
        """The most steps for one byte of a value's JSON text; a value of one level takes at least two bytes."""
        levels = INSTANCE_LIMITS.max_depth
        spread = sum(self.spread) + self.spread[-1] * levels
        return max(self.steps) / 2 + max(self.compared) * _STEPS_OF_COMPARISON / 2 + 2 * max(self.matched) + spread / 2

    def steps_to_validate(self, sizes: Iterable[LevelSize]) -> int:
        """At most how many steps it takes to say whether a value is valid."""
        total = below = 0
        for depth, size in reversed([*enumerate(sizes)]):
            total += size.values * _at(self.steps, depth) + below * _at(self.spread, depth)
            total += size.slow_to_compare * _at(self.compared, depth) * _STEPS_OF_COMPARISON
            total += size.text_bytes * _at(self.matched, depth)
            below += size.values
        return total

    def steps_to_explain(self, sizes: Iterable[LevelSize]) -> int:
        """At most how many steps it takes to list every violation: each holds a copy of the value at its place."""
        total = below = 0
        for depth, size in reversed([*enumerate(sizes)]):
            below += size.values
            copies = below * _at(self.steps, depth) + size.values * _at(self.copied, depth)
            total += size.values * _at(self.steps, depth) * _STEPS_OF_ERROR + copies * _STEPS_OF_COPIED_VALUE
        return total

    def steps_to_explain_one(self, sizes: Iterable[LevelSize]) -> int:
        """At most how many steps it takes to find the first violation, with the faults of each alternative there."""
        values = sum(size.values for size in sizes)
        copies = max(self.steps) * values + max(self.copied)
        return max(self.steps) * _STEPS_OF_ERROR + copies * _STEPS_OF_COPIED_VALUE


def _at(profile: tuple[int, ...], depth: int) -> int:
    return profile[min(depth, len(profile) - 1)]


@dataclass(frozen=True, kw_only=True)
class _Below:
    """What applies to the members of a value: `everywhere`, and `at` a key so much more (or, if negative, less)."""

    everywhere: list[tuple[SchemaNode, int]] = field(default_factory=list)
    at: defaultdict[str | int, list[tuple[SchemaNode, int]]] = field(default_factory=lambda: defaultdict(list))

    def most(self, applied: Mapping[SchemaNode, int]) -> int:
        """The most schemas that apply to any one member."""
        base = sum(applied.get(node, 0) * weight for node, weight in self.everywhere)
        extra = (sum(applied.get(node, 0) * weight for node, weight in entries) for entries in self.at.values())
        return base + max(0, max(extra, default=0))

    def size(self) -> int:
        return len(self.everywhere) + sum(map(len, self.at.values()))


def measure_work(index: SchemaIndex) -> WorkProfile:
    """The most work that a schema makes at one place of a value, by the depth of the place.

    Raises:
        InvalidSchema: A schema applies itself to the same value, without end.
        SchemaTooComplex: Too many schemas apply to the same value.
    """
    graph = _in_place_graph(index)
    order = _innermost_first(graph)
    _check_applied_in_place(graph, order)
    below = _all_below(index, _with_multiplicity(graph, order))

    weights = _Weights()
    for node in order:
        weights.add(node)

    def profile(own: Mapping[SchemaNode, int]) -> tuple[int, ...]:
        return _profile(index.root, graph, order, own, below) if own else (0,)

    return WorkProfile(
        steps=profile(weights.steps),
        compared=profile(weights.compared),
        copied=profile(weights.copied),
        matched=profile(weights.matched),
        spread=profile(weights.spread),
    )


class _Weights:
    """What each schema does by itself at the place it applies to; where it does nothing of a kind, it is left out."""

    def __init__(self) -> None:
        self.steps: dict[SchemaNode, int] = {}
        self.compared: dict[SchemaNode, int] = {}
        self.copied: dict[SchemaNode, int] = {}
        self.matched: dict[SchemaNode, int] = {}
        self.spread: dict[SchemaNode, int] = {}

    def add(self, node: SchemaNode) -> None:
        schema = node.schema
        steps = 1
        for keyword in schema.keys() & _WEIGHED:
            value = schema[keyword]
            if keyword in ("enum", "const"):
                copied, compared = _count_members(value)
                self.copied[node] = self.copied.get(node, 0) + copied
                if compared:
                    self.compared[node] = self.compared.get(node, 0) + compared
            elif keyword in ("pattern", "patternProperties"):
                patterns = [value] if isinstance(value, str) else value
                self.matched[node] = self.matched.get(node, 0) + sum(map(_steps_of_pattern, patterns))
            elif keyword == "uniqueItems":
                self.spread[node] = 1
            elif keyword == "dependentRequired":
                steps += sum(map(len, value.values()))
            else:
                steps += _STEPS_OF_KEYWORD[keyword] if keyword in _STEPS_OF_KEYWORD else len(value)
        self.steps[node] = steps


def _count_members(value: Any) -> tuple[int, int]:
    """All values within the value of an `enum` or a `const`, and those among them that are no texts."""
    every = compared = 0
    waiting = [value]
    while waiting:
        item = waiting.pop()
        every += 1
        compared += not isinstance(item, str)
        waiting += item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
    return every, compared - isinstance(value, list)


def _steps_of_pattern(pattern: str) -> int:
    return max(1, (pattern_size(pattern) or 0) // _PATTERN_BYTES_OF_STEP)


def _profile(
    root: SchemaNode,
    graph: _Graph,
    order: list[SchemaNode],
    own: Mapping[SchemaNode, int],
    below: Mapping[SchemaNode, tuple[_Below, ...]],
) -> tuple[int, ...]:
    applied: dict[SchemaNode, int] = {}
    for node in order:
        applied[node] = min(own.get(node, 0) + sum(applied[inner] for inner in graph[node]), _UNBOUNDED)
    profile, most = [applied[root]], applied
    while len(profile) < _EXACT_LEVELS:
        deeper = {node: max((each.most(applied) for each in inner), default=0) for node, inner in below.items()}
        if deeper.items() <= applied.items() and deeper.get(root, 0) == profile[-1]:
            return tuple(profile)
        profile.append(min(deeper.get(root, 0), _UNBOUNDED))
        if not any(deeper.values()):
            return tuple(profile)
        applied = deeper
        most = {node: max(steps, deeper.get(node, 0)) for node, steps in most.items()}
    # A schema that refers to itself never ends: from here on the most of all levels above.
    while len(profile) < _MAX_LEVELS:
        deeper = {
            node: max(steps, *(each.most(most) for each in below.get(node, ())), 0) for node, steps in most.items()
        }
        profile.append(min(deeper[root], _UNBOUNDED))
        if deeper == most or profile[-1] == _UNBOUNDED:
            return tuple(profile)
        most = deeper
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


def _check_applied_in_place(graph: _Graph, order: list[SchemaNode]) -> None:
    applied: dict[SchemaNode, int] = {}
    for node in order:
        applied[node] = 1 + sum(applied[inner] for inner in graph[node])
        if applied[node] > MAX_APPLIED_IN_PLACE:
            raise _too_complex(node, f"applies more than {MAX_APPLIED_IN_PLACE:,} schemas to one value")


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


def _all_below(
    index: SchemaIndex, members: dict[SchemaNode, Counter[SchemaNode]]
) -> dict[SchemaNode, tuple[_Below, ...]]:
    result: dict[SchemaNode, tuple[_Below, ...]] = {}
    entries = 0
    for node, inner in members.items():
        below = tuple(each for each in _below(index, inner) if each.everywhere or each.at)
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
