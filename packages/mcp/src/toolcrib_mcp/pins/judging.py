"""Which of the tools that a server lists are trusted: decided from what is known, without any database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from toolcrib_mcp.pins.definitions import Definition, How, Pin
from toolcrib_mcp.pins.replacing import pair_replaced
from toolcrib_mcp.pins.rows import ServerPins
from toolcrib_mcp.pins.withheld import Reason, WithheldTool


@dataclass(kw_only=True)
class Judgement:
    """What is decided about one listing."""

    trusted: dict[str, Definition] = field(default_factory=dict)
    """By the server's names: the definitions that are served. For a tool that is listed in another order than it was
    pinned in, the pinned one, so that clients see the same bytes after every start."""
    reordered: dict[str, Definition] = field(default_factory=dict)
    """By the server's names: tools that differ from their pins only in an order without meaning, as they are listed."""
    warned: list[WithheldTool] = field(default_factory=list)
    """Tools that would be withheld if the server's pins were enforced, and are served."""
    withheld: list[WithheldTool] = field(default_factory=list)
    written: list[Pin] = field(default_factory=list)
    """What has to be written down before anything of this counts."""
    new: list[str] = field(default_factory=list)
    """Tools that came to a server which was known before, and are trusted from now on."""


def judge(
    known: ServerPins,
    listed: Mapping[str, Sequence[Definition]],
    *,
    lock: Mapping[str, str] | None,
    now: float,
    only_warns: bool = False,
) -> Judgement:
    """Decide about all tools of a server, by its names for them; each has the different definitions that it lists.

    Without a `lock` a tool that is not known is trusted from now on, unless it is one that was pinned under another
    name, or may be one: for every pinned tool that has gone, one new tool waits to be approved. With a `lock`, which
    has a digest for each name, only that decides. With `only_warns` a tool that is not what was trusted is served
    nevertheless, unless the server lists several of its name.
    """
    gone = _gone(known, listed)
    judging = _Judging(
        known,
        gone={pin.pinned.body: pin for pin in gone if pin.pinned is not None},
        replaced=pair_replaced(known, listed, gone) if gone and lock is None else {},
        now=now,
        lost=_lost(known, listed),
        only_warns=only_warns,
    )
    for name, definitions in listed.items():
        if len(definitions) > 1:
            judging.withhold(definitions[0], "ambiguous")
        elif known.place_of(name) in known.damaged:
            judging.withhold(definitions[0], "damaged")
        elif lock is not None:
            judging.by_lock(definitions[0], lock.get(name))
        else:
            judging.by_pin(definitions[0])
    return judging.result


def _gone(known: ServerPins, listed: Mapping[str, Sequence[Definition]]) -> list[Pin]:
    """Tools that are pinned, and listed no more."""
    if listed.keys() <= known.pins.keys():
        return []  # there is none that could be one of them
    gone = (known.pins[name] for name in sorted(known.pins.keys() - listed.keys(), reverse=True))
    return [pin for pin in gone if pin.pinned is not None]


def _lost(known: ServerPins, listed: Mapping[str, Sequence[Definition]]) -> bool:
    """Whether a damaged row may be that of any tool that is listed."""
    return bool(known.damaged) and not known.damaged <= {known.place_of(name) for name in listed}


class _Judging:
    def __init__(
        self,
        known: ServerPins,
        *,
        gone: Mapping[str, Pin],
        replaced: Mapping[str, Pin],
        now: float,
        lost: bool,
        only_warns: bool,
    ) -> None:
        self.result = Judgement()
        self._known = known
        self._gone = gone
        self._replaced = replaced
        self._now = now
        self._lost = lost
        self._only_warns = only_warns

    def by_pin(self, found: Definition) -> None:
        pin = self._known.pins.get(found.name)
        if pin is None:
            self._unknown(found)
        elif pin.pinned is None:
            self._wait(pin, found)
            self.withhold(found, self._why_waiting(pin, found), was=pin.was)
        elif pin.pinned.is_same_as(found):
            self._trust(found, pin.pinned)
            if pin.waiting is not None:
                self.result.written.append(replace(pin, waiting=None, waiting_since=None))
        else:
            self._wait(pin, found)
            self.withhold(found, "changed", pinned=pin.pinned)

    def by_lock(self, found: Definition, digest: str | None) -> None:
        pin = self._known.pins.get(found.name) or self._empty(found.name)
        before = pin.pinned if pin.pinned is not None and pin.pinned.has_digest(digest) else None
        if found.has_digest(digest) or (before is not None and before.is_same_as(found)):
            self._trust(found, before or found)
            if before is None or pin.waiting is not None:
                self._pin(before or found, "locked")
            return
        if pin.pinned is None or not pin.pinned.is_same_as(found):
            self._wait(pin, found)
        self.withhold(found, "not-locked" if digest is None else "lock-changed", pinned=before)

    def withhold(
        self, found: Definition, reason: Reason, *, pinned: Definition | None = None, was: str | None = None
    ) -> None:
        if was is not None and was in self._known.pins:
            pinned = self._known.pins[was].pinned
        tool = WithheldTool(
            scope=self._known.scope,
            server=self._known.server,
            name=found.name,
            reason=reason,
            listed=found.tool_json,
            pinned=None if pinned is None else pinned.tool_json,
            was=was,
        )
        if self._only_warns and reason != "ambiguous":
            self.result.warned.append(tool)
            self._trust(found, found)
        else:
            self.result.withheld.append(tool)

    def _unknown(self, found: Definition) -> None:
        if self._lost:
            self.withhold(found, "damaged")
            return
        before = (self._gone.get(found.body) if self._gone else None) or self._replaced.get(found.name)
        if before is not None:
            pin = replace(self._empty(found.name), was=before.tool)
            self._wait(pin, found)
            self.withhold(found, self._why_waiting(pin, found), was=before.tool)
            return
        self._trust(found, found)
        self._pin(found, "new" if self._known.is_known else "first-use")
        if self._known.is_known:
            self.result.new.append(found.name)

    def _why_waiting(self, pin: Pin, found: Definition) -> Reason:
        if pin.was is None:
            return "unapproved"
        before = self._known.pins.get(pin.was)
        is_edited = before is not None and before.pinned is not None and before.pinned.body != found.body
        return "replaced" if is_edited else "renamed"

    def _trust(self, found: Definition, pinned: Definition) -> None:
        self.result.trusted[found.name] = pinned
        if pinned.digest != found.digest:
            self.result.reordered[found.name] = found

    def _pin(self, found: Definition, how: How) -> None:
        pin = replace(self._empty(found.name), pinned=found, how=how, pinned_at=self._now)
        self.result.written.append(pin)

    def _wait(self, pin: Pin, found: Definition) -> None:
        if pin.waiting is None or pin.waiting.digest != found.digest:
            self.result.written.append(replace(pin, waiting=found, waiting_since=self._now))

    def _empty(self, tool: str) -> Pin:
        return Pin(scope=self._known.scope, server=self._known.server, tool=tool)
