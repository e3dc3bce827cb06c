"""Arguments that a schema refuses, told in the words of the tool itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from toolcrib_core import ToolError
from toolcrib_runtime import ToolFailed, create_tool, create_toolbox

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": False}


def _explain(refused: ToolError, arguments: Mapping[str, Any] | None) -> ToolError:
    return ToolFailed(f"{refused.code}: {'nothing' if arguments is None else sorted(arguments)}")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"m": 1}, "toolbox.invalid-arguments: ['m']"),
        ('{"m": 1}', "toolbox.invalid-arguments: ['m']"),
        ("{", "toolbox.malformed-json: nothing"),
        ({"n": "x" * 5_000_000}, "toolbox.arguments-too-large: ['n']"),
    ],
)
async def test_a_tool_may_say_itself_what_is_wrong_with_its_arguments(given: Any, told: str) -> None:
    toolbox = create_toolbox([create_tool(SCHEMA, lambda n=0: n, name="t", effects="none", explain=_explain)])

    result = await toolbox.call("t", given)

    assert result.error is not None
    assert result.error.message == told
    assert (await toolbox.call("t", {"n": 3})).value == 3
