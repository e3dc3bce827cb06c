"""Aliases: chains without cycles, never in the way of a tool, and errors that print the chain."""

from __future__ import annotations

import time

import pytest
from registry_tools import contents, ids, refused, tool

from toolcrib_core.errors import (
    AliasConflict,
    AliasCycle,
    AliasTooDeep,
    InvalidToolId,
    QueryError,
    UnknownTool,
    UnknownVersion,
)
from toolcrib_core.registry import ToolRegistry, create_registry


def _chain(length: int, *, max_alias_depth: int = 5) -> ToolRegistry:
    """`a:1 -> a:2 -> … -> fs:read@1.0.0`, with so many hops."""
    names = [f"a:{number}" for number in range(1, length + 1)]
    targets = [*names[1:], "fs:read@1.0.0"]
    aliases = dict(zip(names, targets, strict=True))
    return create_registry([tool("fs:read@1.0.0")], aliases=aliases, max_alias_depth=max_alias_depth)


@pytest.mark.req("AR-2.4", "D1-3i")
@pytest.mark.parametrize(
    ("target", "found"),
    [
        ("fs:read@1.0.0", "fs:read@1.0.0"),
        ("fs:read", "fs:read@2.1.0"),
        ("fs:read@^1", "fs:read@1.5.0"),
        ("fs:read@1", "fs:read@1.5.0"),
    ],
)
def test_an_alias_stands_for_an_id_a_name_or_a_range(target: str, found: str) -> None:
    registry = create_registry([tool(f"fs:read@{version}") for version in ("1.0.0", "1.5.0", "2.1.0")])

    registry.add_alias("shell:cat", target)

    assert registry.resolve("shell:cat").id == found


@pytest.mark.req("AR-2.4", "D1-3a")
def test_aliases_of_register_point_at_exactly_the_id_registered() -> None:
    registry = create_registry()
    registry.register(tool("fs:read@1.0.0"), aliases=["cat", "shell:cat"])

    registry.register(tool("fs:read@2.0.0"))

    assert registry.aliases() == {"default:cat": "fs:read@1.0.0", "shell:cat": "fs:read@1.0.0"}
    assert registry.resolve("cat").id == "fs:read@1.0.0"


@pytest.mark.req("AR-2.4", "D1-3i")
def test_a_chain_of_aliases_is_followed_to_its_end() -> None:
    assert _chain(5).resolve("a:1").id == "fs:read@1.0.0"


@pytest.mark.req("AR-2.4")
def test_the_version_asked_of_an_alias_is_asked_of_what_it_leads_to() -> None:
    registry = create_registry([tool("fs:read@1.0.0"), tool("fs:read@2.0.0")], aliases={"old:read": "fs:read"})

    assert registry.resolve("old:read@^1").id == "fs:read@1.0.0"
    assert registry.resolve("old:read", version="1.0.0").id == "fs:read@1.0.0"
    assert registry.resolve("old:read").id == "fs:read@2.0.0"


@pytest.mark.req("AR-2.4")
def test_a_version_that_the_target_of_an_alias_rules_out_is_not_there() -> None:
    registry = create_registry([tool("fs:read@1.0.0"), tool("fs:read@2.0.0")], aliases={"old:read": "fs:read@1.0.0"})

    error = refused(UnknownVersion, lambda: registry.resolve("old:read@^2"))

    assert error.message == "No registered version fits `old:read@^2` (old:read@^2 -> fs:read@1.0.0)."
    assert registry.resolve("old:read@^1").id == "fs:read@1.0.0"


@pytest.mark.req("AR-2.4")
def test_an_alias_may_be_one_version_of_a_name() -> None:
    registry = create_registry([tool("fs:read@1.0.0"), tool("fs:read@2.0.0")])

    registry.add_alias("fs:read@stable", "fs:read@1.0.0")

    assert registry.resolve("fs:read@stable").id == "fs:read@1.0.0"
    assert registry.resolve("fs:read").id == "fs:read@2.0.0"


@pytest.mark.req("AR-2.4")
def test_an_alias_may_point_forward_and_until_then_the_error_prints_the_chain() -> None:
    registry = create_registry(aliases={"a:x": "a:y", "a:y": "fs:read"})

    error = refused(UnknownTool, lambda: registry.resolve("a:x"))
    registry.register(tool("fs:read@1.0.0"))

    assert "a:x -> a:y -> fs:read" in error.message
    assert error.details["chain"] == ["a:x", "a:y", "fs:read"]
    assert registry.resolve("a:x").id == "fs:read@1.0.0"


@pytest.mark.req("AR-2.4", "D1-0n")
@pytest.mark.fault("A4")
def test_an_alias_of_itself_is_refused() -> None:
    registry = create_registry()

    error = refused(AliasCycle, lambda: registry.add_alias("a:x", "a:x"))

    assert "a:x -> a:x" in error.message
    assert registry.aliases() == {}


