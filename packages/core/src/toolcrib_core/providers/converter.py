"""The walk that rewrites a schema into a vendor's dialect, keyword by keyword."""

from __future__ import annotations

from functools import reduce
from typing import Any

from toolcrib_core.json_values import pointer_join
from toolcrib_core.providers.alternatives import (
    are_disjoint,
    describes_object,
    flattened,
    mixed_nulls,
    without_combinators,
)
from toolcrib_core.providers.dialects import ANNOTATIONS, ASSERTIONS, IDENTIFIERS
from toolcrib_core.providers.merging import types_of
from toolcrib_core.providers.references import References
from toolcrib_core.providers.reporting import CHECKED
from toolcrib_core.schema.pointers import MISSING
from toolcrib_core.schema.subschemas import APPLICATORS, subschemas

_ONE_FOR_ALL = "A property that one alternative declares is held to that where another does not speak of it."
_SCALARS = ["string", "number", "boolean", "null"]
_OBJECT_WORDS = frozenset(
    "properties required additionalProperties patternProperties propertyNames minProperties maxProperties "
    "dependentRequired dependentSchemas unevaluatedProperties".split()
)
_ARRAY_WORDS = frozenset("items prefixItems minItems maxItems uniqueItems contains unevaluatedItems".split())
_WORDS_OF_TYPE = {
    "object": _OBJECT_WORDS,
    "array": _ARRAY_WORDS,
    "string": frozenset({"minLength", "maxLength", "pattern"}),
    "number": frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}),
}
# As many schemas as an input schema may have at most; see `SCHEMA_LIMITS`.
_MAX_WRITTEN = 20_000
_PLAIN_TYPES = ("string", "integer", "number", "boolean", "null")
_PLAIN_WORDS = _WORDS_OF_TYPE["string"] | _WORDS_OF_TYPE["number"] | {"type", "title", "description"}
# What is inside decides in both directions here: a value more inside may be a value less outside.
_NOT_MONOTONE = ("not", "if", "contains", "oneOf", "unevaluatedProperties", "unevaluatedItems")


