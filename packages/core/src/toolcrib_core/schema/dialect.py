"""Older JSON Schema dialects, rewritten as draft 2020-12, so that everything behind knows one dialect only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, Final
from urllib.parse import quote, unquote, urljoin

from toolcrib_core.schema.limits import SCHEMA_LIMITS, find_limit_fault
from toolcrib_core.schema.pointers import look_up, pointer_from, split_pointer
from toolcrib_core.schema.subschemas import APPLICATORS, Form


class Dialect(StrEnum):
    """The dialects that are understood, each named by the URI that `$schema` gives."""

    DRAFT_4 = "http://json-schema.org/draft-04/schema"
    DRAFT_6 = "http://json-schema.org/draft-06/schema"
    DRAFT_7 = "http://json-schema.org/draft-07/schema"
    DRAFT_2019_09 = "https://json-schema.org/draft/2019-09/schema"
    DRAFT_2020_12 = "https://json-schema.org/draft/2020-12/schema"


# What each dialect brought along. A keyword means nothing in an older one, so it must not come to life in 2020-12.
_NEW_IN: Final[Mapping[Dialect, frozenset[str]]] = {
    Dialect.DRAFT_6: frozenset({"const", "contains", "propertyNames", "$id"}),
    Dialect.DRAFT_7: frozenset({"if", "then", "else"}),
    Dialect.DRAFT_2019_09: frozenset(
        {
            "$anchor",
            "dependentRequired",
            "dependentSchemas",
            "maxContains",
            "minContains",
            "unevaluatedItems",
            "unevaluatedProperties",
            "contentSchema",
        }
    ),
    Dialect.DRAFT_2020_12: frozenset({"prefixItems", "$dynamicRef", "$dynamicAnchor"}),
}
_ORDER = list(Dialect)
_BESIDE_REF = frozenset({"$ref", "$schema", "definitions", "$defs", "title", "description", "default", "examples"})
_RECURSIVE_ANCHOR = "recursive"
_FRAGMENT_SAFE = "/~!$&'()*+,;=:@"


def dialect_of(schema: Mapping[str, object]) -> Dialect | None:
    """The dialect a schema declares, 2020-12 if it declares none, or None if it is not one we know."""
    declared = schema.get("$schema", Dialect.DRAFT_2020_12)
    if not isinstance(declared, str):
        return None
    bare = declared.removesuffix("#").removeprefix("https://").removeprefix("http://")
    return next((each for each in Dialect if each.partition("://")[2] == bare), None)


def upgrade_dialect(schema: Mapping[str, object]) -> dict[str, object]:
    """The same schema in draft 2020-12.

    A schema that declares draft-04, -06, -07 or 2019-09 is rewritten so that it accepts the same values (but for
    `1.0`, which is an integer since draft-06). Any other comes back as it is; `check_schema` judges it.
    """
    plain: dict[str, Any] = schema if isinstance(schema, dict) else dict(schema)
    dialect = dialect_of(plain)
    if dialect in {None, Dialect.DRAFT_2020_12} or find_limit_fault(plain, SCHEMA_LIMITS) is not None:
        return plain
    return _Upgrade(plain, dialect).upgraded()


class _Upgrade:
    """One document on its way from `dialect` to 2020-12."""

    def __init__(self, document: dict[str, Any], dialect: Dialect) -> None:
        self.document = document
        age = _ORDER.index(dialect)
        self.is_before_2019 = age < _ORDER.index(Dialect.DRAFT_2019_09)
        self.id_keyword = "id" if dialect is Dialect.DRAFT_4 else "$id"
        self.unknown = frozenset[str]().union(*(_NEW_IN[each] for each in _ORDER[age + 1 :]))
        self.resources = dict(self._resources(document, ""))

    def upgraded(self) -> dict[str, object]:
        return {"$schema": Dialect.DRAFT_2020_12.value, **self._schema(self.document, "")}

    def _schema(self, schema: Any, base: str) -> Any:
        """A schema rewritten, with all schemas in it; `base` is the URI of the resource it belongs to."""
        if not isinstance(schema, dict):
            return schema
        base = self._base(schema, base)
        if self.is_before_2019 and "$ref" in schema:
            schema = {key: value for key, value in schema.items() if key in _BESIDE_REF}
        rewritten: dict[str, Any] = {}
        for keyword, value in schema.items():
            if keyword not in self.unknown and keyword != "$schema":
                rewritten.update(self._keyword(schema, keyword, value, base))
        return rewritten

    def _keyword(self, schema: dict[str, Any], keyword: str, value: Any, base: str) -> dict[str, Any]:
        """What stands in 2020-12 for one keyword of a schema."""
        match keyword, value:
            case self.id_keyword, str():
                is_anchor = value.startswith("#") and self.is_before_2019
                now = {"$anchor": value[1:]} if is_anchor else {"$id": value}
            case "$ref", str():
                now = {"$ref": self._reference(value, base)}
            case "$recursiveAnchor", bool():
                now = {"$dynamicAnchor": _RECURSIVE_ANCHOR} if value else {}
            case "$recursiveRef", str():
                is_dynamic = self.resources.get(base, {}).get("$recursiveAnchor") is True
                now = {"$dynamicRef": f"#{_RECURSIVE_ANCHOR}" if is_dynamic else "#"}
            case "exclusiveMinimum" | "exclusiveMaximum", bool():
                now = {}
            case "minimum" | "maximum", _:
                exclusive = f"exclusive{keyword.capitalize()}"
                now = {exclusive if schema.get(exclusive) is True else keyword: value}
            case "dependencies", dict() if self.is_before_2019:
                now = self._dependencies(value, base)
            case _:
                now = {new: self._held(value, form, base) for new, form in self._moved(schema, keyword)}
        return now

    def _moved(self, schema: Mapping[str, Any], keyword: str) -> Iterator[tuple[str, Form | None]]:
        """The keyword's name in 2020-12 (none where it meant nothing), and how it holds schemas (None: not at all)."""
        match keyword:
            case "items" if isinstance(schema["items"], list):
                if schema["items"]:
                    yield "prefixItems", "list"
            case "additionalItems":
                if isinstance(schema.get("items"), list):
                    yield "items", "one"
            case "definitions" if self.is_before_2019 and "$defs" not in schema:
                yield "$defs", "map"
            case _:
                yield keyword, APPLICATORS.get(keyword)

    def _held(self, value: Any, form: Form | None, base: str) -> Any:
        if form == "list" and isinstance(value, list):
            return [self._schema(item, base) for item in value]
        if form == "map" and isinstance(value, dict):
            return {key: self._schema(item, base) for key, item in value.items()}
        return self._schema(value, base) if form == "one" else value

    def _dependencies(self, value: dict[str, Any], base: str) -> dict[str, Any]:
        required = {key: item for key, item in value.items() if isinstance(item, list)}
        schemas = {key: self._schema(item, base) for key, item in value.items() if not isinstance(item, list)}
        return {
            **({"dependentRequired": required} if required else {}),
            **({"dependentSchemas": schemas} if schemas else {}),
        }

    def _reference(self, reference: str, base: str) -> str:
        """The reference with its JSON pointer changed as the keywords on its way have changed."""
        uri, _, fragment = reference.partition("#")
        target = self.resources.get(_joined(base, uri))
        if target is None or not fragment.startswith("/"):
            return reference
        keys = split_pointer(unquote(fragment))
        moved = list(self._moved_keys(target, keys))
        return reference if moved == keys else f"{uri}#{quote(pointer_from(moved), safe=_FRAGMENT_SAFE)}"

    def _moved_keys(self, place: Any, keys: list[str]) -> Iterator[str]:
        form: Form | None = "one"
        for key in keys:
            if form != "one":
                yield key
                form = "one" if form else None
            elif key == "dependencies" and self.is_before_2019:
                yield "dependentSchemas"
                form = "map"
            elif isinstance(place, dict) and key in place:
                new, form = next(self._moved(place, key), (key, None))
                yield new
            else:
                yield key
                form = None
            place = look_up(place, [key])

    def _resources(self, schema: Any, base: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Every schema that has a URI of its own, the document itself among them."""
        waiting = [(schema, base)]
        while waiting:
            item, base = waiting.pop()
            own = self._base(item, base) if isinstance(item, dict) else base
            if item is schema or own != base:
                yield own, item
            values = item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
            waiting += [(value, own) for value in values]

    def _base(self, schema: dict[str, Any], base: str) -> str:
        own = schema.get(self.id_keyword)
        if not isinstance(own, str) or own.startswith("#") or (self.is_before_2019 and "$ref" in schema):
            return base
        return _joined(base, own.partition("#")[0])


def _joined(base: str, uri: str) -> str:
    try:
        # urljoin drops a base of a scheme it does not know, such as `urn:`, even for an empty reference.
        return urljoin(base, uri) if uri else base
    except ValueError:
        return uri
