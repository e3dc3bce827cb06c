"""Sameness of definitions: a digest that ignores order where order has no meaning, and nothing else.

Some servers build a default, an enumeration or a list of required arguments from a set, so that its order is another
one after each start. Such a definition must not look like a change. What is ignored is listed in `settled_digest`; a
change of any word, type, value or sentence gives another digest. Where a text speaks of order ("sorted by", "first",
"then"), or reads like orders to a model, its order counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from toolcrib_core.schema.canonical import digest
from toolcrib_mcp.scan.instructions import broken_rules

_ITEM: Final = r"[A-Za-z_*][\w*.:-]{0,63}"
_LIST: Final = re.compile(rf"{_ITEM}(?P<separator>, ?){_ITEM}(?:(?P=separator){_ITEM})*+", re.ASCII)
# Between quotes or brackets that do not follow a word, as `f(a,b,c)` does: the order of arguments has a meaning.
_EMBEDDED: Final = re.compile(
    rf"(?<=(?<!\w)['\"`(\[{{])(?:{_ITEM}(?P<separator>, ?){_ITEM}(?:(?P=separator){_ITEM})++"
    rf"|'{_ITEM}'(?P<quoted>, ?)'{_ITEM}'(?:(?P=quoted)'{_ITEM}')++)(?=['\"`)\]}}](?!\w))",
    re.ASCII,
)
_SPEAKS_OF_ORDER: Final = re.compile(
    r"(?<![a-z])(?:(?:order|sort|sequen|consecut|preced|prefer|rank|chain|pipeline|fallback|respective|position)[a-z]*"
    r"|(?:step|stage|phase|start|begin|end)(?:s|ed|ing)?|first|second|third|last|left|right"
    r"|then|next|before|after|until|followed|in turn)(?![a-z])",
    re.IGNORECASE,
)
_CONNECTIVES: Final = frozenset(
    (
        "not",
        "never",
        "no",
        "nor",
        "but",
        "except",
        "without",
        "instead",
        "only",
        "and",
        "or",
        "then",
        "if",
        "unless",
        "do",
    )
)

_SUBSCHEMAS: Final = frozenset(
    (
        *("additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not"),
        *("propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"),
    )
)
_NAMED_SUBSCHEMAS: Final = frozenset(("$defs", "definitions", "dependentSchemas", "patternProperties", "properties"))
_ALTERNATIVES: Final = frozenset(("allOf", "anyOf", "oneOf"))
_INTO_ALTERNATIVES: Final = re.compile(r"/(?:allOf|anyOf|oneOf)(?:/|$)")
# Lists that no other list of values can be a companion of: `enumNames` gives a name to each value by its place.
_KNOWN_LISTS: Final = frozenset(("enum", "examples", "prefixItems", "required", "type", "items", *_ALTERNATIVES))
# Deeper schemas keep their order: both sides of a comparison stop at the same place.
_MAX_DEPTH: Final = 64


def settled_digest(tool: Mapping[str, Any]) -> str:
    """SHA-256, in hex, of a tool whose unordered parts were brought into one order.

    Unordered are, in schemas, the members of `required`, `type`, `enum`, `dependentRequired`, `allOf`, `anyOf` and
    `oneOf`; the `tags` of a tool; a `default` that is nothing but a comma-separated list of names; and such a list of
    at least three names between quotes or brackets in a description.

    Raises:
        NotJson: Some part is not JSON.
    """
    settled = {key: value for key, value in tool.items() if key != "_meta"}
    for key in ("inputSchema", "outputSchema"):
        if key in settled:
            settled[key] = _SchemaOrder(settled[key]).settled(settled[key])
    if isinstance(settled.get("description"), str):
        settled["description"] = _settled_prose(settled["description"])
    if _is_texts(settled.get("tags")):
        settled["tags"] = sorted(settled["tags"])
    return digest(settled)


class _SchemaOrder:
    def __init__(self, root: object) -> None:
        # A reference such as `#/anyOf/0` gives the place of an alternative a meaning.
        self._alternatives_move = not any(map(_INTO_ALTERNATIVES.search, _references(root)))

    def settled(self, schema: object, name: str = "", depth: int = 0) -> Any:
        if not isinstance(schema, dict) or depth > _MAX_DEPTH:
            return schema
        ordered = _gives_order_a_meaning(schema, name)
        return {key: self._member(key, value, name, depth + 1, ordered=ordered) for key, value in schema.items()}

    def _member(self, key: str, value: object, name: str, depth: int, *, ordered: bool) -> Any:
        if key in _NAMED_SUBSCHEMAS and isinstance(value, dict):
            return {each: self.settled(schema, each, depth) for each, schema in value.items()}
        if key in _SUBSCHEMAS or key in _ALTERNATIVES or key == "prefixItems":
            if not isinstance(value, list):
                return self.settled(value, name, depth)
            schemas = [self.settled(each, name, depth) for each in value]
            moves = key in _ALTERNATIVES and self._alternatives_move and not ordered
            return sorted(schemas, key=digest) if moves else schemas
        if key in {"dependentRequired", "dependencies"} and isinstance(value, dict):
            return {each: _sorted_texts(item) or self.settled(item, each, depth) for each, item in value.items()}
        return _settled_value(key, value, ordered=ordered)


def _settled_value(key: str, value: object, *, ordered: bool) -> Any:
    if key in {"required", "type"}:
        return _sorted_texts(value) or value
    if key == "description" and isinstance(value, str):
        return _settled_prose(value)
    if ordered:
        return value
    if key == "enum" and isinstance(value, list):
        return sorted(value, key=digest)
    if key == "default" and isinstance(value, str) and _LIST.fullmatch(value):
        return _sorted_list(value)
    return value


def _gives_order_a_meaning(schema: Mapping[str, Any], name: str) -> bool:
    """Whether a schema says something about order, or has a list beside its values that goes with them place by place.

    The name of a property counts as a text: `sort_by` or `order`.
    """
    companions = (key for key, value in schema.items() if isinstance(value, list) and key not in _KNOWN_LISTS)
    if any(companions):
        return True
    texts = (name.replace("_", " "), schema.get("title"), schema.get("description"))
    return any(_SPEAKS_OF_ORDER.search(text) for text in texts if isinstance(text, str))


def _settled_prose(text: str) -> str:
    if _EMBEDDED.search(text) is None or any(broken_rules(text)):
        return text
    return "\n".join(
        line
        if _SPEAKS_OF_ORDER.search(_EMBEDDED.sub("", line))
        else _EMBEDDED.sub(lambda run: _sorted_list(run[0]), line)
        for line in text.split("\n")
    )


def _sorted_list(text: str) -> str:
    """The same items in one order; the text itself if one of them is a word that joins others to a sentence."""
    separator = ", " if ", " in text else ","
    items = text.split(separator)
    return text if any(each.lower() in _CONNECTIVES for each in items) else separator.join(sorted(items))


def _references(root: object) -> Iterable[str]:
    waiting = [root]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            yield from (each for key, each in value.items() if key.endswith(("$ref", "Ref")) and isinstance(each, str))
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value


def _sorted_texts(value: object) -> list[str] | None:
    return sorted(value) if isinstance(value, list) and _is_texts(value) else None


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)
