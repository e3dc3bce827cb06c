"""Reading a server's lists to their end: every page, within caps, and never a part that passes for the whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from toolcrib_core.wording import count, kind_of
from toolcrib_mcp.errors import ListingIncomplete, ResultTooLarge, UpstreamError, UpstreamFailed, UpstreamMalformed
from toolcrib_mcp.rpc.codec import encode_message
from toolcrib_mcp.rpc.messages import METHOD_NOT_FOUND
from toolcrib_mcp.upstreams.session import Session
from toolcrib_runtime.clock import SYSTEM_CLOCK, Clock
from toolcrib_runtime.policy.bounds import check_whole


class ListKind(StrEnum):
    """The lists that a server may have; the value is the member of an answer that holds the entries."""

    TOOLS = "tools"
    RESOURCES = "resources"
    TEMPLATES = "resourceTemplates"
    PROMPTS = "prompts"

    @property
    def method(self) -> str:
        """The request that reads a page of it."""
        return "resources/templates/list" if self is ListKind.TEMPLATES else f"{self.value}/list"

    @property
    def capability(self) -> str:
        """What a server announces that has such a list."""
        return "resources" if self is ListKind.TEMPLATES else self.value


@dataclass(frozen=True, kw_only=True)
class ListingCaps:
    """How much of one list is read.

    Raises:
        ValueError: A cap is not a positive whole number; the message names it.
    """

    max_pages: int = 1_000
    max_items: int = 20_000
    max_bytes: int = 64 * 1024 * 1024

    def __post_init__(self) -> None:
        for name in ("max_pages", "max_items", "max_bytes"):
            check_whole(name, getattr(self, name), least=1)


@dataclass(frozen=True, kw_only=True)
class Listing:
    """A list as the server gave it: every entry raw and in order, whatever it is."""

    kind: ListKind
    items: tuple[Any, ...]
    pages: int


DEFAULT_CAPS: Final = ListingCaps()


async def list_all(
    session: Session,
    kind: ListKind,
    *,
    deadline: float,
    caps: ListingCaps = DEFAULT_CAPS,
    clock: Clock = SYSTEM_CLOCK,
) -> Listing:
    """Read all pages. A server that neither announces the list nor knows the method has an empty one.

    Raises:
        UpstreamError: The first page could not be had; the type says why.
        ListingIncomplete: A later page could not, or the list has no end within the caps; `partial` has what was read.
    """
    reading = _Reading(kind, caps)
    while True:
        params = None if reading.cursor is None else {"cursor": reading.cursor}
        try:
            page = await session.request(kind.method, params, timeout=max(0.0, deadline - clock.monotonic()))
            reading.add(page)
        except UpstreamError as failure:
            if _has_none(failure, session, kind):
                return reading.listing()
            if not reading.pages or isinstance(failure, ListingIncomplete):
                raise
            raise reading.incomplete("a page could not be had", failure) from failure
        if reading.cursor is None:
            return reading.listing()


@dataclass
class _Reading:
    """What has been read of one list so far."""

    kind: ListKind
    caps: ListingCaps
    pages: list[list[Any]] = field(default_factory=list)
    cursor: str | None = None
    _items: int = 0
    _bytes: int = 0
    _seen: set[str] = field(default_factory=set)

    def add(self, page: Mapping[str, Any]) -> None:
        entries, following = page.get(self.kind.value), page.get("nextCursor")
        if not isinstance(entries, list):
            raise self._malformed(f"its `{self.kind.value}` is {kind_of(entries)}, not a list")
        self.pages.append(entries)
        if following is not None and not isinstance(following, str):
            raise self._malformed(f"its `nextCursor` is {kind_of(following)}, not a string")
        self._check_size(entries)
        self._turn(following or None)

    def listing(self) -> Listing:
        items = tuple(entry for page in self.pages for entry in page)
        return Listing(kind=self.kind, items=items, pages=len(self.pages))

    def incomplete(self, why: str, failure: UpstreamError | None = None) -> ListingIncomplete:
        read = self.listing()
        return ListingIncomplete(
            f"The list of {self.kind.value} was not read to its end: {why}.",
            partial=read,
            failure=failure,
            hint="This is a fault of the server." if failure is None else failure.hint,
            details={"list": self.kind.value, "pages": read.pages, "items": len(read.items)},
        )

    def _turn(self, following: str | None) -> None:
        """Go on to the next page, if there is one and it is not one that was read before."""
        if following is not None and following in self._seen:
            if self.pages[-1] == self.pages[-2]:
                self.pages.pop()  # a server that pays no heed to the cursor gave the same page twice
            raise self.incomplete("its pages lead back to one that was read before")
        if following is not None and len(self.pages) == self.caps.max_pages:
            raise self.incomplete(f"it has more than {count(self.caps.max_pages, 'page')}")
        self.cursor = following
        self._seen.update({following} if following is not None else ())

    def _check_size(self, entries: list[Any]) -> None:
        self._items += len(entries)
        self._bytes += len(encode_message({self.kind.value: entries}))
        if self._items <= self.caps.max_items and self._bytes <= self.caps.max_bytes:
            return
        over = count(self.caps.max_items, "entry", "entries")
        if self._bytes > self.caps.max_bytes:
            over = count(self.caps.max_bytes, "byte")
        self.pages.pop()
        if self.pages:
            raise self.incomplete(f"it has more than {over}")
        raise ResultTooLarge(
            f"The first page of the list of {self.kind.value} has more than {over}.",
            hint="Raise the cap on what is read of a list, or let the server offer less.",
        )

    def _malformed(self, why: str) -> UpstreamMalformed:
        return UpstreamMalformed(
            f"The answer of the server to `{self.kind.method}` cannot be used: {why}.",
            hint="This is a fault of the server.",
        )


def _has_none(failure: UpstreamError, session: Session, kind: ListKind) -> bool:
    unknown = isinstance(failure, UpstreamFailed) and failure.rpc_code == METHOD_NOT_FOUND
    return unknown and kind.capability not in session.agreement.capabilities
