"""The registry: registering, getting, listing, snapshots, and the same answer in every order."""

from __future__ import annotations

import random
import subprocess
import sys
from typing import Any

import pytest
from registry_tools import contents, ids, refused, tool

from toolcrib_core.definition import ToolDefinition
from toolcrib_core.errors import (
    AmbiguousTool,
    CatalogError,
    DuplicateTool,
    InvalidDefinition,
    InvalidToolId,
    ResolutionError,
    UnknownTool,
    UnknownVersion,
)
from toolcrib_core.identity import ToolIdentity, hash8
from toolcrib_core.registry import ToolRegistry, create_registry
from toolcrib_core.serialization import registry_json


@pytest.mark.req("AR-2.1")
def test_a_registered_tool_is_got_by_its_id_listed_counted_and_contained() -> None:
    registry = create_registry()

    registered = registry.register(tool("fs:read@1.0.0"))

    assert registry.get("fs:read@1.0.0") is registered
    assert registry.list() == (registered,) == tuple(registry)
    assert len(registry) == 1
    assert "fs:read@1.0.0" in registry
    assert "fs:read" not in registry


@pytest.mark.req("AR-2.1", "D1-3f")
def test_a_list_is_ascending_by_id() -> None:
    registry = create_registry([tool("b:x@1"), tool("a:z@1"), tool("a:y@2"), tool("a:y@1")])

    assert ids(registry.list()) == ["a:y@1", "a:y@2", "a:z@1", "b:x@1"]


@pytest.mark.req("AR-2.1")
@pytest.mark.fault("A3")
def test_registering_the_same_definition_again_changes_nothing() -> None:
    registry = create_registry([tool("fs:read@1.0.0", "path")])
    before = contents(registry)

    again = registry.register(tool("fs:read@1.0.0", "path"))

    assert again is registry.get("fs:read@1.0.0")
    assert contents(registry) == before


@pytest.mark.req("AR-2.1", "D1-3b")
@pytest.mark.fault("A3")
@pytest.mark.parametrize(
    ("other", "differs", "says"),
    [
        (tool("fs:read@1.0.0", "file"), ["shape"], "input or output schema"),
        (tool("fs:read@1.0.0", "path", description="Read."), ["prose"], "what it says about itself"),
        (tool("fs:read@1.0.0", "file", title="R"), ["shape", "prose"], "schema and what it says"),
        (tool("fs:read@1.0.0", "path", cost_hint=2), [], "metadata, lifecycle, kind or cost"),
    ],
)
def test_another_definition_of_the_same_id_is_refused_and_told_what_differs(
    other: ToolDefinition, differs: list[str], says: str
) -> None:
    registry = create_registry([tool("fs:read@1.0.0", "path")])
    before = contents(registry)

    error = refused(DuplicateTool, lambda: registry.register(other))

    assert error.details["differs"] == differs
    assert says in error.message
    assert "override=True" in str(error.hint)
    assert contents(registry) == before


@pytest.mark.req("AR-2.1", "D1-3b")
@pytest.mark.fault("A3")
def test_override_replaces_the_definition_and_makes_it_the_last_registered() -> None:
    registry = create_registry([tool("fs:read@one"), tool("fs:read@two")])
    newer = tool("fs:read@one", description="Newer.")

    registry.register(newer, override=True)

    assert registry.get("fs:read@one") is newer
    assert len(registry) == 2
    assert registry.resolve("fs:read") is newer


@pytest.mark.req("AR-2.1")
@pytest.mark.fault("A8")
def test_definitions_with_one_hash_and_different_content_are_told_apart_by_their_full_digest() -> None:
    text = ToolDefinition(name="t", input_schema={"type": "object", "properties": {"x": {"type": "string"}}})
    number = ToolDefinition(name="t", input_schema={"type": "object", "properties": {"x": {"type": "number"}}})
    registry = create_registry([text])

    error = refused(DuplicateTool, lambda: registry.register(number))

    assert text.id == number.id
    assert error.details["differs"] == ["shape"]
    assert registry.get(text.id) is text


@pytest.mark.req("AR-2.2")
@pytest.mark.fault("A8")
def test_a_hash_that_several_versions_share_is_ambiguous() -> None:
    registry = create_registry([tool("fs:read@1.0.0", "path"), tool("fs:read@2.0.0", "path")])
    shared = tool("fs:read", "path", upstream_name="read").id

    error = refused(AmbiguousTool, lambda: registry.get(shared))

    assert error.details["candidates"] == ["fs:read@2.0.0", "fs:read@1.0.0"]


