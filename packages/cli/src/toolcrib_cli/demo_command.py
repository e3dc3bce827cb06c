"""`toolcrib demo`: in one screen, what toolcrib does, on the catalogue that comes with it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Final, TypeAlias

from rich.console import Console

from toolcrib_cli.config_choice import current_directory
from toolcrib_cli.demo import part_scenes, safety_scene, scenes
from toolcrib_cli.demo.stage import Stage
from toolcrib_cli.screen import screen
from toolcrib_cli.session import open_hub, run
from toolcrib_cli.wiring import Asked
from toolcrib_mcp import GatewayConfig

if TYPE_CHECKING:
    from toolcrib_mcp.hub import Hub

Scene: TypeAlias = Callable[[Stage], Awaitable[None]]

SCENES: Final[tuple[Scene, ...]] = (
    scenes.show_catalogue,
    scenes.search,
    scenes.call_wrongly,
    scenes.call,
    scenes.look_into,
    part_scenes.use_a_toolpack,
    part_scenes.hand_over,
    part_scenes.seal_a_key,
    safety_scene.ask_somebody,
)
"""What is shown, in this order; each has a heading and a few lines."""

_SECONDS: Final = 30.0


def run_demo(*, console: Console | None = None) -> None:
    """Play all scenes; nothing is kept.

    Raises:
        ToolError: The demo cannot be opened.
    """
    run(_play(Stage(console or screen())))


async def _play(stage: Stage) -> None:
    asked = Asked(config=GatewayConfig(servers={}), demo=True, folder=current_directory())
    async with open_hub(asked) as hub:
        await hub.start(timeout=_SECONDS)
        await _play_on(hub, stage)


async def _play_on(hub: Hub, stage: Stage) -> None:
    from toolcrib_mcp.gateway import open_gateway_service

    async with aclosing(await open_gateway_service(hub, state_dir=None)) as service:
        stage.gateway = service.gateway
        for scene in SCENES:
            await scene(stage)
    stage.end()
