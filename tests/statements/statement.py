"""One testable statement of a source document."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Statement:
    """What a document demands, where, and whether the product follows it."""

    id: str
    """The document, and the place within it: `D4-1.3a` stands in §1.3 of document 004."""
    section: str
    text: str
    deviation: str | None = None
    """Why the product does otherwise on purpose, with the requirement that decides it."""
    pending: str | None = None
    """Why it is not built yet."""

    @property
    def source(self) -> str:
        """The document, as requirements name their specification."""
        return f"document 00{self.id[1]}"