@pytest.mark.req("AR-2.4", "D1-0n")
@pytest.mark.fault("A4")
def test_a_cycle_of_three_is_refused_with_the_chain() -> None:
    registry = create_registry(aliases={"a:x": "a:y", "a:y": "a:z"})
    before = contents(registry)

    error = refused(AliasCycle, lambda: registry.add_alias("a:z", "a:x"))

    assert "a:z -> a:x -> a:y -> a:z" in error.message
    assert error.details["chain"] == ["a:z", "a:x", "a:y", "a:z"]
    assert contents(registry) == before


@pytest.mark.req("AR-2.4")
@pytest.mark.fault("A4")
@pytest.mark.parametrize("target", ["a:x@1.0.0", "a:x@^1", "a:x#0123abcd"])
def test_an_alias_of_a_version_of_itself_is_a_cycle(target: str) -> None:
    registry = create_registry()

    refused(AliasCycle, lambda: registry.add_alias("a:x", target))


@pytest.mark.req("AR-2.4", "D1-0n")
@pytest.mark.fault("A4")
def test_a_cycle_made_by_taking_an_alias_away_is_found_when_followed() -> None:
    registry = create_registry(aliases={"b:x@1": "c:x", "a:x": "b:x@1", "b:x": "a:x"})

    registry.remove_alias("b:x@1")

    refused(AliasCycle, lambda: registry.resolve("a:x"))


@pytest.mark.req("AR-2.4", "D1-0o", "D1-3j")
@pytest.mark.fault("A4")
def test_the_sixth_hop_is_refused_at_either_end_of_a_chain() -> None:
    registry = _chain(5)
    before = contents(registry)

    at_the_start = refused(AliasTooDeep, lambda: registry.add_alias("a:0", "a:1"))
    waiting = create_registry(aliases={f"a:{number}": f"a:{number + 1}" for number in range(1, 6)})
    at_the_end = refused(AliasTooDeep, lambda: waiting.add_alias("a:6", "fs:read"))

    assert "a:0 -> a:1 -> a:2 -> a:3 -> a:4 -> a:5 -> fs:read@1.0.0" in at_the_start.message
    assert "a:1 -> a:2 -> a:3 -> a:4 -> a:5 -> a:6 -> fs:read" in at_the_end.message
    assert contents(registry) == before


@pytest.mark.req("AR-2.4")
@pytest.mark.fault("A4")
def test_joining_two_chains_that_are_too_long_together_is_refused() -> None:
    registry = create_registry(aliases={"a:1": "a:2", "a:2": "a:3", "b:1": "b:2", "b:2": "b:3", "b:3": "b:4"})

    refused(AliasTooDeep, lambda: registry.add_alias("a:3", "b:1"))

    assert "a:3" not in registry.aliases()


@pytest.mark.req("AR-2.4", "D1-0o")
@pytest.mark.fault("A4")
def test_the_depth_is_limited_when_followed_too() -> None:
    """A version carried along leads through `namespace:name`, which nobody can know when the alias is added."""
    aliases = {"a:1": "b:1@1", "b:1": "b:2", "b:2": "b:3", "b:3": "b:4", "b:4": "b:5", "b:5": "fs:read"}
    registry = create_registry([tool("fs:read@1.0.0")], aliases={key: aliases[key] for key in aliases if key != "a:1"})
    registry.add_alias("b:1@1", "fs:read@1.0.0")
    registry.add_alias("a:1", "b:1@1")
    registry.remove_alias("b:1@1")

    refused(AliasTooDeep, lambda: registry.resolve("a:1"))


@pytest.mark.req("AR-2.4")
@pytest.mark.fault("A4")
def test_a_chain_of_a_thousand_is_refused_without_a_hang() -> None:
    started = time.process_time()

    refused(AliasTooDeep, lambda: _chain(1000))

    assert time.process_time() - started < 1


@pytest.mark.req("AR-2.4")
@pytest.mark.fault("A4")
def test_a_chain_of_a_thousand_is_refused_also_when_its_end_is_looked_at_first() -> None:
    aliases = {f"a:{number + 1:04}": f"a:{number:04}" for number in range(1000)}

    error = refused(AliasTooDeep, lambda: create_registry(aliases=aliases))

    assert len(error.details["chain"]) < 10  # type: ignore[arg-type]  # details are JSON


@pytest.mark.req("AR-2.4")
@pytest.mark.fault("A4")
def test_a_longer_chain_works_where_it_is_allowed() -> None:
    assert _chain(100, max_alias_depth=100).resolve("a:1").id == "fs:read@1.0.0"


@pytest.mark.req("AR-2.4")
@pytest.mark.fault("A4")
@pytest.mark.parametrize("alias", ["fs:read@1.0.0", "fs:read"])
def test_an_alias_cannot_hide_a_registered_tool(alias: str) -> None:
    registry = create_registry([tool("fs:read@1.0.0"), tool("fs:write@1.0.0")])
    before = contents(registry)

    for override in (False, True):
        refused(AliasConflict, lambda: registry.add_alias(alias, "fs:write", override=override))  # noqa: B023  # called at once

    assert contents(registry) == before


