"""Tools for the OpenAI APIs: definitions, calls, results, choices, and tools that load later.

It calls no API and needs no SDK: what goes in and out are dicts, and objects of the SDK are read where they come. A
name is loaded when it is first used, so that importing the package costs next to nothing.
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
    from toolcrib_openai.calls import OpenAIStream, parse_openai_calls
    from toolcrib_openai.choices import allow_openai_tools, to_openai_choice
    from toolcrib_openai.definitions import OpenAITools, to_openai_tools
    from toolcrib_openai.importing import from_openai_tools
    from toolcrib_openai.lazy_loading import additional_tools, with_loaded
    from toolcrib_openai.legacy import to_json_schema
    from toolcrib_openai.results import to_openai_results

_NAMES = {
    "calls": "OpenAIStream parse_openai_calls",
    "choices": "allow_openai_tools to_openai_choice",
    "definitions": "OpenAITools to_openai_tools",
    "importing": "from_openai_tools",
    "lazy_loading": "additional_tools with_loaded",
    "legacy": "to_json_schema",
    "results": "to_openai_results",
    "toolcrib_core.providers.importing": "ImportedTools",
    "toolcrib_core.providers.loading": "LoadedTools",
    "toolcrib_core.providers.losses": "Loss LossReport",
    "toolcrib_core.providers.names": "ToolNames",
    "toolcrib_core.providers.parsed": "BrokenCall ParsedCalls",
    "toolcrib_core.providers.results": "ResultContent",
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}

__all__ = [
    "BrokenCall",
    "ImportedTools",
    "LoadedTools",
    "Loss",
    "LossReport",
    "OpenAIStream",
    "OpenAITools",
    "ParsedCalls",
    "ResultContent",
    "ToolNames",
    "additional_tools",
    "allow_openai_tools",
    "from_openai_tools",
    "parse_openai_calls",
    "to_json_schema",
    "to_openai_choice",
    "to_openai_results",
    "to_openai_tools",
    "with_loaded",
]


if not TYPE_CHECKING:  # a checker that saw it would let every misspelt name pass
    __getattr__, __dir__ = lazy_face(__name__, _HOMES)
