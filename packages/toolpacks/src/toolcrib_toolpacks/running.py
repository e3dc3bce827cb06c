"""Loaded packs as a toolbox that runs them: `open_toolbox`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Final, Unpack

from toolcrib_runtime import CachePolicy, RetryPolicy, RunnableTool, Toolbox, create_toolbox
from toolcrib_runtime.binding import Binding, whole
from toolcrib_runtime.guards.net import Resolver
from toolcrib_runtime.runnable import make_runnable
from toolcrib_runtime.settings import ToolboxOptions
from toolcrib_toolpacks.executor import PackExecutor
from toolcrib_toolpacks.model import Toolpack
from toolcrib_toolpacks.planning import RunPlan, RunSettings, is_cached, plan_of

__all__ = ["RunPlan", "RunSettings", "open_toolbox", "plan_of", "tools_of"]

# A process that failed would fail again; a request may only have come at a bad moment.
_ONCE: Final = RetryPolicy(attempts=1)
# The executor keeps the pack's own time and tells more; this is for what should ever hang beyond it.
_RESERVE: Final = 5.0


@asynccontextmanager
async def open_toolbox(
    packs: Iterable[Toolpack],
    *,
    trust: bool = False,
    settings: RunSettings | None = None,
    resolver: Resolver | None = None,
    **options: Unpack[ToolboxOptions],
) -> AsyncIterator[Toolbox]:
    """A toolbox that runs these packs, as an async context manager; at its end no process of them is left.

    Every call is validated, bounded in time and size, and held to the capabilities of its pack by the kernel. A pack
    that this machine cannot hold to them is refused, unless it is trusted. The options are those of `create_toolbox`.

    Raises:
        DuplicateTool: Two packs have the same id and version.
    """
    chosen = settings or RunSettings()
    chosen = replace(chosen, trust=chosen.trust or trust)
    toolbox = create_toolbox(tools_of(packs, chosen, resolver=resolver), **options)
    async with toolbox:
        yield toolbox


def tools_of(
    packs: Iterable[Toolpack], settings: RunSettings, *, resolver: Resolver | None = None
) -> tuple[RunnableTool, ...]:
    """The packs as tools, for a toolbox that has others, too; they share one executor, which the toolbox closes."""
    every = tuple(packs)
    executor = PackExecutor({pack.definition.id: pack for pack in every}, settings, resolver=resolver)
    return tuple(_tool(pack, executor, settings) for pack in every)


def _tool(pack: Toolpack, executor: PackExecutor, settings: RunSettings) -> RunnableTool:
    is_request = pack.execution.kind == "http"
    seconds = pack.timeout_ms / 1000
    made = make_runnable(
        pack.definition,
        Binding(partial(_called_directly, pack.id), (), whole),
        executor=executor,
        timeout=seconds if is_request else seconds + settings.grace + _RESERVE,
        blocking=False,
    )
    if is_cached(pack):
        depends_on = partial(executor.depends_on, pack.definition.id)
        made = made.replace(cache=CachePolicy(ttl=settings.cache_ttl, depends_on=depends_on))
    return made if is_request else made.replace(retries=_ONCE)


def _called_directly(pack: str, **_arguments: object) -> None:
    raise TypeError(f"`{pack}` is a toolpack, and has no function in this process: call it through its toolbox")
