"""References between the parts of one schema document: what `$id`, `$anchor`, `$ref` and `$dynamicRef` lead to.

Nothing is ever fetched. A reference that leaves the document simply has no target.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

from toolcrib_core.schema.pointers import Path, extended, look_up, pointer_of, split_pointer
from toolcrib_core.schema.subschemas import subschemas

REFERENCES = ("$ref", "$dynamicRef")


@dataclass(frozen=True, eq=False, slots=True)
class SchemaNode:
    """One schema object of a document; `base` is the URI that its references start from."""

    schema: dict[str, Any]
    path: Path
    base: str

    @property
    def pointer(self) -> str:
        """The JSON pointer of the node from the root of the document."""
        return pointer_of(self.path)


class SchemaIndex:
    """Every schema object of a draft 2020-12 document that is within `SCHEMA_LIMITS`, and where its references lead.

    Raises:
        ValueError: A `$id` is not a URI reference.
    """

    def __init__(self, schema: dict[str, Any]) -> None:
        self.nodes: list[SchemaNode] = []
        self._by_identity: dict[int, SchemaNode] = {}
        self._resources: dict[str, SchemaNode] = {}
        self._anchors: dict[tuple[str, str], SchemaNode] = {}
        self._dynamic: defaultdict[str, list[SchemaNode]] = defaultdict(list)
        self.root = self._add(schema, None, "")

    def node_of(self, schema: object) -> SchemaNode | None:
        """The node of a schema object of this document; None for `true` and `false`, which hold nothing."""
        return self._by_identity.get(id(schema))

    def is_inside(self, node: SchemaNode, reference: str) -> bool:
        """Whether a reference stays in the document, be there something at its end or not.

        Raises:
            ValueError: The reference is not a URI reference.
        """
        return _resolved(node.base, reference)[0] in self._resources

    def target(self, node: SchemaNode, reference: str) -> SchemaNode | bool | None:
        """What a reference leads to: a node, a boolean schema, or None where the document has no schema there.

        Raises:
            ValueError: The reference is not a URI reference.
        """
        uri, fragment = _resolved(node.base, reference)
        resource = self._resources.get(uri)
        if resource is None:
            return None
        if fragment and not fragment.startswith("/"):
            return self._anchors.get((uri, fragment))
        keys = split_pointer(fragment)
        found = look_up(resource.schema, keys)
        if isinstance(found, dict):
            # A pointer may lead to a place that is no schema by its keyword; being referred to makes it one.
            return self.node_of(found) or self._add(found, extended(resource.path, keys), uri)
        return found if isinstance(found, bool) else None

    def targets(self, node: SchemaNode) -> list[SchemaNode]:
        """Every node that the references of a node may lead to, dynamic ones included."""
        found: list[SchemaNode] = []
        for keyword in REFERENCES:
            reference = node.schema.get(keyword)
            if not isinstance(reference, str):
                continue
            target = self.target(node, reference)
            if isinstance(target, SchemaNode):
                found.append(target)
            if keyword == "$dynamicRef":
                same_name = self._dynamic.get(urldefrag(reference).fragment, ())
                found += [other for other in same_name if other is not target]
        return found

    def _add(self, schema: dict[str, Any], path: Path, base: str) -> SchemaNode:
        """Enter a schema object and all below it; the answer is its node."""
        top = _node(schema, path, base)
        waiting = [top]
        while waiting:
            node = waiting.pop()
            if id(node.schema) in self._by_identity:
                continue
            self._enter(node)
            for keys, inner in subschemas(node.schema):
                if isinstance(inner, dict):
                    waiting.append(_node(inner, extended(node.path, keys), node.base))
        return self._by_identity[id(schema)]

    def _enter(self, node: SchemaNode) -> None:
        self.nodes.append(node)
        self._by_identity[id(node.schema)] = node
        if node.path is None or "$id" in node.schema:
            self._resources.setdefault(node.base, node)
        for keyword in ("$anchor", "$dynamicAnchor"):
            name = node.schema.get(keyword)
            if isinstance(name, str):
                self._anchors.setdefault((node.base, name), node)
                if keyword == "$dynamicAnchor":
                    self._dynamic[name].append(node)


def _node(schema: dict[str, Any], path: Path, base: str) -> SchemaNode:
    own = schema.get("$id")
    return SchemaNode(schema, path, _resolved(base, own)[0] if isinstance(own, str) else base)


def _resolved(base: str, reference: str) -> tuple[str, str]:
    """The absolute URI without its fragment, and the fragment."""
    uri, fragment = urldefrag(reference)
    # urljoin drops a base of a scheme it does not know, such as `urn:`, even for a bare fragment.
    return (urljoin(base, uri) if uri else base), unquote(fragment)
