"""`PinBook`: says of every tool that a server lists whether it is the one that was trusted."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias
from weakref import WeakSet

import orjson

from toolcrib_core.wording import count, listed, quoted
from toolcrib_mcp.errors import ConfigError, ToolChanged
from toolcrib_mcp.pins.definitions import Definition
from toolcrib_mcp.pins.digests import definition_digest
from toolcrib_mcp.pins.judging import Judgement, judge
from toolcrib_mcp.pins.lock_file import PinLock, read_lock
from toolcrib_mcp.pins.rows import read_changes, read_pins, write_pins
from toolcrib_mcp.pins.withheld import WithheldTool
from toolcrib_store import Store, StoreError

if TYPE_CHECKING:
    from toolcrib_mcp.catalog import HydrationResult

PinRule: TypeAlias = Literal["off", "warn", "enforce"]
"""What pins do for one server: nothing, or serve and report a tool that changed, or withhold it."""

OnAccepted: TypeAlias = Callable[[str, str, str, str], object]
"""Is told the server, the tool, the digest of what is listed, and how it was accepted: `reordered` or `warned`."""

SOON: Final = 0.25
"""How many seconds after somebody asked for a tool that is withheld the pins are looked at again, at the earliest."""

_logger = logging.getLogger("toolcrib.mcp")


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A listing, told apart."""

    tools: tuple[Any, ...]
    """What may be served, as it was listed and in that order; and what is no tool at all, to be reported."""
    withheld: tuple[WithheldTool, ...] = ()


@dataclass(frozen=True, kw_only=True)
class _Standing:
    """What holds for one server at the moment."""

    trusted: Mapping[str, Definition] = field(default_factory=dict)
    withheld: Mapping[str, WithheldTool] = field(default_factory=dict)
    failed: bool = False
    checked: bool = True
    """Whether pins are checked at all for this server."""

    def trusts(self, name: str, digest: str) -> bool:
        """Whether a tool with this digest is served."""
        known = self.trusted.get(name)
        return not self.checked or (known is not None and known.digest == digest)


