"""A toolbox: tools that are found as the core registry finds them, and run."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from small_toolboxes import as_tool, box, called, error_of

from toolcrib_core import (
    AliasError,
    DuplicateTool,
    InvalidDefinition,
    RegistryOptions,
    ToolLifecycle,
)
from toolcrib_core.registry import RegistryWarning
from toolcrib_runtime import (
    Decision,
    Policy,
    PolicyRequest,
    Runner,
    Toolbox,
    ToolboxSettings,
    combine_toolboxes,
    create_runner,
    create_toolbox,
)
from toolcrib_runtime.testing import FakeTool, fake_tool

pytestmark = pytest.mark.req("RT-2")


def versions() -> list[FakeTool]:
    numbers = ("2.0.0", "1.2.0", "1.0.0", "3.0.0-beta.1")
    return [fake_tool("geo:find", returns=each, version=each) for each in numbers]


@pytest.mark.req("D1-3l")
@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("geo:find@1.0.0", "1.0.0"),
        ("geo:find@^1", "1.2.0"),
        ("geo:find@1", "1.2.0"),
        ("geo:find", "2.0.0"),
        ("geo:find@~1.0", "1.0.0"),
        ("find", "2.0.0"),
        ("geo:find@3.0.0-beta.1", "3.0.0-beta.1"),
        ("geo:seek", "1.0.0"),
        ("geo:look", "1.0.0"),
    ],
)
async def test_a_call_runs_the_tool_that_the_registry_resolves(name: str, version: str) -> None:
    aliases = {"geo:seek": "geo:find@1.0.0", "geo:look": "geo:seek", "find": "geo:find"}
    toolbox = create_toolbox(versions(), aliases=aliases)

    result = await toolbox.call(name)

    assert (result.unwrap(), result.tool_id) == (version, f"geo:find@{version}")
    assert toolbox.resolve(name).definition.version == version
    assert name in toolbox


async def test_a_version_can_be_asked_for_beside_the_name() -> None:
    assert create_toolbox(versions()).resolve("geo:find", version="^1").definition.version == "1.2.0"


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("geo:fnd", "toolbox.unknown-tool"),
        ("geo:find@9", "toolbox.unknown-version"),
        ("", "toolbox.invalid-tool-id"),
    ],
)
async def test_a_name_that_leads_nowhere_is_a_result_with_the_registrys_error(name: str, code: str) -> None:
    tools = versions()
    toolbox = create_toolbox(tools)

    result = await toolbox.call(name)

    assert error_of(result)[0] == code
    assert name not in toolbox
    assert all(each.calls == [] for each in tools)


async def test_a_bare_name_means_the_default_namespace_and_never_one_that_merely_has_such_a_tool() -> None:
    elsewhere, here = fake_tool("a:find"), fake_tool("seek", returns=1)
    toolbox = create_toolbox([elsewhere, here])

    found, missed = await toolbox.call("seek"), await toolbox.call("find")

    assert found.unwrap() == 1
    assert (error_of(missed)[0], elsewhere.calls) == ("toolbox.unknown-tool", [])
    assert "Did you mean `a:find`?" in missed.text


def deprecated(replaced_by: str | None = "geo:find") -> FakeTool:
    return fake_tool("geo:old", returns="old", lifecycle=ToolLifecycle(deprecated=True, replaced_by=replaced_by))


async def test_a_deprecated_tool_runs_only_when_it_is_named_in_full_and_warns() -> None:
    told: list[RegistryWarning] = []
    old = fake_tool("old", returns="old", lifecycle=ToolLifecycle(deprecated=True, replaced_by="geo:find"))
    toolbox = create_toolbox([old, *versions()], registry_options=RegistryOptions(on_warning=told.append))

    refused, run = await toolbox.call("old"), await toolbox.call(old.id)

    assert error_of(refused)[0] == "toolbox.deprecated-tool"
    assert "geo:find" in refused.text
    assert run.unwrap() == "old"
    assert [each.tool_id for each in told] == [old.id]
    assert toolbox.resolve("old", allow_deprecated=True) is old


@pytest.mark.req("CT-20")
async def test_the_id_of_an_unversioned_tool_runs_that_tool_also_beside_a_version_of_it() -> None:
    unversioned = fake_tool("find", returns="unversioned")
    toolbox = create_toolbox([unversioned, fake_tool("find", returns="1.0.0", version="1.0.0")])

    assert (await toolbox.call(unversioned.id)).unwrap() == "unversioned"
    assert (await toolbox.call("find")).unwrap() == "1.0.0"


async def test_without_a_channel_of_its_own_the_warning_is_one_of_pythons() -> None:
    old = deprecated()

    with pytest.warns(RegistryWarning, match="is deprecated. Use `geo:find` instead"):
        assert (await create_toolbox([old]).call(old.id)).ok


def test_asking_whether_a_deprecated_tool_is_there_warns_of_nothing() -> None:
    toolbox = create_toolbox([deprecated()])

    with warnings.catch_warnings():
        warnings.simplefilter("error")

        assert "geo:old" in toolbox
        assert toolbox.missing(["geo:old", "geo:new"]) == ["geo:new"]


def test_tools_are_found_by_words() -> None:
    toolbox = create_toolbox(
        [
            fake_tool("weather:forecast", description="Tell the weather of the coming days."),
            fake_tool("mail:send", description="Send a message to somebody."),
        ]
    )

    found = toolbox.search("weather tomorrow", limit=1)

    assert [each.id for each in found.hits] == [toolbox.resolve("weather:forecast").id]


def test_a_toolbox_is_a_collection_of_its_tools_by_id() -> None:
    tools = [fake_tool("b:y"), fake_tool("a:x")]
    toolbox = create_toolbox(tools)

    assert (len(toolbox), list(toolbox), toolbox.tools) == (2, [tools[1], tools[0]], (tools[1], tools[0]))
    assert [each.id for each in toolbox.registry.list()] == [tools[1].id, tools[0].id]
    assert "a:x" in toolbox
    assert "x" not in toolbox
    assert tools[0].id in toolbox
    assert 5 not in toolbox
    assert toolbox.missing(["a:x", "a:z", "q"]) == ["a:z", "q"]


def test_an_empty_toolbox_is_a_toolbox() -> None:
    assert (len(create_toolbox()), create_toolbox().tools) == (0, ())


@pytest.mark.req("D1-7a")
def test_a_runner_is_a_toolbox_by_its_other_name() -> None:
    assert Runner is Toolbox
    assert isinstance(create_runner([fake_tool("a:x")]), Toolbox)


@pytest.mark.parametrize("wrong", [lambda: 1, "tool", 5, None])
def test_what_is_not_a_tool_is_refused_with_what_to_do(wrong: Any) -> None:
    with pytest.raises(InvalidDefinition, match=r"is not a tool\. Decorate the function with `@tool`"):
        create_toolbox([wrong])


def test_two_tools_with_one_id_are_refused() -> None:
    one, other = fake_tool("a:x", returns=1), fake_tool("a:x", returns=2)

    with pytest.raises(DuplicateTool, match="is there twice"):
        create_toolbox([one, other])
    assert len(create_toolbox([one, one])) == 1


def test_two_tools_with_one_id_and_other_definitions_are_refused_too() -> None:
    one, other = (fake_tool("a:x", version="1.0.0", description=text) for text in ("One.", "Other."))

    with pytest.raises(DuplicateTool):
        create_toolbox([one, other])


def test_an_alias_in_the_way_of_a_tool_is_refused() -> None:
    with pytest.raises(AliasError):
        create_toolbox([fake_tool("a:x", version="1.0.0"), fake_tool("a:y", version="1.0.0")], aliases={"a:x": "a:y"})


def test_an_unknown_setting_is_refused() -> None:
    with pytest.raises(TypeError, match="time_out"):
        create_toolbox([], time_out=5)


@pytest.mark.parametrize(
    "setting", [{"timeout": -1}, {"concurrency": 0}, {"cache_entries": 0}, {"timeout": float("nan")}]
)
def test_a_setting_that_makes_no_sense_is_refused(setting: Any) -> None:
    with pytest.raises(ValueError, match=next(iter(setting))):
        ToolboxSettings(**setting)


async def test_tools_of_ten_thousand_are_put_together_in_linear_time() -> None:
    shared = fake_tool("a:x", returns=1)
    tools = [shared.replace(definition=shared.definition.replace(name=f"x{each}")) for each in range(2_000)]

    toolbox = create_toolbox(tools)

    assert (len(toolbox), (await toolbox.call("a:x1999")).unwrap()) == (2_000, 1)


async def test_a_call_through_the_toolbox_needs_no_tool_call_object() -> None:
    echo = fake_tool("echo", returns=1)

    assert (await box(echo).call("echo", '{"x": 1}')).unwrap() == 1
    assert (await called(as_tool(echo), {"x": 2})).ok
    assert echo.calls == [{"x": 1}, {"x": 2}]


@pytest.mark.req("CT-1", "CL-17")
async def test_a_caller_that_decides_by_risk_gets_a_toolbox_that_asks_by_its_rules_only() -> None:
    wipe = as_tool(lambda city: f"no {city}", name="wipe", effects="unknown")
    asking = create_toolbox([wipe], policy=Policy(rules=(_deny_paris,)))
    combined = combine_toolboxes(asking, create_toolbox([fake_tool("other", returns="other")]))

    for toolbox in (asking, combined):
        delegated = toolbox.delegate_risk()

        assert (await toolbox.call("wipe", {"city": "Oslo"})).outcome == "action_required"
        assert (await delegated.call("wipe", {"city": "Oslo"})).unwrap() == "no Oslo"
        assert error_of(await delegated.call("wipe", {"city": "Paris"}))[0] == "toolbox.not-permitted"


def _deny_paris(request: PolicyRequest) -> Decision | None:
    return "deny" if request.arguments["city"] == "Paris" else None
