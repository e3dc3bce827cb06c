"""The scenes of `toolcrib demo`: each shows one thing on the demo's own catalogue."""

from __future__ import annotations

from typing import Final

from toolcrib_cli.browse_command import short_id
from toolcrib_cli.demo.stage import Stage
from toolcrib_cli.stats_command import count_catalogue
from toolcrib_core import ToolError, count_tokens

_TOOL: Final = "database:query"
_ALL_LOANS: Final = "SELECT * FROM loans"
_OUT: Final = {
    "type": "rows",
    "columns": ["id", "tool_id", "person_id", "taken_on"],
    "where": [{"column": "returned_on", "op": "is null"}],
    "count": 2,
}


async def show_catalogue(stage: Stage) -> None:
    """The servers, and what a model would pay for them."""
    counted = count_catalogue(stage.gateway.hub)
    total = counted.total
    stage.heading(f"1  {len(counted.servers)} servers with {total.tools} tools, one small catalogue")
    stage.line("   ".join(f"{server.name} {server.tools}" for server in counted.servers))
    saved = f"{counted.saved:.0%} saved"
    stage.line(f"a client sees 3 tools: {counted.gateway:,} tokens in place of {total.definitions:,}, {saved}")


async def search(stage: Stage) -> None:
    """Tools by what is to be done."""
    stage.heading("2  Tools are found by what is to be done, as cards of at most 80 tokens")
    stage.typed("search who borrowed a saw")
    page = await stage.gateway.browse(query="who borrowed a saw", limit=3)
    for each in page.cards:
        stage.line(f"{short_id(each.card.id)}: {each.card.description}")


async def call_wrongly(stage: Stage) -> None:
    """A mistake is caught before anything runs, and told in a way that can be acted on."""
    stage.heading("3  A mistake is caught before anything runs")
    stage.typed(f"call {_TOOL} sqll='{_ALL_LOANS}'")
    try:
        await stage.gateway.execute(_TOOL, {"sqll": _ALL_LOANS})
    except ToolError as error:
        stage.sentence(f"error: {_violations(error)[0]}")


async def call(stage: Stage) -> None:
    """A large result stays out of the context."""
    stage.heading("4  A large result is kept, and a summary comes in its place")
    stage.typed(f"call {_TOOL} sql='{_ALL_LOANS}'")
    result = await stage.gateway.execute(_TOOL, {"sql": _ALL_LOANS})
    envelope = result.envelope
    if envelope is None:  # pragma: no cover  # the table is larger than any result that is sent whole
        return
    part = envelope.artifacts[0]
    stage.handle = part.handle
    _, *lines = envelope.summary.splitlines()
    stage.line(lines[0])
    stage.line(f"{count_tokens(envelope.summary):,} tokens in place of {await _whole_tokens(stage):,}: {part.handle}")


async def look_into(stage: Stage) -> None:
    """Any part of it is a call away."""
    stage.heading("5  Every part of it can be looked into")
    stage.typed(f"view {stage.handle} rows count=2 where='[… is null]'")
    page = await stage.gateway.view(stage.handle, _OUT)
    for line in page.text.splitlines()[:4]:
        stage.line(line)


async def _whole_tokens(stage: Stage) -> int:
    """What the same result takes where nothing is kept."""
    from toolcrib_mcp.gateway import Gateway

    async with Gateway(stage.gateway.hub) as plain:
        return count_tokens((await plain.execute(_TOOL, {"sql": _ALL_LOANS})).text)


def _violations(error: ToolError) -> list[str]:
    violations = error.details.get("violations")
    every = violations if isinstance(violations, list) else []
    return [str(each["message"]) for each in every if isinstance(each, dict)] or [error.message]