class PinBook:
    """The pins of one scope: of the servers that everybody has, or of those of one principal.

    `judge` asks the database and is made in threads; `check` asks nobody. With a `lock_file` only what that has is
    served, for the servers that everybody has. What cannot be checked is withheld.
    """

    def __init__(
        self,
        store: Store,
        *,
        lock_file: Path | None = None,
        scope: str = "",
        beneath: PinBook | None = None,
        default: PinRule = "enforce",
    ) -> None:
        """Pins in a database that has the tables of `PINS_LINE`; `default` is for servers without a rule of their own.

        Raises:
            ConfigError: The lock file cannot be used.
        """
        self.scope = scope
        self._store = store
        self._lock_file = lock_file
        self._lock: PinLock | None = None if lock_file is None else read_lock(lock_file)
        self._beneath = beneath
        self._default = default
        self._noted: dict[tuple[str, str], str] = {}
        self.on_accepted: OnAccepted | None = None
        """Called, in any thread, with what was served although it is not the pinned definition byte by byte."""
        self._above: WeakSet[PinBook] = WeakSet()
        self._standing: dict[str, _Standing] = {}
        self._judging: dict[str, threading.Lock] = {}
        self._rereaders: list[Callable[[str], object]] = []
        self._changes: Mapping[tuple[str, str], int] | None = None
        self._asked: tuple[asyncio.AbstractEventLoop, asyncio.Event] | None = None

    def scoped(self, principal: str) -> PinBook:
        """The book for the servers of one principal: nobody else's pins count for them.

        Its `check` asks this one about the servers that everybody has, and `refresh` of this one refreshes it, too.
        """
        book = PinBook(self._store, scope=principal, beneath=self, default=self._default)
        self._above.add(book)
        return book

    def judge(self, server: str, tools: Iterable[Any], *, rule: PinRule | None = None) -> Judged:
        """Tell apart what may be served of a server's listing; what is new is pinned before it is given.

        A tool that differs from its pin only in an order without meaning is served as it was pinned. `rule` is the
        server's own: `warn` serves tools that changed, `off` checks nothing. Never fails: without a database that can
        be read, nothing is served.
        """
        rule = rule or self._default
        if rule == "off":
            self._standing[server] = _Standing(checked=False)
            return Judged(tools=tuple(tools))
        every = [(tool, Definition.of(tool)) for tool in tools]
        # A server that came back may list twice at once: what was decided last is what holds.
        with self._judging.setdefault(server, threading.Lock()):
            listed = _by_name(each for _, each in every if each is not None)
            judgement, failed = self._judged(server, listed, only_warns=rule == "warn")
            withheld = tuple(replace(each, on_refused=self.look_soon) for each in judgement.withheld)
            self._standing[server] = _Standing(
                trusted=judgement.trusted, withheld={each.name: each for each in withheld}, failed=failed
            )
        return Judged(
            tools=tuple(
                tool if it is None else _as_pinned(tool, it, judgement)
                for tool, it in every
                if it is None or it.name in judgement.trusted
            ),
            withheld=withheld,
        )

    def check(self, tool: HydrationResult) -> None:
        """See to it that a tool, as it is about to be called, is what is trusted at this moment.

        Raises:
            ToolChanged: It is not, any more.
        """
        standing = self._standing.get(tool.upstream)
        if standing is None and self._beneath is not None:
            self._beneath.check(tool)
            return
        if standing is not None and standing.trusts(tool.upstream_name, tool.digest):
            return
        known = None if standing is None else standing.withheld.get(tool.upstream_name)
        if known is not None:
            raise known.refusal(tool.tool_id)
        raise ToolChanged(
            f"{quoted(tool.tool_id)} is no longer what it was.",
            hint="Look for it again with `tool_browse`: its server lists something else now.",
            details={"id": tool.tool_id, "upstream": tool.upstream, "reason": "gone"},
        )

    def admits(self, server: str, tool: Any) -> bool:
        """Whether a tool, as a server lists it just now, is what is trusted at this moment."""
        standing, found = self._standing.get(server), Definition.of(tool)
        if standing is None or found is None:
            return False
        known = standing.trusted.get(found.name)
        return not standing.checked or (known is not None and known.is_same_as(found))

    def attach(self, reread: Callable[[str], object]) -> Callable[[], None]:
        """Call this on the event loop with a server whose tools are to be judged again; call what is given to stop."""
        self._rereaders.append(reread)

        def detach() -> None:
            with suppress(ValueError):
                self._rereaders.remove(reread)

        return detach

    async def refresh(self) -> None:
        """Notice what was approved, reset or locked elsewhere: have the tools judged again that it is about.

        It asks one small question of the database; a failure of that is logged, and what holds goes on to hold.
        """
        try:
            changes = await asyncio.to_thread(self._read_changes)
        except StoreError as failure:
            _logger.warning("the pins were not looked at again: %s", failure.message)
            changes = None
        is_locked_anew = await asyncio.to_thread(self._read_lock_again)
        for book in (self, *self._above):
            book.notice(changes, everything=is_locked_anew and book is self)

    async def keep_fresh(self, seconds: float = 2.0) -> None:
        """Refresh every so often, and soon after somebody has asked for a tool that is withheld; until cancelled."""
        asked = asyncio.Event()
        self._asked = asyncio.get_running_loop(), asked
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await asked.wait()
                    # A client that asks again and again must not make us ask the database as often.
                    await asyncio.sleep(SOON)
            asked.clear()
            await self.refresh()

    def notice(self, changes: Mapping[tuple[str, str], int] | None, *, everything: bool = False) -> None:
        """Have the tools judged again of the servers that somebody has decided about since the last time.

        `changes` is how often somebody has, by scope and server, and `None` where nobody can tell.
        """
        before = self._changes
        for server, standing in list(self._standing.items()):
            if changes is None or before is None:
                # It cannot be compared: look where it would make a difference.
                changed = changes is not None and bool(standing.withheld)
            else:
                changed = changes.get((self.scope, server)) != before.get((self.scope, server))
            if changed or everything or standing.failed:
                for reread in list(self._rereaders):
                    reread(server)
        if changes is not None:
            self._changes = changes

    def look_soon(self) -> None:
        """Somebody wants a tool that is withheld: refresh soon, if somebody keeps this fresh; from any thread."""
        if self._beneath is not None:
            self._beneath.look_soon()
        elif self._asked is not None:
            loop, asked = self._asked
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(asked.set)

    def _judged(
        self, server: str, listed: Mapping[str, Sequence[Definition]], *, only_warns: bool
    ) -> tuple[Judgement, bool]:
        try:
            judgement = self._decided(server, listed, only_warns=only_warns)
        except StoreError as failure:
            _logger.warning("the tools of %s are withheld: %s", quoted(server), failure.message)
            withheld = [
                WithheldTool(
                    scope=self.scope,
                    server=server,
                    name=name,
                    reason="unreadable",
                    listed=definitions[0].tool_json,
                    why=failure.message,
                )
                for name, definitions in listed.items()
            ]
            return Judgement(withheld=withheld), True
        self._note(server, judgement)
        return judgement, False

    def _decided(self, server: str, listed: Mapping[str, Sequence[Definition]], *, only_warns: bool) -> Judgement:
        lock = None if self._lock is None else self._lock.of(server)
        with self._store.reading() as connection:
            known = read_pins(connection, self.scope, server)
        judgement = judge(known, listed, lock=lock, now=self._store.now(), only_warns=only_warns)
        if not judgement.written:
            return judgement
        with self._store.writing() as connection:
            # Another gateway may have pinned the same tools meanwhile: the first one's count.
            known = read_pins(connection, self.scope, server)
            judgement = judge(known, listed, lock=lock, now=self._store.now(), only_warns=only_warns)
            write_pins(connection, known, judgement.written)
        self._tell(server, judgement)
        return judgement

    def _tell(self, server: str, judgement: Judgement) -> None:
        if judgement.new:
            what = count(len(judgement.new), "new tool")
            _logger.warning("%s lists %s, pinned as it is: %s", quoted(server), what, _names(judgement.new))
        if judgement.withheld:
            names = [each.name for each in judgement.withheld]
            what = count(len(names), "tool")
            _logger.warning(
                "%s of %s withheld until somebody approves: %s; see `toolcrib pins diff`",
                what,
                quoted(server),
                _names(names),
            )

    def _note(self, server: str, judgement: Judgement) -> None:
        """Have the audit note what is served although it differs from its pin, each difference once."""
        accepted = [(each.name, each.digest, "reordered") for each in judgement.reordered.values()]
        accepted += [(each.name, definition_digest(orjson.loads(each.listed)), "warned") for each in judgement.warned]
        new = [each for each in accepted if self._noted.get((server, each[0])) != each[1]]
        if not new:
            return
        self._noted |= {(server, name): digest for name, digest, _ in new}
        reordered = [name for name, _, how in new if how == "reordered"]
        warned = [name for name, _, how in new if how == "warned"]
        if reordered:
            _logger.info("%s lists in another order, and means the same: %s", quoted(server), _names(reordered))
        if warned:
            _logger.warning(
                "tools of %s are not what was pinned, and are served because its `pins` is `warn`: %s; "
                "see `toolcrib pins diff`",
                quoted(server),
                _names(warned),
            )
        on_accepted = self.on_accepted if self._beneath is None else self._beneath.on_accepted
        if on_accepted is not None:
            for name, digest, how in new:
                on_accepted(server, name, digest, how)

    def _read_changes(self) -> dict[tuple[str, str], int]:
        with self._store.reading() as connection:
            return read_changes(connection)

    def _read_lock_again(self) -> bool:
        if self._lock_file is None:
            return False
        try:
            lock = read_lock(self._lock_file)
        except ConfigError as failure:
            # What was trusted goes on to be trusted, and nothing else is.
            _logger.warning("%s", failure.message)
            return False
        is_new = lock != self._lock
        self._lock = lock
        return is_new


def _by_name(definitions: Iterable[Definition]) -> dict[str, list[Definition]]:
    """By name: the different definitions, in an order that is not the server's."""
    found: dict[str, dict[str, Definition]] = {}
    for each in definitions:
        found.setdefault(each.name, {})[each.digest] = each
    return {name: [every[digest] for digest in sorted(every)] for name, every in found.items()}


def _as_pinned(tool: Any, listed: Definition, judgement: Judgement) -> Any:
    """The tool as it was pinned if it is listed in another order; what the server notes beside it stays as it is."""
    if listed.name not in judgement.reordered:
        return tool
    beside = {"_meta": tool["_meta"]} if "_meta" in tool else {}
    return {key: value for key, value in judgement.trusted[listed.name].tool.items() if key != "_meta"} | beside


def _names(names: Iterable[str]) -> str:
    return listed(sorted(names))