@pytest.mark.req("AR-2.1")
@pytest.mark.parametrize("value", [None, "fs:read@1.0.0", {"name": "read"}, ToolDefinition, ("name", "read")])
def test_what_is_not_a_definition_is_refused(value: Any) -> None:
    registry = create_registry()

    error = refused(InvalidDefinition, lambda: registry.register(value))

    assert "ToolDefinition" in error.message
    assert contents(registry) == contents(create_registry())


@pytest.mark.req("AR-2.1")
def test_registering_many_is_one_change_or_none() -> None:
    registry = create_registry([tool("fs:read@1.0.0", "path")])
    before = contents(registry)

    refused(DuplicateTool, lambda: registry.register_all([tool("fs:a@1"), tool("fs:read@1.0.0"), tool("fs:b@1")]))
    unchanged = contents(registry)
    registry.register_all([tool("fs:a@1"), tool("fs:b@1")])

    assert unchanged == before
    assert registry.revision == 2
    assert ids(registry.list()) == ["fs:a@1", "fs:b@1", "fs:read@1.0.0"]


@pytest.mark.req("AR-2.1", "D1-3c")
def test_unregistering_returns_the_tool_and_a_second_time_says_it_is_unknown() -> None:
    registry = create_registry([tool("fs:read@1.0.0")])

    removed = registry.unregister("fs:read@1.0.0")

    assert removed.id == "fs:read@1.0.0"
    assert len(registry) == 0
    refused(UnknownTool, lambda: registry.unregister("fs:read@1.0.0"))


@pytest.mark.req("AR-2.1", "AR-2.2")
def test_unregistering_needs_the_full_id() -> None:
    registry = create_registry([tool("fs:read@1.0.0")])

    refused(AmbiguousTool, lambda: registry.unregister("fs:read"))

    assert len(registry) == 1


@pytest.mark.req("AR-2.2")
@pytest.mark.parametrize("upstream_name", [None, "read"])
def test_an_unversioned_tool_is_reachable_by_its_id(upstream_name: str | None) -> None:
    unversioned = tool("fs:read", "path", upstream_name=upstream_name)
    registry = create_registry([unversioned, tool("fs:read@1.0.0", "path")])

    assert registry.get(unversioned.id) is unversioned
    assert registry.get(unversioned.identity) is unversioned
    assert registry.unregister(unversioned.id) is unversioned


@pytest.mark.req("CT-20", "AR-2.2")
@pytest.mark.parametrize("upstream_name", [None, "read"])
def test_an_unversioned_tool_is_found_with_and_without_its_hash(upstream_name: str | None) -> None:
    unversioned = tool("fs:read", "path", upstream_name=upstream_name)
    with_hash = f"fs:read#{hash8('read', unversioned.input_schema)}"
    registry = create_registry([unversioned])

    assert unversioned.id == ("fs:read" if upstream_name is None else with_hash)
    for written in ("fs:read", with_hash):
        assert registry.get(written) is unversioned
        assert registry.resolve(written) is unversioned
    refused(UnknownVersion, lambda: registry.get("fs:read#00000000"))


@pytest.mark.req("CT-20", "AR-2.2")
def test_an_id_without_its_hash_is_ambiguous_where_several_tools_have_the_name() -> None:
    one = tool("fs:read", "path", upstream_name="read")
    other = tool("fs:read", "path", "limit", upstream_name="read")
    registry = create_registry([one, other])

    error = refused(AmbiguousTool, lambda: registry.get("fs:read"))

    assert sorted(error.details["candidates"]) == sorted([one.id, other.id])
    assert registry.get(other.id) is other


@pytest.mark.req("CT-20")
@pytest.mark.parametrize("method", ["get", "resolve"])
@pytest.mark.parametrize(
    "asked",
    ["nosuch", "read@9", "read#00000000", "a b", "x" * 60, "x" * 200, "other:nosuch"],
    ids=["name", "version", "hash", "no id", "long", "longer", "namespace"],
)
def test_an_error_has_the_id_as_the_caller_wrote_it(method: str, asked: str) -> None:
    registry = create_registry([tool("default:read", "path")])

    with pytest.raises((ResolutionError, InvalidToolId)) as caught:
        getattr(registry, method)(asked)

    assert f"`{asked[:40]}" in caught.value.message
    assert "default:" not in caught.value.message


@pytest.mark.req("CT-20", "AR-2.3")
def test_the_id_of_an_unversioned_tool_asks_resolve_for_a_choice_among_all_versions() -> None:
    unversioned, versioned = tool("fs:read", "path"), tool("fs:read@1.0.0", "path")
    registry = create_registry([unversioned, versioned])

    assert registry.get("fs:read") is unversioned
    assert registry.resolve("fs:read") is versioned


