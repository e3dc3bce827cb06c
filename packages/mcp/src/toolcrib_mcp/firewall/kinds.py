"""The kinds of content that a result can be."""

from __future__ import annotations

from enum import StrEnum


class ContentKind(StrEnum):
    """What a piece of content is, as far as reading it in parts is concerned."""

    JSON = "json"
    """One JSON value that is not a list of objects."""
    RECORDS = "records"
    """A JSON list of objects."""
    TABLE = "table"
    """Rows and columns as CSV or TSV."""
    LOG = "log"
    """Lines that each begin with a time or a level, JSON lines, tracebacks, and commit histories."""
    PROSE = "prose"
    CODE = "code"
    MARKUP = "markup"
    """HTML, XML or Markdown."""
    BINARY = "binary"
    IMAGE = "image"
    AUDIO = "audio"

    @property
    def is_json(self) -> bool:
        """Whether the whole content is one JSON value."""
        return self in {ContentKind.JSON, ContentKind.RECORDS}

    @property
    def is_text(self) -> bool:
        """Whether the content is read as text, by lines and characters."""
        return self not in {ContentKind.BINARY, ContentKind.IMAGE, ContentKind.AUDIO}
