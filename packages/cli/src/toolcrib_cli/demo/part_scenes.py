"""Scenes of the demo that other parts play: tools from files, what one agent hands to the next, everybody's own."""

from __future__ import annotations

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from toolcrib_cli.demo.stage import Stage

if TYPE_CHECKING:
    from toolcrib_store import Store

_SEARCH: Final = "builtin-exa-web-search"
_KEY: Final = "a-key-of-the-demo"
_TEXT: Final = "Hammers are in drawer A1. Who has the saw?"
_PACK: Final[dict[str, Any]] = {
    "name": "missing-saw",
    "title": "Find the missing saw",
    "sections": [
        {"key": "scope", "title": "Scope", "description": "The hacksaw of drawer B1, and nothing else."},
        {"key": "plan", "title": "Plan", "description": "1. Ask Ada.\n2. Look into drawer B2."},
    ],
}


async def use_a_toolpack(stage: Stage) -> None:
    """A tool that is a file: its code runs in a process of its own, with no more than the file asks for."""
    from toolcrib_toolpacks import ToolpackLoader, open_toolbox
    from toolcrib_toolpacks.examples import EXAMPLES

    stage.heading("6  A tool can be a file: word_count.tool.yaml, run in a sandbox of its own")
    stage.typed(f"call text__word_count --toolpacks examples text='{_TEXT[:20]}…'")
    packs = await asyncio.to_thread(ToolpackLoader().load_dir, EXAMPLES)
    async with open_toolbox(packs) as toolbox:
        result = await toolbox.call("text:word_count", {"text": _TEXT})
    stage.line(result.text)


async def hand_over(stage: Stage) -> None:
    """A context pack: what an agent writes, as the next one reads it."""
    from toolcrib_contextpacks import ContextPacks, PackSettings

    stage.heading("7  One agent hands its work to the next: a context pack, per reader")
    stage.typed("pack show missing-saw --profile executor")

    def shown() -> str:
        with TemporaryDirectory(prefix="toolcrib-") as name, _store(Path(name)) as store:
            packs = ContextPacks(store, settings=PackSettings(source_root=Path(name)))
            packs.write(_PACK)
            return packs.read(name=str(_PACK["name"]), profile="executor").text

    for line in _told(await asyncio.to_thread(shown)):
        stage.line(line)


async def seal_a_key(stage: Stage) -> None:
    """A toolset: tools of one's own, with a key that nobody sees."""
    from toolcrib_runtime.guards.secrets import Secret
    from toolcrib_store import open_store
    from toolcrib_toolsets import (
        TOOLSETS_LINE,
        ExaWebSearch,
        ToolsetKinds,
        ToolsetService,
        new_master_key,
        open_sealer,
        read_master_key,
    )

    stage.heading("8  Everybody has tools of their own, with a key that is sealed")
    stage.typed(f"toolset create {_SEARCH} my-search")
    with TemporaryDirectory(prefix="toolcrib-") as name:
        file = Path(name) / "toolsets.db"
        with open_store(file, lines=[TOOLSETS_LINE]) as store:
            master = read_master_key(new_master_key(), source="the demo")
            service = ToolsetService(store, open_sealer(store, master), ToolsetKinds([ExaWebSearch()]))
            made = await service.create_instance("ada", _SEARCH, "my-search", api_key=Secret(_KEY))
            await service.set_app_toolset_enabled(_SEARCH, enabled=True, updated_by="demo")
            tools = await service.instance_tools("ada", made.id)
            others = await service.available_instances("bob")
            await service.aclose()
        seen = _KEY.encode() in file.read_bytes()
    where = "in the clear" if seen else "sealed"
    stage.line(
        f"Ada sees {made.name}:{tools[0].name} and {len(tools) - 1} more, Bob {len(others)}; her key is {where}."
    )


def _store(folder: Path) -> Store:
    from toolcrib_contextpacks import PACKS_LINE
    from toolcrib_store import open_store

    return open_store(folder / "packs.db", lines=[PACKS_LINE])


def _told(text: str) -> list[str]:
    lines = [line.rstrip() for line in text.splitlines()]
    start = next((number for number, line in enumerate(lines) if line.startswith("- what_to_do")), 0)
    return lines[start + 1 : start + 3]