@pytest.mark.req("AR-2.2", "D1-0j")
@pytest.mark.parametrize(
    "identity",
    [
        {"namespace": "fs", "name": "read", "version": "1.0.0"},
        ToolIdentity(namespace="fs", name="read", version="1.0.0"),
        f"fs:read@1.0.0#{tool('fs:read', 'path', upstream_name='read').identity.hash8}",
    ],
)
def test_get_takes_a_full_identity_in_every_form(identity: Any) -> None:
    registry = create_registry([tool("fs:read@1.0.0", "path")])

    assert registry.get(identity).id == "fs:read@1.0.0"


@pytest.mark.req("AR-2.2", "D1-3d")
def test_a_name_without_a_version_is_refused_with_the_ids_it_could_mean() -> None:
    registry = create_registry([tool("fs:read@1.0.0"), tool("fs:read@1.10.0"), tool("fs:read@1.9.0")])

    error = refused(AmbiguousTool, lambda: registry.get("fs:read"))

    assert error.details["candidates"] == ["fs:read@1.10.0", "fs:read@1.9.0", "fs:read@1.0.0"]
    assert "`fs:read` fits 3 tools" in error.message


@pytest.mark.req("AR-2.2", "D1-3d")
def test_a_name_that_fits_one_tool_is_refused_too_and_told_its_full_id() -> None:
    registry = create_registry([tool("fs:read@1.0.0")])

    error = refused(AmbiguousTool, lambda: registry.get("fs:read"))

    assert error.details["candidates"] == ["fs:read@1.0.0"]
    assert "`fs:read@1.0.0`" in str(error.hint)


@pytest.mark.req("AR-2.2")
@pytest.mark.parametrize("asked", ["fs:read@3.0.0", "fs:read#00000000", "fs:read@1.0.0#00000000", "fs:read@1.0"])
def test_a_version_or_shape_that_is_not_there_is_told_those_that_are(asked: str) -> None:
    registry = create_registry([tool("fs:read@1.0.0"), tool("fs:read@2.0.0")])

    error = refused(UnknownVersion, lambda: registry.get(asked))

    assert error.details["candidates"] == ["fs:read@2.0.0", "fs:read@1.0.0"]


@pytest.mark.req("AR-2.2")
def test_thousands_of_candidates_are_counted_but_not_all_listed() -> None:
    registry = create_registry([tool(f"fs:read@1.{minor}.0") for minor in range(100)])

    error = refused(AmbiguousTool, lambda: registry.get("fs:read"))

    assert error.details["total"] == 100
    assert len(error.details["candidates"]) == 20  # type: ignore[arg-type]  # details are JSON
    assert "and 97 more" in str(error.hint)


@pytest.mark.req("AR-2.2")
@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("fs:raed@1.0.0", "fs:read@1.0.0"),
        ("sf:read@1.0.0", "fs:read@1.0.0"),
        ("read@1.0.0", "fs:read@1.0.0"),
        ("FS:Read@1.0.0", "fs:read@1.0.0"),
        ("github:create_isue@2.1.0", "github:create_issue@2.1.0"),
        ("create_issue@2.1.0", "github:create_issue@2.1.0"),
    ],
)
def test_an_unknown_id_is_told_which_may_be_meant(asked: str, meant: str) -> None:
    registry = create_registry([tool("fs:read@1.0.0"), tool("github:create_issue@2.1.0"), tool("db:migrate@1.0.0")])

    error = refused(UnknownTool, lambda: registry.get(asked))

    assert error.details["didYouMean"] == [meant]
    assert meant in str(error.hint)


@pytest.mark.req("AR-2.2")
def test_nothing_is_suggested_where_nothing_is_close() -> None:
    registry = create_registry([tool("fs:read@1.0.0")])

    error = refused(UnknownTool, lambda: registry.get("calendar:appointments@1.0.0"))

    assert error.details["didYouMean"] == []


@pytest.mark.req("AR-2.2")
@pytest.mark.parametrize("text", ["", ":", "fs:", "fs:read@", "fs:re ad@1", "fs:read@1.0.0\n", "x" * 5000])
def test_a_malformed_id_is_refused(text: str) -> None:
    registry = create_registry([tool("fs:read@1.0.0")])

    refused(InvalidToolId, lambda: registry.get(text))


