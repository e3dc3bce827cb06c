"""References and `allOf` in a vendor's dialect: kept, merged into the schema where they stand, or ended."""

from __future__ import annotations

from typing import Any

from toolcrib_core.providers.containers import Containers
from toolcrib_core.providers.dialects import ASSERTIONS, IDENTIFIERS, VendorDialect
from toolcrib_core.providers.documents import SchemaDocument
from toolcrib_core.providers.merging import merged, types_of
from toolcrib_core.schema.pointers import split_pointer

_ENDED = "What is deeper is not described: the reference leads back to where it stands."


class References(Containers):
    """The part of a conversion that follows references and puts schemas together."""

    def __init__(self, document: SchemaDocument, dialect: VendorDialect) -> None:
        super().__init__(document, dialect)
        self._definitions: dict[str, Any] = {}
        self._names: dict[str, str] = {}
        self._open: list[str] = []
        self._written = 0

    def _stands_alone(self, work: dict[str, Any]) -> bool:
        return self._dialect.keeps("$ref") and not (ASSERTIONS & work.keys() - {"$ref"})

    def _reference(self, work: dict[str, Any], pointer: str) -> dict[str, Any]:
        target = work["$ref"]
        notes: list[str] = []
        told = self._annotations({key: value for key, value in work.items() if key != "$ref"}, pointer, notes)
        told = self._with_notes(told, notes)
        referred = self._refer(target, pointer)
        if "$ref" in referred and not told:
            return referred
        if "$ref" in referred and self._dialect.keeps("anyOf"):
            return {"anyOf": [referred], **told}
        if "$ref" in referred:
            for keyword in told:
                self._lose(pointer, keyword, "annotation_only", "The place that is referred to has its own.")
            return referred
        return referred | told

    def _refer(self, reference: str, pointer: str) -> dict[str, Any]:
        """A `$ref` to the converted definition; where the vendor knows no recursion, the type alone ends it."""
        if reference in self._open and not self._dialect.recursion:
            target = self._document.at(reference)
            kinds = types_of(target) if isinstance(target, dict) else []
            self._lose(pointer, "$ref", "widened", _ENDED)
            return self._any({"type": kinds[0]} if len(kinds) == 1 else {}, pointer)
        if reference == "#" and self._dialect.root_combinators:
            return {"$ref": "#"}
        name = self._names.get(reference)
        if name is None:
            name = self._names[reference] = self._free_name(reference)
            self._definitions[name] = {}
            self._open.append(reference)
            self._definitions[name] = self._any(self._document.at(reference), reference[1:])
            self._open.pop()
        return {"$ref": f"#/$defs/{name}"}

    def _free_name(self, reference: str) -> str:
        keys = split_pointer(reference[1:]) or ["root"]
        stem = "".join(each if each.isascii() and (each.isalnum() or each in "_-") else "_" for each in keys[-1])
        name, number = stem or "schema", 2
        while name in self._definitions:
            name, number = f"{stem}_{number}", number + 1
        return name

    def _merge_reference(self, work: dict[str, Any], pointer: str, notes: list[str]) -> dict[str, Any]:
        """The schema with what its `$ref` leads to merged in; what cannot be merged is left out."""
        reference = work.pop("$ref")
        joined = self._inlined(reference, work, pointer)
        if joined is None:
            self._leave_out(work | {"$ref": reference}, "$ref", pointer, notes)
            return work
        return joined

    def _inlined(self, reference: str, work: dict[str, Any], pointer: str) -> dict[str, Any] | None:
        target = self._document.at(reference)
        if reference in self._open or not isinstance(target, dict):
            if target is True:
                return work
            if reference not in self._open:
                return None
            kinds = types_of(target)
            self._lose(pointer, "$ref", "widened", _ENDED)
            return merged(work, {"type": kinds[0]} if len(kinds) == 1 else {})
        # It stays open until the schema that it is merged into is converted; see `_object_at`.
        self._open.append(reference)
        plain = {key: value for key, value in target.items() if key not in IDENTIFIERS}
        if "$ref" not in plain:
            return merged(work, plain)
        deeper = self._inlined(plain.pop("$ref"), plain, pointer)
        return None if deeper is None else merged(work, deeper)

    def _merge_all(self, work: dict[str, Any], pointer: str, notes: list[str]) -> None:
        """Put the members of `allOf` into the schema itself, where the vendor has no `allOf` or closes every object."""
        if "allOf" not in work or (self._dialect.keeps("allOf") and not self._dialect.closed_objects):
            return
        left: list[Any] = []
        waiting = list(work.pop("allOf"))
        while waiting:
            member = waiting.pop(0)
            joined = self._joined(work, member, pointer)
            if joined is None:
                left.append(member)
            else:
                waiting = [*joined.pop("allOf", ()), *waiting]
                work.clear()
                work.update(joined)
        if left:
            self._leave_out(work | {"allOf": left}, "allOf", pointer, notes)

    def _joined(self, work: dict[str, Any], member: Any, pointer: str) -> dict[str, Any] | None:
        if not isinstance(member, dict):
            return dict(work) if member is True else None
        plain = {key: value for key, value in member.items() if key not in IDENTIFIERS}
        if "$ref" not in plain:
            return merged(work, plain)
        reference = plain.pop("$ref")
        beside = merged(work, plain)
        return None if beside is None else self._inlined(reference, beside, pointer)
