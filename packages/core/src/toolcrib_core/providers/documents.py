"""A schema document made easy to rewrite: every reference is a pointer from the root, and names are gone."""

from __future__ import annotations

from typing import Any

import orjson

from toolcrib_core.providers.dialects import IDENTIFIERS
from toolcrib_core.schema.pointers import look_up, split_pointer
from toolcrib_core.schema.refs import SchemaIndex, SchemaNode
from toolcrib_core.schema.subschemas import subschemas

_REFERENCE = b'Ref"'  # of `"$dynamicRef"`
_KEEPS = frozenset({"$defs", "definitions"})
# With these it makes a difference whether a property is null or not there.
_OF_PRESENCE = (b'"propertyNames"', b'"dependent', b'"maxProperties"', b'"not"', b'"if"')


class SchemaDocument:
    """A draft 2020-12 schema whose every `$ref` is `#` and a JSON pointer from the root.

    A `$dynamicRef` that can mean one place only has become a `$ref`, too. One that can mean several is left as it is.
    """

    __slots__ = (
        "has_arrays",
        "has_references",
        "leaves_items_unevaluated",
        "nesting",
        "presence_matters",
        "root",
        "size",
    )

    # What a glance at the text tells: its bytes, and how deep objects and arrays can be nested at most.
    size: int
    nesting: int

    def __init__(self, schema: dict[str, Any]) -> None:
        text = orjson.dumps(schema)
        # A copy of its own, in a quarter of the time that `thaw` takes.
        self.root: dict[str, Any] = orjson.loads(text)
        self.size = len(text)
        self.presence_matters = any(each in text for each in _OF_PRESENCE)
        self.has_references = b'"$ref"' in text or _REFERENCE in text
        self.nesting = 1 + text.count(b'properties"') + text.count(b'Properties"') + text.count(b'tems"')
        self.has_arrays = b'"array"' in text
        self.leaves_items_unevaluated = b'"unevaluatedItems"' in text
        if self.has_references:
            _point_references(self.root)

    def at(self, reference: str) -> Any:
        """The schema that a `$ref` of this document leads to."""
        return look_up(self.root, split_pointer(reference[1:]))


def _point_references(root: dict[str, Any]) -> None:
    index = SchemaIndex(root)
    found: list[tuple[dict[str, Any], str, str | None]] = []
    for node in list(index.nodes):
        for keyword in ("$ref", "$dynamicRef"):
            reference = node.schema.get(keyword)
            if isinstance(reference, str):
                found.append((node.schema, keyword, _pointer(index, node, keyword, reference)))
    for schema, keyword, pointer in found:
        if pointer is not None:
            if keyword != "$ref":  # a key that is set again keeps its place
                del schema[keyword]
            schema["$ref"] = f"#{pointer}"
    for node in index.nodes:
        for keyword in IDENTIFIERS - _KEEPS:
            node.schema.pop(keyword, None)


def _pointer(index: SchemaIndex, node: SchemaNode, keyword: str, reference: str) -> str | None:
    if keyword == "$ref":
        target = index.target(node, reference)
        if isinstance(target, SchemaNode):
            return target.pointer
        # A boolean schema has no node; an own pointer leads to it as it stands.
        return reference[1:] if reference.startswith("#") else None
    if "$ref" in node.schema:
        return None
    targets = [each for each in index.targets(node) if keyword in each.schema or each.schema is not node.schema]
    return targets[0].pointer if len(targets) == 1 else None


def in_place(
    document: SchemaDocument, schema: Any, *, certain: bool = False, seen: frozenset[int] = frozenset()
) -> list[dict[str, Any]]:
    """The schema and all that applies to the same value: behind references, in `allOf`, `anyOf`, `oneOf` and so on.

    What stands in `not` and `if` is left out: it describes what a value may not be, or asks about it. With `certain`
    only what applies in any case is taken.
    """
    if not isinstance(schema, dict) or id(schema) in seen:
        return []
    seen |= {id(schema)}
    found = [schema]
    if isinstance(schema.get("$ref"), str):
        found += in_place(document, document.at(schema["$ref"]), certain=certain, seen=seen)
    for keys, inner in subschemas(schema):
        if keys[0] == "allOf" or (keys[0] in _DESCRIBING and not certain):
            found += in_place(document, inner, certain=certain, seen=seen)
    return found


_DESCRIBING = frozenset({"anyOf", "oneOf", "then", "else", "dependentSchemas"})
