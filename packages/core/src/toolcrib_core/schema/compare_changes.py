"""What changed between two schemas, place by place, and what that does to those who use them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from toolcrib_core.json_values import pointer_join
from toolcrib_core.schema.compare_facts import Facts, Given, Node, NodeKey, json_key
from toolcrib_core.schema.compare_inclusion import MAX_NESTING, Inclusion
from toolcrib_core.schema.compare_rules import RULES, mentions_reference
from toolcrib_core.schema.refs import SchemaIndex

Effect: TypeAlias = Literal["compatible", "additive", "breaking"]
Where: TypeAlias = Literal["input", "output", "definition"]

EFFECTS: tuple[Effect, ...] = ("compatible", "additive", "breaking")
"""Ascending."""

_SHOWN_LENGTH = 60
_ABSENT = object()
_ANYTHING = Node(schema=True)
_OBJECT_WORDS = frozenset({"$ref", "properties", "patternProperties", "additionalProperties", "required"})
_LISTS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_DESCENDED = frozenset({"items", "propertyNames"})
# Keywords that mean nothing without each other are weighed together.
_GROUPS = {
    "contains": ("contains", "minContains", "maxContains"),
    "if": ("if", "then", "else"),
    "items": ("prefixItems", "items"),
    "prefixItems": ("prefixItems", "items"),
}
_STRUCTURE = frozenset({"$defs", "definitions", "$schema", "$id", "$anchor", "$dynamicAnchor", "$vocabulary"}) | {
    word for words in _GROUPS.values() for word in words
}
# Validity does not depend on them, so a proof about validity says nothing about their weight.
_NEVER_WEIGHED = frozenset({"default-changed"})


class Change(BaseModel):
    """One difference between two definitions.

    The pointer leads into the new schema, or into the old one for something that is gone.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)

    where: Where
    pointer: str
    kind: str
    effect: Effect
    message: str


def schema_changes(old: dict[str, Any], new: dict[str, Any], *, where: Where) -> list[Change]:
    """Every change between two schemas.

    For an input a change breaks when the new schema may refuse what the old one took; for an output when the new one
    may give what the old one did not. What cannot be proven harmless counts as breaking.
    """
    if old == new and json_key(old) == json_key(new):
        return []
    worst: dict[tuple[str, str, str], Change] = {}
    for change in _Comparison(where).changes(_root(old), _root(new), ""):
        told = worst.setdefault((change.pointer, change.kind, change.message), change)
        worst[change.pointer, change.kind, change.message] = max(told, change, key=_weight)
    return list(worst.values())


def worst_effect(effects: Iterable[Effect]) -> Effect:
    """The one that weighs most; `compatible` when there are none."""
    return max(effects, key=EFFECTS.index, default="compatible")