@pytest.mark.req("AR-2.1")
def test_a_snapshot_keeps_showing_its_moment() -> None:
    registry = create_registry([tool("fs:read@1.0.0")], aliases={"fs:cat": "fs:read"})
    snapshot = registry.snapshot()
    before = contents(snapshot)

    registry.register(tool("fs:read@2.0.0"))
    registry.unregister("fs:read@1.0.0")
    registry.remove_alias("fs:cat")

    assert contents(snapshot) == before
    assert snapshot.resolve("fs:cat").id == "fs:read@1.0.0"
    assert snapshot.get("fs:read@1.0.0") is snapshot.query(text="read")[0]
    assert snapshot.snapshot().list() is snapshot.list()
    assert registry.resolve("fs:read").id == "fs:read@2.0.0"


@pytest.mark.req("AR-2.1")
def test_a_snapshot_cannot_be_changed() -> None:
    snapshot = create_registry().snapshot()

    assert not any(hasattr(snapshot, name) for name in ("register", "unregister", "add_alias", "remove_alias"))


@pytest.mark.req("AR-2.1", "AR-6.1", "D1-0l", "D1-3g")
def test_a_registry_serializes_its_tools_and_aliases() -> None:
    registry = create_registry([tool("fs:read@1.0.0")], aliases={"fs:cat": "fs:read"})

    serialized = registry.serialize()

    assert [each["id"] for each in serialized["tools"]] == ["fs:read@1.0.0"]
    assert serialized["aliases"] == {"fs:cat": "fs:read"}


@pytest.mark.req("AR-6.1", "AR-2.6")
@pytest.mark.fault("A9")
def test_a_hundred_orders_of_registration_give_the_same_list_query_and_bytes() -> None:
    definitions = [tool(f"ns{i % 3}:tool{i % 7}@1.{i}.0", "path", tags=[f"t{i % 2}"]) for i in range(30)]
    aliases = [(f"short:a{i}", definitions[i].id) for i in range(5)]
    rng = random.Random(20)
    seen = set()

    for _ in range(100):
        registry = create_registry(rng.sample(definitions, len(definitions)))
        for alias, target in rng.sample(aliases, len(aliases)):
            registry.add_alias(alias, target)
        chosen = tuple(registry.resolve(f"ns{i % 3}:tool{i % 7}").id for i in range(21))
        listed = tuple(registry.query(tags_any=["t1"], text="tool", select="id", limit=7, offset=2))
        seen.add((registry_json(registry), tuple(ids(registry.list())), listed, chosen))

    assert len(seen) == 1


@pytest.mark.req("AR-6.1")
@pytest.mark.fault("A9")
def test_the_hash_seed_of_the_process_does_not_show() -> None:
    script = (
        "from toolcrib_core.definition import ToolDefinition as D\n"
        "from toolcrib_core.registry import create_registry\n"
        "r = create_registry([D(name=f't{i}', version=f'1.{i}.0') for i in range(40)])\n"
        "for i in range(9): r.add_alias(f'a{i}', f't{i}')\n"
        "try: r.resolve('t')\n"
        "except Exception as e: print(e.to_dict())\n"
        "print([d.id for d in r], r.aliases(), r.query(text='t1', select='id'))\n"
    )

    outputs = {
        subprocess.run(
            [sys.executable, "-c", script], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("0", "1", "42")
    }

    assert len(outputs) == 1


@pytest.mark.req("AR-2.1")
@pytest.mark.parametrize("depth", [0, -1, 101, True, 2.5, "5"])
def test_an_alias_depth_that_makes_no_sense_is_refused(depth: Any) -> None:
    refused(CatalogError, lambda: create_registry(max_alias_depth=depth))


@pytest.mark.req("AR-2.1")
def test_a_registry_says_in_its_repr_how_much_it_holds() -> None:
    registry = ToolRegistry([tool("fs:read@1.0.0")], aliases={"fs:cat": "fs:read"})

    assert repr(registry) == "<ToolRegistry with 1 tools and 1 aliases, revision 1>"


@pytest.mark.slow
@pytest.mark.req("AR-2.1")
def test_a_hundred_thousand_tools_can_be_registered_found_and_missed() -> None:
    template = ToolDefinition(namespace="big", name="tool", version="1.0.0")
    definitions = [template.model_copy(update={"name": f"tool_{i}"}) for i in range(100_000)]
    registry = create_registry(definitions)

    error = refused(UnknownTool, lambda: registry.resolve("big:tool_777x7"))

    assert len(registry) == 100_000
    assert registry.resolve("big:tool_77777") is definitions[77_777]
    assert registry.list()[0].id == "big:tool_0@1.0.0"
    assert error.details["didYouMean"]
