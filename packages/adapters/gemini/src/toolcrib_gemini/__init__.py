"""Tools for the Gemini API: declarations, calls, results, choices, and tools that load later.

A name is loaded when it is first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib_core.faces import lazy_face

if TYPE_CHECKING:
    from toolcrib_core.providers.importing import ImportedTools
    from toolcrib_core.providers.loading import LoadedTools
    from toolcrib_core.providers.losses import Loss, LossReport
    from toolcrib_core.providers.names import ToolNames
    from toolcrib_core.providers.parsed import BrokenCall, ParsedCalls
    from toolcrib_core.providers.results import ResultContent
    from toolcrib_gemini.calls import GeminiStream, parse_gemini_calls
    from toolcrib_gemini.choices import to_gemini_choice
    from toolcrib_gemini.definitions import GeminiTools, to_gemini_tools
    from toolcrib_gemini.importing import from_gemini_tools
    from toolcrib_gemini.lazy_loading import with_loaded
    from toolcrib_gemini.results import to_gemini_results

_NAMES = {
    "toolcrib_core.providers.importing": "ImportedTools",
    "toolcrib_core.providers.loading": "LoadedTools",
    "toolcrib_core.providers.losses": "Loss LossReport",
    "toolcrib_core.providers.names": "ToolNames",
    "toolcrib_core.providers.parsed": "BrokenCall ParsedCalls",
    "toolcrib_core.providers.results": "ResultContent",
    "toolcrib_gemini.calls": "GeminiStream parse_gemini_calls",
    "toolcrib_gemini.choices": "to_gemini_choice",
    "toolcrib_gemini.definitions": "GeminiTools to_gemini_tools",
    "toolcrib_gemini.importing": "from_gemini_tools",
    "toolcrib_gemini.lazy_loading": "with_loaded",
    "toolcrib_gemini.results": "to_gemini_results",
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}

__all__ = [
    "BrokenCall",
    "GeminiStream",
    "GeminiTools",
    "ImportedTools",
    "LoadedTools",
    "Loss",
    "LossReport",
    "ParsedCalls",
    "ResultContent",
    "ToolNames",
    "from_gemini_tools",
    "parse_gemini_calls",
    "to_gemini_choice",
    "to_gemini_results",
    "to_gemini_tools",
    "with_loaded",
]


if not TYPE_CHECKING:  # a checker that saw it would let every misspelt name pass
    __getattr__, __dir__ = lazy_face(__name__, _HOMES)
