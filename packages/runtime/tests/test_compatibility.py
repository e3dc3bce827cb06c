"""The older names: they do what the new ones do, and say which those are."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
from small_toolboxes import called

from toolcrib_core import ToolRisk, UnknownTool, define_tool
from toolcrib_runtime import create_tool, create_toolbox, is_runnable_tool, tool
from toolcrib_runtime.testing import fake_tool

pytestmark = pytest.mark.req("RT-20")


def remove(path: str) -> None:
    """Remove a file."""


@pytest.mark.req("D1-0s", "D1-5h")
async def test_the_message_and_the_category_of_a_result_have_their_old_names() -> None:
    bad, good = await called(fake_tool("bad", raises=ValueError("no"))), await called(fake_tool("good"))

    with pytest.warns(DeprecationWarning, match="`ToolResult.error_message` is deprecated: use `error.message`"):
        assert bad.error_message == bad.error.message
    with pytest.warns(DeprecationWarning, match="`ToolResult.error_category` is deprecated: use `error.category`"):
        assert bad.error_category == "internal"
    with pytest.warns(DeprecationWarning, match="ToolResult"):
        assert (good.error_message, good.error_category) == (None, None)


@pytest.mark.req("D1-3m")
def test_getting_a_tool_resolves_it_and_warns() -> None:
    found = fake_tool("x")

    with pytest.warns(DeprecationWarning, match="use `resolve`$"):
        assert create_toolbox([found]).get_tool("x") is found
    with pytest.warns(DeprecationWarning, match="use `resolve`$"), pytest.raises(UnknownTool):
        create_toolbox([found]).get_tool("y")


@pytest.mark.req("D1-3n")
def test_getting_a_tool_by_an_ambiguous_name_says_what_it_may_mean() -> None:
    versions = create_toolbox([fake_tool("x", version="2.0.0"), fake_tool("x", version="1.0.0")])
    spaces = create_toolbox([fake_tool("a:x"), fake_tool("b:x")])

    with pytest.warns(DeprecationWarning, match="`x` may mean `default:x@1.0.0`, `default:x@2.0.0`"):
        assert versions.get_tool("x").definition.version == "2.0.0"
    with pytest.warns(DeprecationWarning, match="`x` may mean `a:x"), pytest.raises(UnknownTool):
        spaces.get_tool("x")


@pytest.mark.req("D1-2l")
@pytest.mark.parametrize(
    ("metadata", "risk"),
    [
        ({"mutates": True}, ToolRisk(effects="write")),
        ({"readOnly": True}, ToolRisk(effects="read")),
        ({"dangerous": True}, ToolRisk(effects="unknown", destructive=True, requires_approval=True)),
        ({"mutates": True, "readOnly": True}, ToolRisk(effects="write")),
    ],
)
def test_the_flags_of_old_metadata_become_risk(metadata: Any, risk: ToolRisk) -> None:
    with pytest.warns(DeprecationWarning, match="are deprecated: say it in `risk=ToolRisk"):
        made = create_tool(remove, metadata=metadata)

    assert made.definition.risk == risk


def test_flags_never_make_a_risk_smaller_than_it_is_said_to_be() -> None:
    with pytest.warns(DeprecationWarning, match="metadata flags"):
        made = create_tool(remove, metadata={"readOnly": True}, risk=ToolRisk(effects="write", destructive=True))

    assert (made.definition.risk.effects, made.definition.risk.destructive) == ("write", True)


@pytest.mark.parametrize("metadata", [{"mutates": False}, {"dangerous": "yes"}, {"owner": "me"}, {}, None])
def test_other_metadata_says_nothing_about_risk(metadata: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")

        assert create_tool(remove, metadata=metadata).definition.risk == ToolRisk()


@pytest.mark.parametrize(
    "make",
    [
        lambda: create_tool(remove, metadata={"mutates": True}),
        lambda: tool(metadata={"mutates": True})(remove),
        lambda: create_tool(define_tool(remove), remove, metadata={"mutates": True}),
    ],
)
def test_the_warning_points_at_whoever_made_the_tool(make: Any) -> None:
    with pytest.warns(DeprecationWarning, match="metadata flags") as caught:
        make()

    assert Path(caught[0].filename) == Path(__file__)


@pytest.mark.req("D1-1f")
def test_whether_something_is_a_tool_can_be_asked() -> None:
    assert is_runnable_tool(fake_tool("a:x"))
    assert not is_runnable_tool(remove)
