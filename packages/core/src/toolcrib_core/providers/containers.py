"""Objects and arrays in a vendor's dialect: closed or open, with every property required or not, with items."""

from __future__ import annotations

from typing import Any

from toolcrib_core.json_values import pointer_join
from toolcrib_core.providers.merging import unique
from toolcrib_core.providers.nulls import accepts_null, as_nullable
from toolcrib_core.providers.reporting import Reporting


class Containers(Reporting):
    """The part of a conversion that is about what objects and arrays hold."""

    def _properties(
        self, work: dict[str, Any], pointer: str, notes: list[str], result: dict[str, Any], *, is_root: bool
    ) -> None:
        declared: dict[str, Any] = dict(work.get("properties", {}))
        required = [each for each in work.get("required", ()) if isinstance(each, str)]
        if self._dialect.closed_objects:
            self._close(work, pointer, declared, is_root=is_root)
            result["additionalProperties"] = False
            for name in [name for name, schema in declared.items() if schema is False]:
                del declared[name]
                if name in required:
                    required.remove(name)
                    self._lose(pointer, "properties", "widened")
        else:
            self._extras(work, pointer, notes, result)
        where = pointer_join(pointer, "properties")
        converted = {name: self._any(each, pointer_join(where, name)) for name, each in declared.items()}
        if unknown := [each for each in required if each not in declared]:
            if self._dialect.closed_objects:
                self._lose(pointer, "required", "narrowed", f"{self._dialect.name} wants every property described.")
                self._lose(pointer, "required", "widened")
            required = [each for each in required if each not in unknown or not self._dialect.closed_objects]
        if self._dialect.all_required:
            required = self._require_all(declared, required, converted, pointer)
        if "properties" in work or self._dialect.closed_objects:
            result["properties"] = converted
        if required or self._dialect.all_required:
            result["required"] = required

    def _require_all(
        self, declared: dict[str, Any], required: list[str], converted: dict[str, Any], pointer: str
    ) -> list[str]:
        optional = [name for name in declared if name not in required]
        if optional:
            self._lose(
                pointer,
                "required",
                "annotation_only",
                "A property that may be left out is sent as null, and taken out again when the call is read.",
            )
        answers = {name: accepts_null(self._document, declared[name]) for name in optional}
        if self._document.presence_matters and True in answers.values():
            why = "Null cannot stand for absent where the schema takes null and asks whether the property is there."
            self._lose(pointer, "required", "narrowed", why)
        for name in optional:
            if not answers[name]:
                converted[name] = as_nullable(converted[name], type_lists=self._dialect.type_lists)
        return list(declared)

    def _close(self, work: dict[str, Any], pointer: str, declared: dict[str, Any], *, is_root: bool) -> None:
        extras = work.get("additionalProperties", work.get("unevaluatedProperties"))
        if "patternProperties" in work:
            self._lose(pointer, "patternProperties", "narrowed", f"{self._dialect.name} wants every property named.")
        if extras is False:
            return
        if extras is None:
            meant = not declared and not is_root and work.get("maxProperties") != 0
            why = (
                f"An object of any properties cannot be said in {self._dialect.name}."
                if meant
                else "Properties that the schema does not name are refused."
            )
            self._lose(pointer, "additionalProperties", "narrowed", why, demanded=not meant)
            return
        self._lose(
            pointer,
            "additionalProperties",
            "narrowed",
            f"{self._dialect.name} wants every property named.",
            demanded=False,
        )

    def _extras(self, work: dict[str, Any], pointer: str, notes: list[str], result: dict[str, Any]) -> None:
        where = pointer_join(pointer, "patternProperties")
        patterns = work.get("patternProperties")
        opened = False
        if patterns is not None:
            if self._dialect.keeps("patternProperties"):
                result["patternProperties"] = {
                    name: self._any(each, pointer_join(where, name)) for name, each in patterns.items()
                }
            else:
                opened = True
                self._leave_out(work, "patternProperties", pointer, notes)
        extras = work.get("additionalProperties")
        if extras is None or extras is True:
            return
        if opened or not self._dialect.keeps("additionalProperties"):
            self._leave_out(work, "additionalProperties", pointer, notes)
            return
        place = pointer_join(pointer, "additionalProperties")
        result["additionalProperties"] = False if extras is False else self._any(extras, place)

    def _items(self, work: dict[str, Any], pointer: str, notes: list[str], result: dict[str, Any]) -> None:
        where = pointer_join(pointer, "items")
        items = work.get("items")
        prefix = work.get("prefixItems")
        if prefix is not None and self._dialect.keeps("prefixItems"):
            place = pointer_join(pointer, "prefixItems")
            result["prefixItems"] = [self._any(each, pointer_join(place, at)) for at, each in enumerate(prefix)]
        elif prefix is not None:
            items = self._united(work, prefix, pointer, notes)
        if items is False:
            if self._dialect.keeps("maxItems"):
                most = len(result.get("prefixItems", ()))
                result["maxItems"] = min(most, work.get("maxItems", most))
                if "prefixItems" in result:
                    return
            elif "prefixItems" in result and self._dialect.keeps("items"):
                self._lose(pointer, "items", "widened")
                return
            else:
                self._lose(pointer, "items", "widened")
            items = {"type": "string"} if self._dialect.typed or self._dialect.array_items else None
        elif items is None and "prefixItems" not in result and (self._dialect.typed or self._dialect.array_items):
            items = True
        if items is None:
            return
        if self._dialect.keeps("items"):
            result["items"] = self._any(items, where)
        elif "items" in work:
            self._leave_out(work, "items", pointer, notes)

    def _united(self, work: dict[str, Any], prefix: list[Any], pointer: str, notes: list[str]) -> Any:
        """One schema for every item of a list that had one for each place."""
        self._leave_out(work, "prefixItems", pointer, notes)
        rest = work.get("items", True)
        if rest is False and self._dialect.keeps("maxItems"):
            work["maxItems"] = min(len(prefix), work.get("maxItems", len(prefix)))
        choices = [each for each in [*prefix, rest] if each is not False]
        different = unique(choices)
        if not different or any(each is True or each == {} for each in different):
            return True
        return different[0] if len(different) == 1 else {"anyOf": different}
