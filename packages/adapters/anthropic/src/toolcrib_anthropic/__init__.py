"""Tools for the Anthropic Messages API: definitions, calls, results, choices, and tools that load later.

A name is loaded when it is first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib_core.faces import lazy_face

if TYPE_CHECKING:
    from toolcrib_anthropic.calls import AnthropicStream, parse_anthropic_calls
    from toolcrib_anthropic.choices import to_anthropic_choice
    from toolcrib_anthropic.definitions import AnthropicTools, to_anthropic_tools
    from toolcrib_anthropic.importing import from_anthropic_tools
    from toolcrib_anthropic.lazy_loading import tool_additions
    from toolcrib_anthropic.results import to_anthropic_results
    from toolcrib_core.providers.importing import ImportedTools
    from toolcrib_core.providers.loading import LoadedTools
    from toolcrib_core.providers.losses import Loss, LossReport
    from toolcrib_core.providers.names import ToolNames
    from toolcrib_core.providers.parsed import BrokenCall, ParsedCalls
    from toolcrib_core.providers.results import ResultContent

_NAMES = {
    "toolcrib_anthropic.calls": "AnthropicStream parse_anthropic_calls",
    "toolcrib_anthropic.choices": "to_anthropic_choice",
    "toolcrib_anthropic.definitions": "AnthropicTools to_anthropic_tools",
    "toolcrib_anthropic.importing": "from_anthropic_tools",
    "toolcrib_anthropic.lazy_loading": "tool_additions",
    "toolcrib_anthropic.results": "to_anthropic_results",
    "toolcrib_core.providers.importing": "ImportedTools",
    "toolcrib_core.providers.loading": "LoadedTools",
    "toolcrib_core.providers.losses": "Loss LossReport",
    "toolcrib_core.providers.names": "ToolNames",
    "toolcrib_core.providers.parsed": "BrokenCall ParsedCalls",
    "toolcrib_core.providers.results": "ResultContent",
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}

__all__ = [
    "AnthropicStream",
    "AnthropicTools",
    "BrokenCall",
    "ImportedTools",
    "LoadedTools",
    "Loss",
    "LossReport",
    "ParsedCalls",
    "ResultContent",
    "ToolNames",
    "from_anthropic_tools",
    "parse_anthropic_calls",
    "to_anthropic_choice",
    "to_anthropic_results",
    "to_anthropic_tools",
    "tool_additions",
]


if not TYPE_CHECKING:  # a checker that saw it would let every misspelt name pass
    __getattr__, __dir__ = lazy_face(__name__, _HOMES)
