"""What comes back in place of a result that is too large: what it is, in short, and where every part of it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from toolcrib_mcp.gateway.sizing import blocks_of, text_of

META_ENVELOPE: Final = "io.toolcrib/envelope"
"""Where in the `_meta` of a result the envelope stands as JSON, for programs: a model reads the text."""


class _Wire(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)


class KeptPart(_Wire):
    """One part of a result that was kept."""

    handle: str
    label: str
    """What it was in the result."""
    kind: str
    media_type: str
    size: int
    """In bytes."""
    facts: dict[str, Any]
    """What is known of it: shape, counts, keys."""
    selectors: str
    """How to look into it: a call of `tool_view` that works, and what else does."""


class ResultEnvelope(_Wire):
    """A large result: its parts by handle, and a summary."""

    status: Literal["ok", "error"]
    tool_id: str
    summary: str
    """The text that is sent in place of the result."""
    artifacts: tuple[KeptPart, ...] = ()
    """The parts that the summary names."""
    parts: int
    """How many there are."""
    index: str | None = None
    """The handle of a list of all parts, where there are more than are named."""
    total_bytes: int
    problem: str | None = None
    """Why the parts could not be kept, if they could not: then the summary is all there is."""
    retryable: bool | None = None
    """Whether calling again may help, where the parts could not be kept."""

    def to_json(self) -> dict[str, Any]:
        """The envelope as JSON."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


@dataclass(frozen=True, kw_only=True)
class ExecuteResult:
    """What a call gave."""

    tool_id: str
    result: dict[str, Any]
    """What is sent: the result as its server gave it, or what stands in its place."""
    envelope: ResultEnvelope | None = None
    """Tells of a result that was too large to be sent; `None` if it comes as it is."""

    @property
    def is_error(self) -> bool:
        """Whether the tool says that it failed."""
        return self.result.get("isError") is True

    @property
    def text(self) -> str:
        """The text of all blocks."""
        return "\n".join(text for each in blocks_of(self.result) if (text := text_of(each)) is not None)
