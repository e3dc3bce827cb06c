"""When Claude Code keeps tools out of the prompt and searches them instead: a setting of its own."""

from __future__ import annotations

from typing import Literal

from toolcrib_core.errors import CatalogError


def tool_search_env(search: Literal["always", "never"] | int) -> dict[str, str]:
    """The environment for `ClaudeAgentOptions(env=…)` that says when Claude Code searches the tools of its servers.

    A number is the share of the context, in percent, from which on it does. Claude Code searches by names and
    descriptions on its own and loads what it finds; the server lists all of its tools in any case, so that nothing
    that was sent before changes.

    Raises:
        CatalogError: The share is not between 0 and 100.
    """
    if isinstance(search, int) and not 0 <= search <= 100:  # noqa: PLR2004  # percent
        raise CatalogError("The share of the context is a number from 0 to 100.")
    said = {"always": "true", "never": "false"}
    return {"ENABLE_TOOL_SEARCH": f"auto:{search}" if isinstance(search, int) else said[search]}
