"""Content that a tool lays out itself reaches the caller, also through tools that only hand it on."""

from __future__ import annotations

import pytest

from toolcrib_runtime import RunnableTool, ToolOutput, bind, create_toolbox, lazy, map_output, pipe, tool

_IMAGE = {"type": "image", "data": "aGk=", "mimeType": "image/png"}


@tool(effects="read")
async def draw(what: str) -> ToolOutput:
    """Draw a picture."""
    return ToolOutput(value={"drawn": what}, content=(_IMAGE,))


@tool(effects="read")
async def name_it(subject: str) -> dict[str, str]:
    """Find a name."""
    return {"what": subject}


@pytest.mark.req("RT-3")
async def test_the_content_of_a_tool_stands_beside_its_value() -> None:
    result = await create_toolbox([draw]).call("draw", {"what": "a cat"})

    assert result.value == {"drawn": "a cat"}
    assert result.content == (_IMAGE,)
    assert draw.definition.output_schema is None


@pytest.mark.req("RT-12", "RT-13")
@pytest.mark.parametrize(
    ("made", "arguments"),
    [
        pytest.param(bind(draw, {"what": "a cat"}), {}, id="bind"),
        pytest.param(pipe(name_it, draw), {"subject": "a cat"}, id="the last of a pipe"),
        pytest.param(lazy(draw.definition.replace(name="later"), lambda: draw), {"what": "a cat"}, id="lazy"),
    ],
)
async def test_a_tool_that_hands_a_value_on_hands_its_content_on(made: RunnableTool, arguments: dict[str, str]) -> None:
    result = await create_toolbox([made]).call(made.id, arguments)

    assert result.content == (_IMAGE,)


@pytest.mark.req("RT-12")
async def test_a_changed_value_does_not_keep_the_content_of_the_old_one() -> None:
    made = map_output(draw, lambda value: "drawn", output=str)

    result = await create_toolbox([made]).call(made.id, {"what": "a cat"})

    assert result.content == ({"type": "text", "text": "drawn"},)
