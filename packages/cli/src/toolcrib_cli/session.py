"""One look at a catalogue: its servers, started as far as needed, behind a gateway that is closed at the end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import aclosing, asynccontextmanager, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from toolcrib_cli.asking import Choice, asked_for, tell_warnings, usable_state
from toolcrib_cli.screen import tell, working
from toolcrib_cli.shared_database import shared_database
from toolcrib_cli.wiring import Asked, wired
from toolcrib_core.wording import count, quoted
from toolcrib_mcp.errors import GatewayError
from toolcrib_mcp.state_files import MANIFEST

if TYPE_CHECKING:
    from toolcrib_mcp.gateway import Gateway
    from toolcrib_mcp.hub import Hub
    from toolcrib_mcp.hub.view import HubView
    from toolcrib_mcp.pins import PinBook

_T = TypeVar("_T")


def with_gateway(
    choice: Choice,
    work: Callable[[Gateway], Coroutine[Any, Any, _T]],
    *,
    timeout: float,
    fresh: bool = False,
    keeping: bool = False,
    learning: bool = True,
) -> _T:
    """What the work gives for the gateway of a catalogue, which knows the tools of every server that could be asked.

    Servers whose tools are known from before are not started until they are needed, unless it is to be `fresh`. Each
    has `timeout` seconds. With `keeping` there is a place for results that are too large to show; without `learning` no
    server is asked for its tools.

    Raises:
        ToolError: The catalogue cannot be used, or whatever the work raises.
        KeyboardInterrupt: It was asked to stop; nothing of the servers is left.
    """
    asked = asked_for(choice)
    tell_warnings(asked)
    state = usable_state(asked, named=choice.state_dir is not None)

    async def inside() -> _T:
        if fresh and state is not None:
            (state / MANIFEST).unlink(missing_ok=True)
        async with open_guarded(asked, state=state, keeping=keeping) as gateway:
            if learning:
                await _learn(gateway.hub, seconds=timeout)
            return await work(gateway)

    return run(inside())


def run(work: Coroutine[Any, Any, _T]) -> _T:
    """Do the work on an event loop, until it is done or the process is asked to stop.

    Raises:
        KeyboardInterrupt: It was asked to stop, and the work has ended.
    """
    return asyncio.run(_unless_stopped(work))


@asynccontextmanager
async def open_hub(asked: Asked, *, state: Path | None = None, pins: PinBook | None = None) -> AsyncIterator[Hub]:
    """The hub over everything that is asked for; no server is started yet. What is known from before is in `state`."""
    from toolcrib_mcp.hub import Hub

    manifest = None if state is None else state / MANIFEST
    async with (
        wired(asked) as parts,
        Hub(parts.config, manifest=manifest, upstreams=parts.upstreams, pins=pins) as hub,
    ):
        yield hub


@asynccontextmanager
async def open_guarded(asked: Asked, *, state: Path | None, keeping: bool) -> AsyncIterator[Gateway]:
    """The gateway over everything that is asked for, behind the safeguards that `toolcrib serve` has."""
    from toolcrib_mcp.gateway import Gateway, open_gateway_service
    from toolcrib_mcp.hub import Hub
    from toolcrib_mcp.safeguards import open_safeguards

    manifest = None if state is None else state / MANIFEST
    shared = shared_database(asked)
    async with (
        wired(asked) as parts,
        open_safeguards(parts.config, state_dir=state, shared=shared) as safeguards,
    ):
        upstreams, pins = parts.upstreams, safeguards.pins
        async with Hub(parts.config, manifest=manifest, upstreams=upstreams, pins=pins) as hub:
            if not keeping:
                async with Gateway(hub, checkpoint=safeguards.checkpoint) as gateway:
                    yield gateway
                return
            async with aclosing(await open_gateway_service(hub, state_dir=state, safeguards=safeguards)) as service:
                yield service.gateway


async def _learn(hub: HubView, *, seconds: float) -> None:
    """See to it that the tools of every server are known; one that cannot be asked is told of, and left out."""
    known = hub.catalog.snapshot().upstreams
    asking = [name for name in hub.servers if name not in known]
    if not asking:
        return
    from toolcrib_mcp.upstreams import StartProgress, StartReport

    progress = StartProgress(asking)

    async def ask(name: str) -> None:
        error = await _ask(hub, name, seconds)
        progress.note(StartReport(name=name, error=error))
        line.update(f"Asking for tools: {progress}")

    with working(f"Asking {count(len(asking), 'server')} for tools …") as line:
        await asyncio.gather(*map(ask, asking))


async def _ask(hub: HubView, name: str, seconds: float) -> GatewayError | None:
    try:
        await hub.tools(name, timeout=seconds)
    except GatewayError as failure:
        tell(f"warning: The server {quoted(name)} is left out: {failure.message} See `toolcrib doctor`.")
        return failure
    return None


async def _unless_stopped(work: Coroutine[Any, Any, _T]) -> _T:
    from toolcrib_mcp.serving import stop_signals, unless

    async def boxed() -> tuple[_T] | SystemExit:
        try:
            return (await work,)
        except SystemExit as end:  # as when nobody reads on, behind `| head`; a task would print it with its traceback
            return end

    with stop_signals() as stop, closing(work):
        done = await unless(stop.asked, boxed())
    if done is None:
        raise KeyboardInterrupt
    if isinstance(done, SystemExit):
        raise done
    return done[0]
