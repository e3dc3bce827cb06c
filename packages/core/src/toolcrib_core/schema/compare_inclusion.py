"""Whether every value that satisfies some schemas satisfies another one: proven, or not.

A proof is sound: when it says yes, there is no counterexample. It does not find every proof: `no` means "not proven",
also when the schemas are too deep or too entangled for the budget. Recursive schemas are compared by assuming, one
level deeper in the value, what is being proven; JSON values are finite, so that is an induction.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeAlias

from toolcrib_core.schema.compare_facts import NUMBERS, Facts, Given, Node, NodeKey
from toolcrib_core.schema.compare_rules import RULES, holds_for_values, is_same

MAX_STEPS = 20_000
# 60 nested goals under 60 nested places were measured to need fewer than 600 of Python's 1,000 frames.
MAX_NESTING = 60

_Goal: TypeAlias = tuple[frozenset[NodeKey], NodeKey]

_NOTHING = Node(schema=False)
_TYPE_NODES = {
    name: Node({"type": "number" if name == "fraction" else name})
    for name in ("null", "boolean", "integer", "fraction", "string", "array", "object")
}
_TYPE_KEYS = frozenset(node.key for node in _TYPE_NODES.values())


class Inclusion:
    """The proofs of one comparison; they share what has been decided and a budget of steps."""

    def __init__(self) -> None:
        self._decided: dict[_Goal, bool] = {}
        self._open: dict[_Goal, int] = {}
        self._proven: list[_Goal] = []
        self._named: dict[tuple[str, str], Node] = {}
        # Goals are told apart by the identity of schemas, so none that was part of one may be freed.
        self._kept: list[Given] = []
        self._level = 0

    def holds(self, given: Given, wanted: Node) -> bool:
        """Whether it is proven that a value which satisfies all of `given` satisfies `wanted`."""
        goal = (frozenset(node.key for node in given), wanted.key)
        if goal in self._decided:
            return self._decided[goal]
        if goal in self._open:
            # Deeper in the value it may be assumed; at the same place that would be going round in a circle.
            return self._level > self._open[goal]
        if len(self._kept) >= MAX_STEPS or len(self._open) >= MAX_NESTING:
            return False
        self._kept.append((*given, wanted))
        return self._attempt(goal, given, wanted)

    def impossible(self, given: Given) -> bool:
        """Whether it is proven that no value satisfies all of `given`."""
        return self.holds(given, _NOTHING)

    @contextmanager
    def inside(self) -> Iterator[None]:
        """While it lasts, goals are about a part of the value."""
        self._level += 1
        try:
            yield
        finally:
            self._level -= 1

    def named(self, keyword: str, name: str) -> Node:
        """The schema `{"required": [name]}` or `{"const": name}`, the same object each time."""
        schema = {keyword: [name] if keyword == "required" else name}
        return self._named.setdefault((keyword, name), Node(schema))

    def _attempt(self, goal: _Goal, given: Given, wanted: Node) -> bool:
        self._open[goal] = self._level
        mark = len(self._proven)
        try:
            proven = self._prove(given, Facts(given), wanted)
        finally:
            del self._open[goal]
        if proven:
            self._proven.append(goal)
        else:
            # What was proven meanwhile may rest on the assumption that has just failed.
            for each in self._proven[mark:]:
                del self._decided[each]
            del self._proven[mark:]
        self._decided[goal] = proven
        return proven

    def _prove(self, given: Given, facts: Facts, wanted: Node) -> bool:
        if facts.contradictory or wanted.schema is True:
            return True
        if wanted.schema is not False and (
            any(is_same(node, wanted) for node in facts.nodes)
            or holds_for_values(facts, wanted)
            or all(rule(self, given, facts, wanted) for word, rule in RULES.items() if word in wanted.keywords)
        ):
            return True
        return self._by_cases(given, facts, wanted) or self._lacks_a_required_property(facts)

    def _by_cases(self, given: Given, facts: Facts, wanted: Node) -> bool:
        taken = {node.key for node in given}
        for node in facts.nodes:
            for keyword in ("anyOf", "oneOf"):
                cases = [node.child(each) for each in node.keywords.get(keyword, ())]
                if cases and taken.isdisjoint(case.key for case in cases):
                    return all(self.holds((*given, case), wanted) for case in cases)
        has_choices = "anyOf" in wanted.keywords or "oneOf" in wanted.keywords
        if not has_choices or len(facts.types) == 1 or taken & _TYPE_KEYS:
            return False
        types = facts.types - {"integer"} if facts.types >= NUMBERS else facts.types
        return all(self.holds((*given, _TYPE_NODES[each]), wanted) for each in sorted(types))

    def _lacks_a_required_property(self, facts: Facts) -> bool:
        if facts.types != {"object"}:
            return False
        with self.inside():
            return any(self.impossible(facts.property_nodes(name)) for name in sorted(facts.required))
