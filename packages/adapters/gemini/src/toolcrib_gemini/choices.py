"""Which functions the model may or must call: the calling configuration of the Gemini API."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, TypeAlias

from toolcrib_core.definition import ToolDefinition
from toolcrib_core.json_values import JsonObject
from toolcrib_gemini.definitions import GeminiTools

Choice: TypeAlias = Literal["auto", "any", "none", "validated"]

_MODES: Final = {"auto": "AUTO", "any": "ANY", "none": "NONE", "validated": "VALIDATED"}


def to_gemini_choice(
    choice: Choice | ToolDefinition | str, tools: GeminiTools, *, allowed: Iterable[ToolDefinition | str] | None = None
) -> JsonObject:
    """`tool_config`: the model decides (`auto`), must call some function (`any`), none, or the one that is given.

    `validated` leaves the choice to the model and holds its calls to the schemas. `allowed` restricts the functions
    without declaring others, so that the prefix of the request stays; the API takes it with `any` and `validated`
    only, so that `auto` becomes `validated`.

    Raises:
        UnknownTool: A tool is not among those of the request; the hint has the nearest.
    """
    if not isinstance(choice, str) or choice not in _MODES:
        return _config("ANY", [tools.names.wire_name(choice)])
    if allowed is None or choice == "none":
        return _config(_MODES[choice], None)
    listed = sorted({tools.names.wire_name(each) for each in allowed})
    if not listed:
        # The API would read an empty list as one that restricts nothing.
        return _config("NONE", None)
    return _config("ANY" if choice == "any" else "VALIDATED", listed)


def _config(mode: str, allowed: list[str] | None) -> JsonObject:
    calling: JsonObject = {"mode": mode}
    if allowed is not None:
        calling["allowed_function_names"] = [*allowed]
    return {"function_calling_config": calling}