class Converter(References):
    """One conversion of one document; `losses` fills while it runs."""

    def convert_root(self) -> dict[str, Any]:
        """The whole schema, with the definitions that it refers to."""
        root = self._document.root
        if not self._dialect.root_combinators:
            # `type` first: it says that alternatives without one describe objects.
            flat = without_combinators(self._document, {"type": "object", **root})
            self._document.presence_matters |= "oneOf" in flat.dropped
            for keyword in flat.dropped:
                self._lose("", keyword, "widened", CHECKED)
            if flat.narrows:
                self._lose("", "properties", "narrowed", _ONE_FOR_ALL, demanded=True)
            self._document.root = root = flat.schema
        if self._dialect.keywords is None:
            if self._dialect.array_items and self._document.has_arrays:
                self._give_items(root, "")
            return root
        converted = self._object_at("", {"type": "object", **root}, is_root=True)
        return converted | {"$defs": self._definitions} if self._definitions else converted

    def _give_up(self, schema: dict[str, Any]) -> dict[str, Any]:
        """The bare type: references beside other keywords are written out, and a few can grow without measure so."""
        if self._written == _MAX_WRITTEN + 1:
            self._lose("", "limit", "narrowed", "With its references written out, the schema is too large.")
            self._lose("", "limit", "widened")
        return {"type": schema["type"]} if schema.get("type") in _PLAIN_TYPES else {"type": "string"}

    def _give_items(self, schema: dict[str, Any], pointer: str) -> None:
        """Write `items` into every array of the document that has none; the document is a copy of its own."""
        if "array" in types_of(schema) and not {"items", "prefixItems"} & schema.keys():
            schema["items"] = {}
            if self._document.leaves_items_unevaluated:
                self._lose(pointer, "unevaluatedItems", "widened")
        for keys, inner in subschemas(schema):
            if isinstance(inner, dict) and inner:
                self._give_items(inner, reduce(pointer_join, keys, pointer))

    def _any(self, schema: Any, pointer: str) -> dict[str, Any]:
        """The conversion of any schema, booleans included."""
        if schema is False:
            self._lose(pointer, "false", "widened")
            return {"type": "null"}
        return self._object_at(pointer, {} if schema is True else schema)

    def _object_at(self, pointer: str, schema: dict[str, Any], *, is_root: bool = False) -> dict[str, Any]:
        self._written += 1
        if self._written > _MAX_WRITTEN:
            return self._give_up(schema)
        # Most schemas are such: nothing in them could be lost.
        if (
            schema.get("type") in _PLAIN_TYPES
            and schema.keys() <= _PLAIN_WORDS
            and all(map(self._dialect.keeps, schema))
        ):
            return dict(schema)
        work = {key: value for key, value in schema.items() if key not in IDENTIFIERS}
        notes: list[str] = []
        opened = len(self._open)
        if "$ref" in work and not (self._dialect.ref_siblings and self._dialect.keeps("$ref")):
            if self._stands_alone(work):
                return self._reference(work, pointer)
            work = self._merge_reference(work, pointer, notes)
        self._merge_all(work, pointer, notes)
        if "const" in work and not self._dialect.keeps("const"):
            work["enum"] = [work.pop("const")]
        self._one_of(work, pointer, notes)
        self._union_of_objects(work, pointer, notes, is_root=is_root)
        self._say_type(work, pointer)
        result = self._kept(work, pointer, notes, is_root=is_root)
        del self._open[opened:]
        return self._with_notes(result, notes)

    def _one_of(self, work: dict[str, Any], pointer: str, notes: list[str]) -> None:
        if "oneOf" not in work or self._dialect.keeps("oneOf"):
            return
        branches = work["oneOf"]
        if "anyOf" in work or not self._dialect.keeps("anyOf"):
            if not describes_object(work, branches, self._document):
                self._leave_out(work, "oneOf", pointer, notes)
                del work["oneOf"]
            return
        if not are_disjoint(self._document, branches):
            self._document.presence_matters |= describes_object(work, branches, self._document)
            self._lose(pointer, "oneOf", "widened", f"It became `anyOf`. {CHECKED}")
        del work["oneOf"]
        work["anyOf"] = branches

    def _union_of_objects(self, work: dict[str, Any], pointer: str, notes: list[str], *, is_root: bool) -> None:
        """Merge alternatives that describe the same object as their siblings do: closed, each would refuse the others.

        An `anyOf` that stands alone is kept as it is.
        """
        for keyword in ("anyOf", "oneOf"):
            branches = work.get(keyword)
            if branches is None or not (self._dialect.closed_objects or not self._dialect.keeps("anyOf")):
                continue
            alone = not (ASSERTIONS & work.keys() - {keyword}) and not is_root and self._dialect.keeps("anyOf")
            if alone or not describes_object(work, branches, self._document):
                continue
            self._document.presence_matters |= keyword == "oneOf"
            flat = flattened(self._document, work, keyword)
            if flat is None:
                self._leave_out(work, keyword, pointer, notes)
                del work[keyword]
                continue
            self._lose(pointer, keyword, "widened", f"The alternatives are merged into one. {CHECKED}")
            if flat.narrows:
                self._lose(pointer, "properties", "narrowed", _ONE_FOR_ALL, demanded=True)
            work.clear()
            work.update(flat.schema)

    def _say_type(self, work: dict[str, Any], pointer: str) -> None:
        """Give a schema without a type the one that its keywords speak of, where the vendor wants one."""
        if self._dialect.typed and "type" in work and _is_said_by_branches(work):
            del work["type"]
        if "type" in work or not self._dialect.typed or {"$ref", "anyOf", "oneOf", "allOf"} & work.keys():
            return
        listed = work.get("enum", [work["const"]] if "const" in work else None)
        if listed is not None:
            kinds = list(dict.fromkeys(_json_type(each) for each in listed))
            work["type"] = kinds[0] if len(kinds) == 1 else kinds
            return
        spoken = [kind for kind, words in _WORDS_OF_TYPE.items() if words & work.keys()]
        if len(spoken) == 1:
            self._lose(
                pointer,
                "type",
                "narrowed",
                f"The schema only speaks of {spoken[0]}s, so that other types are refused.",
                demanded=spoken[0] in {"object", "array"},
            )
            work["type"] = spoken[0]
            return
        keyword = "$dynamicRef" if "$dynamicRef" in work else "type"
        self._lose(pointer, keyword, "narrowed", f"{self._dialect.name} cannot say that any value is allowed.")
        work["type"] = list(_SCALARS)

    def _kept(self, work: dict[str, Any], pointer: str, notes: list[str], *, is_root: bool) -> dict[str, Any]:
        kinds = types_of(work)
        result: dict[str, Any] = {}
        if "object" in kinds or (not kinds and _OBJECT_WORDS & work.keys()):
            self._properties(work, pointer, notes, result, is_root=is_root)
        if "array" in kinds or (not kinds and _ARRAY_WORDS & work.keys()):
            self._items(work, pointer, notes, result)
        for keyword, value in work.items():
            if keyword in result or keyword in ANNOTATIONS or keyword not in ASSERTIONS:
                continue
            if keyword in _OBJECT_WORDS & {"properties", "required", "additionalProperties", "patternProperties"}:
                continue
            if keyword in {"items", "prefixItems"}:
                continue
            if not self._keeps(keyword, value):
                self._leave_out(work, keyword, pointer, notes)
            else:
                kept = self._inside(keyword, value, work, pointer, notes)
                if kept is not MISSING:
                    result[keyword] = kept
        result |= self._annotations(work, pointer, notes)
        self._avoid_type_list(result)
        return result

    def _keeps(self, keyword: str, value: Any) -> bool:
        if not self._dialect.keeps(keyword):
            return False
        if keyword == "minItems" and self._dialect.max_min_items is not None:
            return bool(value <= self._dialect.max_min_items)
        if keyword == "enum" and self._dialect.enum_types is not None:
            return all(_json_type(each) in self._dialect.enum_types for each in value)
        return True

    def _inside(self, keyword: str, value: Any, work: dict[str, Any], pointer: str, notes: list[str]) -> Any:
        """The value of a kept keyword, with the schemas in it converted; `MISSING` if it had to go after all."""
        if keyword == "$ref":
            return self._refer(value, pointer).get("$ref", MISSING)
        if keyword == "anyOf":
            return self._any_of(value, work, pointer)
        form = APPLICATORS.get(keyword)
        if form is None:
            return value
        before = len(self.losses)
        where = pointer_join(pointer, keyword)
        converted: Any
        if form == "one":
            converted = self._any(value, where)
        elif form == "list":
            converted = [self._any(each, pointer_join(where, at)) for at, each in enumerate(value)]
        else:
            converted = {name: self._any(each, pointer_join(where, name)) for name, each in value.items()}
        changed = any(each.effect != "annotation_only" for each in self.losses[before:])
        if changed and keyword in _NOT_MONOTONE:
            del self.losses[before:]
            self._leave_out(work, keyword, pointer, notes)
            return MISSING
        return converted

    def _any_of(self, branches: list[Any], work: dict[str, Any], pointer: str) -> Any:
        where = pointer_join(pointer, "anyOf")
        possible = [(at, each) for at, each in enumerate(branches) if each is not False]
        if self._dialect.all_required and mixed_nulls(self._document, work):
            self._lose(pointer, "anyOf", "narrowed", "A null could mean null in one alternative and absent in another.")
        return [self._any(each, pointer_join(where, at)) for at, each in possible] or [self._any(False, pointer)]  # noqa: FBT003  # the schema `false`

    def _avoid_type_list(self, result: dict[str, Any]) -> None:
        kinds = result.get("type")
        if not isinstance(kinds, list) or self._dialect.type_lists:
            return
        if len(kinds) == 1:
            result["type"] = kinds[0]
            return
        told = {key: result.pop(key) for key in list(result) if key in ANNOTATIONS}
        body = {key: result.pop(key) for key in list(result)}
        split = [_for_type(body, kind) for kind in kinds]
        # An enum has no value of some of the types; of none at all, where the schema contradicts itself.
        result["anyOf"] = [each for each in split if each.get("enum") != []] or [
            {"type": kinds[0], "enum": body["enum"]}
        ]
        result.update(told)


def _is_said_by_branches(work: dict[str, Any]) -> bool:
    """Whether every alternative says a type that the schema allows, so that it need not say it itself."""
    kinds = set(types_of(work))
    branches = work.get("anyOf", ())
    said = [set(types_of(each)) if isinstance(each, dict) else set() for each in branches]
    return bool(said) and all(each and each <= kinds for each in said)


def _json_type(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    if isinstance(value, int | float):
        return "integer" if float(value).is_integer() else "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


def _for_type(body: dict[str, Any], kind: str) -> dict[str, Any]:
    """The part of a schema that speaks of one type."""
    other = frozenset().union(*(words for name, words in _WORDS_OF_TYPE.items() if name != _group(kind)))
    narrowed = {key: value for key, value in body.items() if key not in other} | {"type": kind}
    if "enum" in narrowed:
        narrowed["enum"] = [each for each in narrowed["enum"] if _fits(_json_type(each), kind)]
    return narrowed


def _group(kind: str) -> str:
    return "number" if kind == "integer" else kind


def _fits(actual: str, kind: str) -> bool:
    return actual == kind or (actual == "integer" and kind == "number")