class _Comparison:
    """One walk through two schemas side by side."""

    def __init__(self, where: Where) -> None:
        self._where = where
        self._proof = Inclusion()
        self._limit: Effect = "breaking"
        self._seen: dict[tuple[NodeKey, NodeKey], Effect] = {}
        self._told_elsewhere = 0
        self._depth = 0

    def changes(self, old: Node, new: Node, pointer: str) -> list[Change]:
        """The changes between two schemas at the same place; none weighs more than all together."""
        whole = self._effect((old,), (new,))
        old, old_prose = _landed(old)
        new, new_prose = _landed(new)
        pointer = _pointer(new, pointer)
        found = list(self._prose(old_prose, new_prose, pointer))
        if self._is_told(old, new, whole):
            self._told_elsewhere += whole != "compatible"
            return found
        told_before, limit = self._told_elsewhere, self._limit
        self._limit = _lighter(limit, whole)
        self._depth += 1
        inner = self._inner(old, new, pointer)
        self._depth -= 1
        self._limit = limit
        told = self._depth > 0 and self._told_elsewhere > told_before
        return found + self._weighed(inner, whole, pointer, told=told)

    def _is_told(self, old: Node, new: Node, whole: Effect) -> bool:
        """Whether the pair has been explained, at a place where its changes could weigh as much as here."""
        if isinstance(old.schema, bool) or isinstance(new.schema, bool):
            return False
        pair, limit = (old.key, new.key), _lighter(self._limit, whole)
        told = pair in self._seen and _lighter(limit, self._seen[pair]) == limit
        if not told:
            self._seen[pair] = limit
        return told or self._depth >= MAX_NESTING

    def _inner(self, old: Node, new: Node, pointer: str) -> list[Change]:
        if isinstance(old.schema, bool) or isinstance(new.schema, bool):
            effect = self._effect((old,), (new,))
            message = f"The schema {_difference(old.schema, new.schema)}."
            return [] if old.key == new.key else [self._change(pointer, "schema-changed", effect, message)]
        by_name = (self._properties, self._required, self._maps)
        found = [change for changes in by_name for change in changes(old, new, pointer)]
        if old.target is not None and new.target is not None:
            found += self.changes(old.target, new.target, pointer)
        for word in sorted((old.keywords.keys() | new.keywords.keys()) & RULES.keys() - _OBJECT_WORDS):
            in_both = word in old.keywords and word in new.keywords
            if word in _LISTS:
                found += self._list(word, old, new, pointer)
            elif word in _DESCENDED and in_both:
                before, after = (node.child(node.keywords[word]) for node in (old, new))
                found += self.changes(before, after, f"{pointer}/{word}")
            else:
                found += self._word(word, old, new, pointer)
        return found

    def _properties(self, old: Node, new: Node, pointer: str) -> Iterator[Change]:
        before, after = (node.keywords.get("properties", {}) for node in (old, new))
        for name in sorted(before.keys() | after.keys()):
            at = pointer_join(f"{pointer}/properties", name)
            if name in before and name in after:
                yield from self.changes(old.child(before[name]), new.child(after[name]), at)
                continue
            effect = self._effect(old.property_nodes(name), new.property_nodes(name))
            effect = worst_effect([effect, self._requirement(name, old, new)])
            if name in after:
                manner = "required" if name in new.keywords.get("required", ()) else "optional"
                yield self._change(at, "property-added", effect, f"`{name}` is a new {manner} property.")
            else:
                at = pointer_join(f"{_pointer(old, pointer)}/properties", name)
                yield self._change(at, "property-removed", effect, f"The property `{name}` is gone.")

    def _required(self, old: Node, new: Node, pointer: str) -> Iterator[Change]:
        before, after = (set(node.keywords.get("required", ())) for node in (old, new))
        # Properties that came or went have been told together with their requirement.
        told = old.keywords.get("properties", {}).keys() ^ new.keywords.get("properties", {}).keys()
        for name in sorted((before ^ after) - told):
            effect = self._requirement(name, old, new)
            if name in after:
                message = f"`{name}` is required now."
                yield self._change(f"{pointer}/required", "required-added", effect, message)
            else:
                message = f"`{name}` is not required any more."
                yield self._change(f"{_pointer(old, pointer)}/required", "required-removed", effect, message)

    def _requirement(self, name: str, old: Node, new: Node) -> Effect:
        demand = self._proof.named("required", name)
        before, after = (name in node.keywords.get("required", ()) for node in (old, new))
        return self._judged(
            forward=not after or self._proof.holds((old,), demand),
            backward=not before or self._proof.holds((new,), demand),
        )

    def _maps(self, old: Node, new: Node, pointer: str) -> Iterator[Change]:
        for pattern in sorted(old.patterns.keys() | new.patterns.keys()):
            at = pointer_join(f"{pointer}/patternProperties", pattern)
            if pattern in old.patterns and pattern in new.patterns:
                yield from self.changes(old.child(old.patterns[pattern]), new.child(new.patterns[pattern]), at)
            else:
                effect = self._effect(*(Facts((node,)).matching_nodes(pattern) for node in (old, new)))
                came = "new" if pattern in new.patterns else "gone"
                message = f"The rule for properties that match {_shown(pattern)} is {came}."
                yield self._change(at, "pattern-properties-changed", effect, message)
        before, after = ((*node.unnamed_nodes(), _ANYTHING)[0] for node in (old, new))
        yield from self.changes(before, after, f"{pointer}/additionalProperties")

    def _list(self, word: str, old: Node, new: Node, pointer: str) -> list[Change]:
        before, after = (node.keywords.get(word, ()) for node in (old, new))
        if len(before) != len(after) or _is_reordered(before, after):
            return self._word(word, old, new, pointer)
        pairs = enumerate(zip(before, after, strict=True))
        inner = [
            change
            for at, (one, other) in pairs
            for change in self.changes(old.child(one), new.child(other), f"{pointer}/{word}/{at}")
        ]
        return self._weighed(inner, self._effect_of(word, old, new), f"{pointer}/{word}", told=True)

    def _word(self, word: str, old: Node, new: Node, pointer: str) -> list[Change]:
        before, after = (_part(node, word).schema for node in (old, new))
        same = json_key(before) == json_key(after)
        effect = self._effect_of(word, old, new)
        if same and (effect == "compatible" or not mentions_reference(before)):
            return []
        place = pointer if word in new.keywords else _pointer(old, pointer)
        message = f"`{word}` {_difference(before.get(word, _ABSENT), after.get(word, _ABSENT))}."
        return [self._change(f"{place}/{word}", f"{_kebab(word)}-changed", effect, message)]

    def _prose(self, old: Mapping[str, Any], new: Mapping[str, Any], pointer: str) -> Iterator[Change]:
        for word in sorted(old.keys() | new.keys()):
            if json_key(old.get(word, _ABSENT)) == json_key(new.get(word, _ABSENT)):
                continue
            # Who leaves the argument out gets something else than before, though nobody is refused.
            effect: Effect = "additive" if word == "default" and self._where == "input" else "compatible"
            message = (
                f"`{word}` {'changed' if word in old and word in new else 'is new' if word in new else 'is gone'}."
            )
            yield self._change(pointer_join(pointer, word), f"{_kebab(word)}-changed", effect, message)

    def _weighed(self, inner: list[Change], whole: Effect, pointer: str, *, told: bool) -> list[Change]:
        weighed = [each if each.kind in _NEVER_WEIGHED else _at_most(each, whole) for each in inner]
        if told or whole == "compatible" or any(each.effect == whole for each in weighed):
            return weighed
        if whole == "additive":
            return [*weighed, self._change(pointer, "schema-changed", whole, "The schema as a whole changed.")]
        takes = "the new schema takes all that the old one took"
        gives = "what the new schema gives is all that the old one could give"
        message = f"It is not proven that {takes if self._where == 'input' else gives}."
        return [*weighed, self._change(pointer, "cannot-tell", whole, message)]

    def _effect(self, old: Given, new: Given) -> Effect:
        return self._judged(
            forward=all(self._proof.holds(old, each) for each in new),
            backward=all(self._proof.holds(new, each) for each in old),
        )

    def _effect_of(self, word: str, old: Node, new: Node) -> Effect:
        return self._judged(
            forward=self._proof.holds((old,), _part(new, word)), backward=self._proof.holds((new,), _part(old, word))
        )

    def _judged(self, *, forward: bool, backward: bool) -> Effect:
        """The effect, from whether the new schema includes the old one and the other way round."""
        safe, same = (forward, backward) if self._where == "input" else (backward, forward)
        if not safe:
            return "breaking"
        return "compatible" if same else "additive"

    def _change(self, pointer: str, kind: str, effect: Effect, message: str) -> Change:
        return Change(where=self._where, pointer=pointer, kind=kind, effect=effect, message=message)


