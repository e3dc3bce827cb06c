"""Remembering the values of tools that are declared deterministic."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from toolcrib_core import InvalidDefinition, JsonValue, ToolDefinition
from toolcrib_core.wording import quoted
from toolcrib_runtime.policy.bounds import check_number
from toolcrib_runtime.policy.replays import (
    MAX_KEPT_BYTES,
    Asker,
    Kept,
    arguments_digest,
    asker_of,
    recorded,
    replay,
)

if TYPE_CHECKING:
    from toolcrib_runtime.invocation import Invocation, Proceed

_Key: TypeAlias = tuple[str, Asker, str, str]


@dataclass(frozen=True, kw_only=True)
class CachePolicy:
    """Declares that equal arguments give the same asker equal values, for `ttl` seconds.

    `depends_on` gives, for some arguments, what else the value depends on: only calls with an equal text share one.
    """

    ttl: float = 300.0
    depends_on: Callable[[Mapping[str, JsonValue]], str] | None = None

    def __post_init__(self) -> None:
        check_number("ttl", self.ttl, least=0)


def check_cachable(definition: ToolDefinition, policy: CachePolicy | None) -> None:
    """Refuse to remember the values of a tool whose calls do something.

    Raises:
        InvalidDefinition: The tool writes, or does not say that it does not.
    """
    if policy is None or not definition.risk.may_write:
        return
    raise InvalidDefinition(
        f"{quoted(definition.id)} cannot be cached: its effects are `{definition.risk.effects}`, "
        "and a call that is answered from memory has none.",
        hint='Declare `effects="none"` or `effects="read"` if that is so; otherwise leave `cache` out.',
        details={"effects": definition.risk.effects, "destructive": definition.risk.destructive},
    )


class CacheStage:
    """Answers a call with the value of an earlier equal one: same definition, same arguments, same user and tenant.

    Equal calls at the same time share one run. If that fails or is stopped, each of the others runs for itself: a
    failure is never remembered, nor handed on.
    """

    def __init__(self, *, max_entries: int = 1_000, max_bytes: int = MAX_KEPT_BYTES) -> None:
        self._kept: Kept[bytes] = Kept(max_entries=max_entries, max_bytes=max_bytes)
        self._running: dict[_Key, asyncio.Future[bytes | None]] = {}

    def __call__(self, invocation: Invocation, proceed: Proceed, /) -> Awaitable[JsonValue]:
        """Run the call, unless the value is known."""
        policy = invocation.tool.cache
        return proceed(invocation) if policy is None else self._answer(invocation, proceed, policy)

    async def _answer(self, invocation: Invocation, proceed: Proceed, policy: CachePolicy) -> JsonValue:
        more = "" if policy.depends_on is None else policy.depends_on(invocation.arguments)
        key = (invocation.definition.digest, asker_of(invocation), arguments_digest(invocation), more)
        record = self._kept.get(key, now=invocation.clock.monotonic())
        if record is not None:
            return replay(invocation, record, source="cache")
        running = self._running.get(key)
        if running is None:
            return await self._lead(key, invocation, proceed, policy)
        # A future of another thread's loop cannot be awaited here; that call simply does not share.
        if running.get_loop() is asyncio.get_running_loop():
            # The future belongs to all who wait: one that is stopped must not cancel it for the others.
            record = await asyncio.shield(running)
        if record is not None:
            return replay(invocation, record, source="cache")
        value = await proceed(invocation)
        self._keep(key, invocation, value, policy)
        return value

    async def _lead(self, key: _Key, invocation: Invocation, proceed: Proceed, policy: CachePolicy) -> JsonValue:
        shared = self._running[key] = asyncio.get_running_loop().create_future()
        record = None
        try:
            value = await proceed(invocation)
            record = self._keep(key, invocation, value, policy)
        finally:
            self._running.pop(key, None)
            shared.set_result(record)
        return value

    def _keep(self, key: _Key, invocation: Invocation, value: JsonValue, policy: CachePolicy) -> bytes:
        record = recorded(value, invocation.blocks)
        self._kept.put(key, record, size=len(record), until=invocation.clock.monotonic() + policy.ttl)
        return record
