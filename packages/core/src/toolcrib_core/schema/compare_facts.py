"""What is certain about every value that satisfies several schemas at once.

Whatever cannot be read (a reference that leads nowhere, an `if`) is left out: fewer facts are never wrong facts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

import jsonschema_rs

from toolcrib_core.json_values import thaw
from toolcrib_core.schema.refs import SchemaIndex, SchemaNode

NodeKey: TypeAlias = tuple[int | bool, int]
Given: TypeAlias = "tuple[Node, ...]"
"""Schemas that a value is known to satisfy, all of them."""

NUMBERS = frozenset({"integer", "fraction"})
# `number` is split, because JSON Schema counts `1.0` as an integer.
_ATOMS = {each: frozenset({each}) for each in ("null", "boolean", "string", "array", "object", "integer")}
_ATOMS["number"] = NUMBERS
ALL_TYPES: frozenset[str] = frozenset().union(*_ATOMS.values())

_CONSTANTS: dict[str, list[Any]] = {"null": [None], "boolean": [False, True]}


@dataclass(frozen=True, eq=False)
class Node:
    """One schema in the document that its references are followed in."""

    schema: Any
    document: SchemaIndex | None = None

    @property
    def key(self) -> NodeKey:
        """Equal for the same schema object of the same document."""
        return (self.schema, 0) if isinstance(self.schema, bool) else (id(self.schema), id(self.document))

    @property
    def target(self) -> Node | None:
        """What its `$ref` leads to; nothing when it has none or when that cannot be told."""
        reference = self.keywords.get("$ref")
        place = self.document.node_of(self.schema) if self.document else None
        if self.document is None or place is None or not isinstance(reference, str):
            return None
        found = self.document.target(place, reference)
        return None if found is None else self.child(found.schema if isinstance(found, SchemaNode) else found)

    @property
    def keywords(self) -> Mapping[str, Any]:
        """The schema as a mapping; empty for `true` and `false`."""
        return {} if isinstance(self.schema, bool) else self.schema

    def child(self, schema: Any) -> Node:
        """Another schema of the same document."""
        return Node(schema, self.document)

    def property_nodes(self, name: str) -> Given:
        """What this schema demands of the property of that name."""
        found = [self.child(self.keywords["properties"][name])] if name in self.keywords.get("properties", {}) else []
        found += (self.child(each) for pattern, each in self.patterns.items() if _matches(pattern, name))
        return tuple(found) or self.unnamed_nodes()

    def unnamed_nodes(self) -> Given:
        """What this schema demands of a property that it neither names nor matches."""
        demanded = "additionalProperties" in self.keywords
        return (self.child(self.keywords["additionalProperties"]),) if demanded else ()

    def item_nodes(self, index: int) -> Given:
        """What this schema demands of the item at that place."""
        prefix = self.keywords.get("prefixItems", ())
        if index < len(prefix):
            return (self.child(prefix[index]),)
        return (self.child(self.keywords["items"]),) if "items" in self.keywords else ()

    @property
    def patterns(self) -> Mapping[str, Any]:
        """Its `patternProperties`."""
        patterns: Mapping[str, Any] = self.keywords.get("patternProperties", {})
        return patterns


class Facts:
    """The conjunction of several schemas, with references and `allOf` followed."""

    def __init__(self, given: Iterable[Node]) -> None:
        self.nodes: list[Node] = []
        self.refused = False
        open_nodes, seen = list(given), set[NodeKey]()
        while open_nodes:
            node = open_nodes.pop()
            if node.key not in seen:
                seen.add(node.key)
                self.refused = self.refused or node.schema is False
                self.nodes.append(node)
                open_nodes += _in_place(node)

    def all_of(self, keyword: str) -> list[Any]:
        """The values of that keyword in all schemas that have it."""
        return [node.keywords[keyword] for node in self.nodes if keyword in node.keywords]

    def children(self, keyword: str) -> Given:
        """The schemas under that keyword in all schemas that have it."""
        return tuple(node.child(node.keywords[keyword]) for node in self.nodes if keyword in node.keywords)

    @cached_property
    def types(self) -> frozenset[str]:
        """The types that a value can have."""
        possible = ALL_TYPES.intersection(*map(type_atoms, self.all_of("type")))
        return possible if self._listed is None else possible & {type_of(value) for value in self._listed}

    @cached_property
    def values(self) -> list[Any] | None:
        """Every value there can be, when they are few enough to be listed."""
        if self._listed is not None:
            return [value for value in self._listed if type_of(value) in self.types]
        if self.types <= _CONSTANTS.keys():
            return [value for each in sorted(self.types) for value in _CONSTANTS[each]]
        return None

    @cached_property
    def required(self) -> frozenset[str]:
        """The properties that every object has."""
        return frozenset(name for names in self.all_of("required") for name in names)

    @cached_property
    def names(self) -> frozenset[str]:
        """The properties that some schema mentions."""
        return frozenset(name for named in self.all_of("properties") for name in named)

    @property
    def contradictory(self) -> bool:
        """Whether it is plain that no value satisfies all schemas."""
        return self.refused or not self.types or self.values == []

    def property_nodes(self, name: str) -> Given:
        """What all schemas demand of the property of that name."""
        return tuple(found for node in self.nodes for found in node.property_nodes(name))

    def item_nodes(self, index: int) -> Given:
        """What all schemas demand of the item at that place."""
        return tuple(found for node in self.nodes for found in node.item_nodes(index))

    def unnamed_nodes(self, unmatched: Iterable[str]) -> Given:
        """What is demanded of a property that no schema names and that matches none of these patterns."""
        known = set(unmatched)
        certain = (node for node in self.nodes if known.issuperset(node.patterns))
        return tuple(found for node in certain for found in node.unnamed_nodes())

    def matching_nodes(self, pattern: str) -> Given:
        """What is demanded of a property that no schema names and that matches this pattern."""
        matched = (node.child(node.patterns[pattern]) for node in self.nodes if pattern in node.patterns)
        return (*matched, *self.unnamed_nodes(()))

    @cached_property
    def _listed(self) -> list[Any] | None:
        lists = [*self.all_of("enum"), *([value] for value in self.all_of("const"))]
        if not lists:
            return None
        others = [{json_key(value) for value in each} for each in lists[1:]]
        return [value for value in lists[0] if all(json_key(value) in other for other in others)]


def type_atoms(declared: str | list[str]) -> frozenset[str]:
    """The types behind the value of `type`."""
    names = [declared] if isinstance(declared, str) else declared
    return frozenset().union(*(_ATOMS.get(name, frozenset()) for name in names))


def type_of(value: Any) -> str:
    """The type of a JSON value; a number is an `integer` or a `fraction`."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "integer" if value == int(value) else "fraction"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def json_key(value: Any) -> Any:
    """Hashable, and equal exactly for equal JSON values: `1` is `1.0` but not `true`."""
    match value:
        case bool():
            return ("boolean", value)
        case list():
            return ("array", *map(json_key, value))
        case dict():
            return frozenset((name, json_key(each)) for name, each in value.items())
        case _:
            return value


def is_valid_value(schema: Mapping[str, Any], value: Any) -> bool:
    """Whether a value satisfies a schema that refers to nothing."""
    return jsonschema_rs.is_valid(thaw(schema), thaw(value), pattern_options=jsonschema_rs.RegexOptions())


def _in_place(node: Node) -> Iterable[Node]:
    if (target := node.target) is not None:
        yield target
    yield from map(node.child, node.keywords.get("allOf", ()))


@lru_cache(maxsize=4096)
def _matches(pattern: str, name: str) -> bool:
    # The engine that validates, so that both agree on what a pattern means.
    return jsonschema_rs.is_valid({"pattern": pattern}, name, pattern_options=jsonschema_rs.RegexOptions())