def _root(schema: dict[str, Any]) -> Node:
    return Node(schema, SchemaIndex(schema))


def _landed(node: Node) -> tuple[Node, dict[str, Any]]:
    """Where a chain of plain references ends, with the prose on the way; what stands nearer to its start wins."""
    prose: dict[str, Any] = {}
    for _ in range(MAX_NESTING):
        prose = {word: node.keywords[word] for word in node.keywords.keys() - RULES.keys() - _STRUCTURE} | prose
        target = node.target
        if target is None or node.keywords.keys() & RULES.keys() != {"$ref"}:
            break
        node = target
    return node, prose


def _pointer(node: Node, otherwise: str) -> str:
    place = node.document.node_of(node.schema) if node.document else None
    return otherwise if place is None else place.pointer


def _part(node: Node, word: str) -> Node:
    words = _GROUPS.get(word, (word,))
    return node.child({each: node.keywords[each] for each in words if each in node.keywords})


def _weight(change: Change) -> int:
    return EFFECTS.index(change.effect)


def _lighter(one: Effect, other: Effect) -> Effect:
    return min(one, other, key=EFFECTS.index)


def _at_most(change: Change, effect: Effect) -> Change:
    limited = _lighter(change.effect, effect)
    return change if limited == change.effect else change.model_copy(update={"effect": limited})


def _is_reordered(before: Sequence[Any], after: Sequence[Any]) -> bool:
    one, other = ([json_key(each) for each in schemas] for schemas in (before, after))
    return one != other and Counter(one) == Counter(other)


def _difference(before: Any, after: Any) -> str:
    if before is _ABSENT or after is _ABSENT:
        return f"is new: {_shown(after)}" if before is _ABSENT else f"is gone; it was {_shown(before)}"
    return f"changed from {_shown(before)} to {_shown(after)}"


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return f"`{text}`" if len(text) <= _SHOWN_LENGTH else f"`{text[: _SHOWN_LENGTH - 1]}…`"


def _kebab(word: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", word.lstrip("$")).lower()
