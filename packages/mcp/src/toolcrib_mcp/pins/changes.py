"""What changed between two definitions of a tool, field by field: in full for people, in closed words for models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import orjson

from toolcrib_core import SchemaError, check_schema
from toolcrib_core.schema.canonical import digest
from toolcrib_core.schema.compare_changes import schema_changes
from toolcrib_core.wording import shown

Kind: TypeAlias = Literal["added", "removed", "changed"]

FIELDS: Final = ("name", "title", "description", "inputSchema", "outputSchema", "annotations", "icons", "execution")
"""The fields of a tool that the protocol knows; others come after them."""

_HINTS: Final = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
_BESIDE: Final = "_meta"
_MAX_WORDS: Final = 20


@dataclass(frozen=True, kw_only=True)
class FieldChange:
    """One field that is not what it was."""

    field: str
    kind: Kind
    before: str
    """As text: JSON for all that is no text itself; empty where there was nothing."""
    after: str
    notes: tuple[str, ...] = ()
    """For schemas what the change means, in sentences; for annotations each hint."""
    words: tuple[str, ...] = ()
    """The same in a closed vocabulary, none of it the server's."""

    @property
    def is_known(self) -> bool:
        """Whether the protocol has this field; else its name is the server's own."""
        return self.field in FIELDS

    def told(self) -> dict[str, Any]:
        """The change for a model: where it is, its kind and what was trusted; nothing of what the server says now."""
        told: dict[str, Any] = {"field": self.field if self.is_known else "another field", "change": self.kind}
        if self.before and self.field in {"name", "title", "description"}:
            told["before"] = shown(self.before)
        if self.words:
            told["changes"] = list(self.words)
        return told


def changes_between(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[FieldChange, ...]:
    """Every field that differs; what makes no other digest is no change."""
    return tuple(_changes(before, after, changed_fields(before, after)))


def changed_fields(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[str, ...]:
    """The fields that differ, those of the protocol first: as `changes_between`, for less."""
    names = sorted((before.keys() | after.keys()) - {_BESIDE}, key=lambda each: (_rank(each), each))
    return tuple(name for name in names if _differs(before, after, name))


def _differs(before: Mapping[str, Any], after: Mapping[str, Any], name: str) -> bool:
    return name not in before or name not in after or digest(before[name]) != digest(after[name])


def _changes(before: Mapping[str, Any], after: Mapping[str, Any], names: Iterable[str]) -> Iterator[FieldChange]:
    for name in names:
        kind: Kind = "changed" if name in before and name in after else "added" if name in after else "removed"
        old, new = before.get(name), after.get(name)
        notes, words = _explained(name, old, new)
        yield FieldChange(
            field=name,
            kind=kind,
            before=_text(old) if name in before else "",
            after=_text(new) if name in after else "",
            notes=notes,
            words=words,
        )


def _explained(name: str, old: object, new: object) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if not isinstance(old, dict) or not isinstance(new, dict):
        return (), ()
    if name == "annotations":
        hints = [
            f"{each}: {_hint(old.get(each))} → {_hint(new.get(each))}"
            for each in _HINTS
            if _hint(old.get(each)) != _hint(new.get(each))
        ]
        return tuple(hints), tuple(hints)
    if name not in {"inputSchema", "outputSchema"}:
        return (), ()
    try:
        for each in (old, new):
            check_schema(each)
    except SchemaError:
        return (), ()  # one of them cannot be compared; both are shown anyway
    found = schema_changes(old, new, where="input" if name == "inputSchema" else "output")
    notes = [f"{each.effect}: {each.message}" for each in found]
    words = sorted({f"{each.kind} ({each.effect})" for each in found})
    return tuple(notes[:_MAX_WORDS]), tuple(words[:_MAX_WORDS])


def _hint(value: object) -> str:
    return "not said" if value is None else ("false", "true")[value] if isinstance(value, bool) else "no boolean"


def _rank(name: str) -> int:
    return FIELDS.index(name) if name in FIELDS else len(FIELDS)


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2).decode()