@pytest.mark.req("AR-2.4")
@pytest.mark.parametrize("alias", ["fs:read@1.0.0", "fs:read"])
def test_a_tool_cannot_take_over_an_alias(alias: str) -> None:
    registry = create_registry([tool("fs:write@1.0.0")], aliases={alias: "fs:write"})
    before = contents(registry)

    for override in (False, True):
        error = refused(AliasConflict, lambda: registry.register(tool("fs:read@1.0.0"), override=override))  # noqa: B023  # called at once

    assert f"`{alias}` is an alias of `fs:write`" in error.message
    assert contents(registry) == before


@pytest.mark.req("AR-2.4")
def test_a_refused_alias_keeps_its_tool_from_being_registered_too() -> None:
    registry = create_registry([tool("fs:write@1.0.0")], aliases={"cat": "fs:write"})
    before = contents(registry)

    refused(AliasConflict, lambda: registry.register(tool("fs:read@1.0.0"), aliases=["dog", "cat"]))

    assert contents(registry) == before


@pytest.mark.req("AR-2.4")
def test_an_alias_that_is_taken_moves_only_on_demand() -> None:
    registry = create_registry([tool("fs:read@1.0.0"), tool("fs:write@1.0.0")], aliases={"cat": "fs:read"})

    error = refused(AliasConflict, lambda: registry.add_alias("cat", "fs:write"))
    registry.add_alias("cat", "fs:write", override=True)

    assert "`default:cat` is an alias of `fs:read` already" in error.message
    assert registry.resolve("cat").id == "fs:write@1.0.0"


@pytest.mark.req("AR-2.4")
def test_adding_the_same_alias_again_changes_nothing() -> None:
    registry = create_registry(aliases={"cat": "fs:read"})
    before = contents(registry)

    registry.add_alias("default:cat", {"namespace": "fs", "name": "read"})

    assert contents(registry) == before


@pytest.mark.req("AR-2.4", "AR-2.1")
def test_unregistering_takes_the_aliases_of_that_id_along_and_no_others() -> None:
    registry = create_registry(
        [tool("fs:read@1.0.0"), tool("fs:read@2.0.0")],
        aliases={"one": "fs:read@1.0.0", "first": "fs:read@1.0.0", "two": "fs:read@2.0.0", "any": "fs:read"},
    )

    registry.unregister("fs:read@1.0.0")

    assert registry.aliases() == {"default:any": "fs:read", "default:two": "fs:read@2.0.0"}


@pytest.mark.req("AR-2.4")
def test_replacing_a_tool_keeps_its_aliases() -> None:
    registry = create_registry([tool("fs:read@1.0.0")], aliases={"cat": "fs:read@1.0.0"})
    newer = tool("fs:read@1.0.0", description="Newer.")

    registry.register(newer, override=True)

    assert registry.resolve("cat") is newer


@pytest.mark.req("AR-2.4")
def test_removing_an_alias_returns_its_target_and_a_second_time_says_it_is_unknown() -> None:
    registry = create_registry(aliases={"shell:cat": "fs:read"})

    target = registry.remove_alias("shell:cat")

    assert target == "fs:read"
    error = refused(UnknownTool, lambda: registry.remove_alias("shell:cat"))
    assert "No alias is called `shell:cat`" in error.message


@pytest.mark.req("AR-2.4", "AR-2.2", "D1-0k")
def test_get_does_not_follow_an_alias_but_says_that_it_is_one() -> None:
    registry = create_registry([tool("fs:read@1.0.0")], aliases={"cat": "fs:read"})

    error = refused(UnknownTool, lambda: registry.get("cat"))

    assert "alias of `fs:read`" in error.message
    assert "`resolve`" in str(error.hint)


@pytest.mark.req("AR-2.4")
@pytest.mark.parametrize("alias", ["", ":", "a:b:c", "a b", "x" * 3000])
def test_a_malformed_alias_is_refused(alias: str) -> None:
    registry = create_registry()

    refused(InvalidToolId, lambda: registry.add_alias(alias, "fs:read"))


@pytest.mark.req("AR-2.4")
def test_an_alias_of_a_malformed_range_says_so_when_resolved() -> None:
    registry = create_registry([tool("fs:read@1.0.0")], aliases={"cat": "fs:read@>>1"})

    refused(QueryError, lambda: registry.resolve("cat"))


@pytest.mark.req("AR-2.4", "AR-6.1")
def test_aliases_that_come_together_are_judged_together() -> None:
    """One by one, in this order, the second would make a cycle that the third takes away again."""
    aliases = {"a:x": "b:x@1", "b:x": "a:x", "b:x@1": "c:x"}

    assert create_registry(aliases=aliases).aliases() == aliases


@pytest.mark.req("AR-2.4")
def test_aliases_are_given_as_a_copy_ascending() -> None:
    registry = create_registry([tool("fs:read@1.0.0")], aliases={"b": "fs:read", "a": "fs:read"})

    registry.aliases().clear()

    assert list(registry.aliases()) == ["default:a", "default:b"]
    assert ids(registry.list()) == ["fs:read@1.0.0"]
