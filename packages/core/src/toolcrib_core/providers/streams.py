"""Calls that arrive in pieces: `StreamedCalls` puts the pieces of many calls together."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field

from toolcrib_core.json_values import JsonValue
from toolcrib_core.providers.names import ToolNames
from toolcrib_core.providers.parsed import ParsedCalls
from toolcrib_core.providers.reading import Restore, read_call
from toolcrib_core.schema.limits import INSTANCE_LIMITS


@dataclass(slots=True)
class StreamedCall:
    """What has arrived of one call."""

    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    size: int = 0
    complete: bool = False
    echo: dict[str, JsonValue] = field(default_factory=dict)

    @property
    def arguments(self) -> str:
        """The JSON text so far; one that grew over the limit is kept as long as it takes to be refused as too long."""
        return "".join(self.pieces)


class StreamedCalls:
    """Collects the deltas of a stream by the key that the vendor gives each call, such as an index.

    Calls keep the order in which they began. Feed it from one place at a time.
    """

    __slots__ = ("_by_key",)

    def __init__(self) -> None:
        self._by_key: dict[Hashable, StreamedCall] = {}

    def begin(
        self, key: Hashable, *, call_id: str = "", name: str = "", echo: Mapping[str, JsonValue] | None = None
    ) -> None:
        """Say what is known of a call; what is said again later is added to what was known."""
        call = self._by_key.setdefault(key, StreamedCall())
        call.id = call_id or call.id
        call.name = name or call.name
        call.echo.update(echo or {})

    def add(self, key: Hashable, text: str) -> None:
        """Add a piece of the arguments of a call."""
        call = self._by_key.setdefault(key, StreamedCall())
        # One piece over the limit is kept, so that reading refuses the text; the rest would only fill memory.
        if call.size <= INSTANCE_LIMITS.max_bytes:
            call.pieces.append(text)
            call.size += len(text)

    def finish(self, key: Hashable, *, arguments: str | None = None) -> None:
        """Say that a call is complete; `arguments` replaces the pieces where the vendor repeats them as a whole."""
        call = self._by_key.setdefault(key, StreamedCall())
        call.complete = True
        if arguments is not None:
            call.pieces, call.size = [arguments], len(arguments)

    def finish_all(self) -> None:
        """Say that every call is complete, for a vendor that says so once for the whole message."""
        for call in self._by_key.values():
            call.complete = True

    def cut_off(self, key: Hashable) -> None:
        """Say that a call is not complete after all, for a vendor that ends a call before it says that it was cut."""
        self._by_key.setdefault(key, StreamedCall()).complete = False

    def parsed(self, names: ToolNames, *, may_be_absent: bool = False, restore: Restore | None = None) -> ParsedCalls:
        """The calls so far, read as those of a whole response are; one that is not complete is broken."""
        return ParsedCalls(
            tuple(
                read_call(
                    names,
                    call_id=each.id,
                    name=each.name,
                    arguments=each.arguments,
                    complete=each.complete,
                    may_be_absent=may_be_absent,
                    restore=restore,
                    echo=each.echo,
                )
                for each in self
            )
        )

    def __contains__(self, key: object) -> bool:
        return key in self._by_key

    def __iter__(self) -> Iterator[StreamedCall]:
        return iter(self._by_key.values())

    def __len__(self) -> int:
        return len(self._by_key)
