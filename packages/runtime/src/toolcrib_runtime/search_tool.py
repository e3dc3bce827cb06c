"""A tool that finds tools: for an agent that is not to see a whole catalogue at once."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import Field

from toolcrib_core import CardOverBudget, InvalidDefinition, SearchHit, ToolDefinition, ToolRisk, make_card, render_card
from toolcrib_runtime.runnable import RunnableTool, create_tool
from toolcrib_runtime.toolbox import Toolbox

MAX_LIMIT: Final = 50
"""How many tools one search gives at most."""


def create_search_tool(toolbox: Toolbox, *, name: str = "search_tools", limit: int = 5) -> RunnableTool:
    """A tool that ranks the tools of a toolbox by a request in words, and gives their cards; it runs none of them.

    A card is one line of at most 80 tokens: the id to call, what the tool is for, its tags. A tool that has no card,
    because its id alone is longer, is left out. With `explain` each hit says which words in which fields earned its
    place. `limit` is how many a search gives that does not say it.

    Add it as the last one: `toolbox.extend(create_search_tool(toolbox))`. It finds what is in the toolbox that it was
    made for, and so never itself.

    Raises:
        InvalidDefinition: The limit is not between 1 and 50.
    """
    if not 1 <= limit <= MAX_LIMIT:
        raise InvalidDefinition(f"`limit` must be between 1 and {MAX_LIMIT}.")

    def search_tools(
        query: Annotated[str, Field(min_length=1, max_length=2_000)],
        limit: Annotated[int, Field(ge=1, le=MAX_LIMIT)] = limit,
        explain: bool = False,  # noqa: FBT001, FBT002  # a tool gets its arguments by name
    ) -> dict[str, Any]:
        """Find tools by what they do.

        Args:
            query: What you want to do, in a few words.
            limit: How many tools to show.
            explain: Whether to say why each tool fits.
        """
        found = toolbox.search(query, limit=limit, explain=explain)
        shown = [_shown(hit, toolbox.registry.get(hit.id)) for hit in found.hits]
        return {"tools": [each for each in shown if each], "confident": found.confident, "fitting": found.total}

    risk = ToolRisk(effects="none", idempotent=True, data_sensitivity="internal")
    return create_tool(search_tools, name=name, risk=risk, tags=("search",))


def _shown(hit: SearchHit, definition: ToolDefinition) -> dict[str, Any] | None:
    try:
        shown: dict[str, Any] = {"card": render_card(make_card(definition)), "score": round(hit.score, 4)}
    except CardOverBudget:
        return None
    if hit.explanation is not None:
        shown["why"] = hit.explanation.model_dump(mode="json", by_alias=True)
    return shown
