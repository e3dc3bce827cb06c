"""Calls as they were read from a vendor's response: those that can run, and those that cannot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from toolcrib_core.calls import ToolCall
from toolcrib_core.errors import CatalogError
from toolcrib_core.excerpts import error_text
from toolcrib_core.json_values import JsonObject, JsonValue
from toolcrib_core.wording import listed

if TYPE_CHECKING:
    from toolcrib_core.errors import ToolError
    from toolcrib_core.providers.results import ResultLike


class BrokenCall(NamedTuple):
    """A call that cannot run: its JSON is broken, its stream ended too early, no tool has its name.

    It is its own result: hand it to the results formatter like any other, and the model reads what went wrong.
    """

    call_id: str
    tool_id: str
    """The id of the tool, or the name that the model wrote where no tool has it."""
    error: ToolError

    @property
    def value(self) -> JsonValue:
        """Nothing: there is only an error."""
        return None

    @property
    def content(self) -> tuple[JsonObject, ...]:
        """What to show to the model, as an MCP content block."""
        return ({"type": "text", "text": error_text(self.error)},)

    def __repr__(self) -> str:
        return f"BrokenCall(call_id={self.call_id!r}, tool_id={self.tool_id!r}, error={self.error.code!r})"


class ParsedCall(NamedTuple):
    """One call of a response, with what the vendor wants back beside its result."""

    outcome: ToolCall | BrokenCall
    id: str
    """The vendor's id of the call; made up by the adapter where the vendor gives none."""
    wire_name: str
    """The name as the model wrote it."""
    echo: Mapping[str, JsonValue]
    """What the vendor wants to see again in the result, by the keys of its own format."""

    def __repr__(self) -> str:
        return f"ParsedCall({self.outcome!r})"


@dataclass(frozen=True, slots=True)
class ParsedCalls:
    """The calls of one response, in the order of the response."""

    entries: tuple[ParsedCall, ...] = ()

    @property
    def calls(self) -> list[ToolCall]:
        """Those that can run: what `Toolbox.execute` takes."""
        return [each.outcome for each in self.entries if isinstance(each.outcome, ToolCall)]

    @property
    def broken(self) -> list[BrokenCall]:
        """Those that cannot run; each is a result that can be sent back."""
        return [each.outcome for each in self.entries if isinstance(each.outcome, BrokenCall)]

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[ParsedCall]:
        return iter(self.entries)

    def answered(self, results: Iterable[ResultLike]) -> list[tuple[ParsedCall, ResultLike]]:
        """Every call with its result, in the order of the response; a broken call is its own result.

        Raises:
            CatalogError: A call has no result, a result belongs to no call, or one call has two: every vendor refuses
                a conversation in which calls and results do not match.
        """
        by_id: dict[str, ResultLike] = {}
        twice: list[str] = []
        for result in results:
            if result.call_id in by_id:
                twice.append(result.call_id)
            by_id[result.call_id] = result
        own = {each.call_id: each for each in self.broken}
        wanted = [each.id for each in self.entries]
        missing = [each for each in wanted if each not in by_id and each not in own]
        foreign = sorted(by_id.keys() - set(wanted))
        if missing or foreign or twice:
            raise CatalogError(
                "Calls and results do not match: "
                + "; ".join(
                    f"{what} {listed(ids)}"
                    for what, ids in (
                        ("no result for", missing),
                        ("no call has the id", foreign),
                        ("more than one result for", twice),
                    )
                    if ids
                )
                + ".",
                hint="Give exactly one result for each call of the response.",
            )
        return [(each, by_id[each.id] if each.id in by_id else own[each.id]) for each in self.entries]
