"""What every step of a conversion shares: the document, the dialect, the losses so far, and notes for descriptions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Final

from toolcrib_core.providers.alternatives import hidden_properties
from toolcrib_core.providers.dialects import ASSERTIONS, VendorDialect
from toolcrib_core.providers.documents import SchemaDocument
from toolcrib_core.providers.losses import Effect, Loss
from toolcrib_core.providers.results import as_text

CHECKED: Final = "Calls are validated against the original schema before they run."
_TOLD = "It is said in the description, and calls are validated against the original schema before they run."
_LONGEST_NOTE = 240


class Reporting(ABC):
    """One conversion of one document; `losses` fills while it runs."""

    def __init__(self, document: SchemaDocument, dialect: VendorDialect) -> None:
        self.losses: list[Loss] = []
        self._document = document
        self._dialect = dialect

    @abstractmethod
    def _any(self, schema: Any, pointer: str) -> dict[str, Any]:
        """The conversion of any schema, booleans included."""

    def _lose(self, pointer: str, keyword: str, effect: Effect, why: str = CHECKED, *, demanded: bool = False) -> None:
        self.losses.append(Loss(pointer, keyword, effect, why, demanded))

    def _annotations(self, work: dict[str, Any], pointer: str, notes: list[str]) -> dict[str, Any]:
        kept = {}
        for keyword, value in work.items():
            if keyword in ASSERTIONS:
                continue
            wanted = self._dialect.keeps(keyword)
            if keyword == "format" and self._dialect.formats is not None:
                wanted = wanted and value in self._dialect.formats
            if wanted:
                kept[keyword] = value
            else:
                told = self._note(keyword, value, notes)
                self._lose(
                    pointer,
                    keyword,
                    "annotation_only",
                    "It is said in the description." if told else "It only informs.",
                )
        return kept

    def _leave_out(self, work: dict[str, Any], keyword: str, pointer: str, notes: list[str]) -> None:
        """Report a keyword that may refuse values and is not kept."""
        if keyword in {"then", "else"} and "if" not in work:
            return
        if keyword in {"minContains", "maxContains"} and "contains" not in work:
            return
        told = self._note(keyword, work[keyword], notes)
        self._lose(pointer, keyword, "widened", _TOLD if told else CHECKED)
        hidden = hidden_properties(self._document, work, keyword)
        if hidden and self._dialect.closed_objects and work.get("additionalProperties") is not False:
            self._lose(
                pointer, keyword, "narrowed", "A closed object refuses the properties that are only declared there."
            )

    def _note(self, keyword: str, value: Any, notes: list[str]) -> bool:
        if not self._dialect.tell or keyword in {"title", "$comment", "$ref", "$dynamicRef"}:
            return False
        text = f"{keyword}: {as_text(value) if not isinstance(value, str) else value}"
        if len(text) > _LONGEST_NOTE or '"$ref"' in text:
            return False
        notes.append(text)
        return True

    def _with_notes(self, result: dict[str, Any], notes: list[str]) -> dict[str, Any]:
        if not notes or not self._dialect.keeps("description"):
            return result
        said = result.get("description", "")
        return result | {"description": f"{said} ({'; '.join(notes)})".strip()}
