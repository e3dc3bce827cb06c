"""The change feed, and registries made of registries."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from registry_tools import ids, refused, tool

from toolcrib_core.errors import AliasConflict, AliasTooDeep, CatalogError, DuplicateTool
from toolcrib_core.registry import (
    RegistryChange,
    RegistryOptions,
    RegistryWarning,
    ToolRegistry,
    combine_registries,
    create_registry,
)


def _heard_by(registry: ToolRegistry) -> list[tuple[str, str, int]]:
    heard: list[tuple[str, str, int]] = []
    registry.subscribe(lambda change: heard.append((change.kind, change.id, change.revision)))
    return heard


@pytest.mark.req("AR-2.7")
def test_every_change_is_told_once_and_in_order() -> None:
    registry = create_registry()
    heard = _heard_by(registry)

    registry.register(tool("fs:read@1.0.0"), aliases=["cat"])
    registry.register(tool("fs:read@1.0.0", "path"), override=True)
    registry.register_all([tool("fs:a@1"), tool("fs:b@1")])
    registry.add_alias("cat", "fs:a", override=True)
    registry.add_alias("dog", "fs:read@1.0.0")
    registry.unregister("fs:read@1.0.0")
    registry.remove_alias("cat")

    assert heard == [
        ("added", "fs:read@1.0.0", 1),
        ("alias-added", "default:cat", 1),
        ("replaced", "fs:read@1.0.0", 2),
        ("added", "fs:a@1", 3),
        ("added", "fs:b@1", 3),
        ("alias-removed", "default:cat", 4),
        ("alias-added", "default:cat", 4),
        ("alias-added", "default:dog", 5),
        ("alias-removed", "default:dog", 6),
        ("removed", "fs:read@1.0.0", 6),
        ("alias-removed", "default:cat", 7),
    ]


@pytest.mark.req("AR-2.7")
def test_what_fails_or_changes_nothing_is_not_told() -> None:
    registry = create_registry([tool("fs:read@1.0.0")], aliases={"cat": "fs:read"})
    heard = _heard_by(registry)

    registry.register(tool("fs:read@1.0.0"))
    registry.add_alias("cat", "fs:read")
    refused(DuplicateTool, lambda: registry.register(tool("fs:read@1.0.0", "path")))

    assert heard == []


@pytest.mark.req("AR-2.7")
def test_a_change_can_be_seen_when_it_is_told() -> None:
    registry = create_registry()
    seen: list[bool] = []
    registry.subscribe(lambda change: seen.append(change.id in registry and change.revision == registry.revision))

    registry.register(tool("fs:read@1.0.0"))

    assert seen == [True]


@pytest.mark.req("AR-2.7")
def test_a_listener_hears_nothing_after_it_has_unsubscribed() -> None:
    registry = create_registry()
    heard: list[RegistryChange] = []
    unsubscribe = registry.subscribe(heard.append)
    registry.register(tool("a:a@1"))

    unsubscribe()
    unsubscribe()
    registry.register(tool("a:b@1"))

    assert [change.id for change in heard] == ["a:a@1"]


@pytest.mark.req("AR-2.7")
def test_a_listener_that_another_one_unsubscribes_is_not_told_any_more() -> None:
    registry = create_registry()
    heard: list[RegistryChange] = []
    registry.subscribe(lambda _: unsubscribe())
    unsubscribe = registry.subscribe(heard.append)

    registry.register(tool("a:a@1"))

    assert heard == []


@pytest.mark.req("AR-2.7")
def test_a_listener_subscribed_twice_hears_twice_and_each_can_stop_alone() -> None:
    registry = create_registry()
    heard: list[str] = []

    def listen(change: RegistryChange) -> None:
        heard.append(change.id)

    first = registry.subscribe(listen)
    registry.subscribe(listen)
    registry.register(tool("a:a@1"))
    first()
    registry.register(tool("a:b@1"))

    assert heard == ["a:a@1", "a:a@1", "a:b@1"]


@pytest.mark.req("AR-2.7")
def test_a_change_made_by_a_listener_is_told_to_all_after_the_one_it_answers() -> None:
    registry = create_registry()
    heard: list[str] = []

    def answer(change: RegistryChange) -> None:
        if change.id == "a:a@1":
            registry.register(tool("a:b@1"))

    registry.subscribe(answer)
    registry.subscribe(lambda change: heard.append(change.id))
    registry.register(tool("a:a@1"))

    assert heard == ["a:a@1", "a:b@1"]


@pytest.mark.req("AR-2.7")
def test_a_listener_that_raises_undoes_nothing_and_is_reported_as_a_warning() -> None:
    warned: list[RegistryWarning] = []
    registry = create_registry(on_warning=warned.append)
    failure = RuntimeError("secret")

    def broken(_: RegistryChange) -> None:
        raise failure

    registry.subscribe(broken)
    heard = _heard_by(registry)
    registered = registry.register(tool("a:a@1"), aliases=["cat"])

    assert registry.resolve("cat") is registered
    assert [kind for kind, _, _ in heard] == ["added", "alias-added"]
    assert [(each.code, each.tool_id) for each in warned] == [
        ("toolbox.listener-failed", "a:a@1"),
        ("toolbox.listener-failed", "default:cat"),
    ]
    assert "secret" not in warned[0].message
    assert warned[0].__cause__ is failure


@pytest.mark.req("AR-2.7")
def test_the_warning_about_a_listener_points_at_the_line_that_changed_the_registry() -> None:
    registry = create_registry()
    broken: Any = lambda: None  # noqa: E731  # takes no argument, so telling it fails
    registry.subscribe(broken)

    with pytest.warns(RegistryWarning, match="`TypeError`") as caught:
        registry.register(tool("a:a@1"))

    assert caught[0].filename == __file__


@pytest.mark.req("AR-2.7")
def test_changes_of_many_threads_are_told_once_each_in_the_order_of_their_revisions() -> None:
    registry = create_registry()
    heard = _heard_by(registry)
    definitions = [[tool(f"t{thread}:x{number}@1") for number in range(50)] for thread in range(8)]

    def register(mine: list[Any]) -> None:
        for definition in mine:
            registry.register(definition)

    threads = [threading.Thread(target=register, args=(mine,)) for mine in definitions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [revision for _, _, revision in heard] == list(range(1, 401))
    assert sorted(name for _, name, _ in heard) == ids(registry.list())


@pytest.mark.req("AR-2.7", "D1-7e")
def test_combining_keeps_every_tool_and_alias() -> None:
    files = create_registry([tool("fs:read@1.0.0")], aliases={"cat": "fs:read"})
    mail = create_registry([tool("mail:send@1.0.0"), tool("fs:read@1.0.0")], aliases={"post": "mail:send@1.0.0"})

    combined = combine_registries(files, mail.snapshot())

    assert ids(combined.list()) == ["fs:read@1.0.0", "mail:send@1.0.0"]
    assert combined.aliases() == {**files.aliases(), **mail.aliases()}


@pytest.mark.req("AR-2.7")
def test_combining_leaves_the_parts_alone() -> None:
    part = create_registry([tool("fs:read@1.0.0")])

    combine_registries(part).register(tool("fs:write@1.0.0"))

    assert len(part) == 1


@pytest.mark.req("AR-2.7")
@pytest.mark.parametrize(("on_conflict", "winner"), [("first", 0), ("last", 1)])
def test_a_conflict_is_an_error_or_settled_as_asked(on_conflict: Any, winner: int) -> None:
    versions = [tool("fs:read@1.0.0", description=text) for text in ("one", "two")]
    parts = [create_registry([versions[0]], aliases={"cat": "fs:one"}), create_registry([versions[1]])]
    parts[1].add_alias("cat", "fs:two")

    refused(DuplicateTool, lambda: combine_registries(*parts))
    combined = combine_registries(*parts, on_conflict=on_conflict)

    assert combined.list() == (versions[winner],)
    assert combined.aliases() == {"default:cat": ("fs:one", "fs:two")[winner]}


@pytest.mark.req("AR-2.7")
def test_an_alias_with_two_targets_is_a_conflict() -> None:
    parts = [create_registry(aliases={"cat": target}) for target in ("fs:one", "fs:two")]

    refused(AliasConflict, lambda: combine_registries(*parts))


@pytest.mark.req("AR-2.7")
@pytest.mark.parametrize("on_conflict", ["error", "first", "last"])
def test_an_alias_that_hides_a_tool_of_another_part_is_always_refused(on_conflict: Any) -> None:
    parts = [create_registry(aliases={"fs:read": "fs:cat"}), create_registry([tool("fs:read@1.0.0")])]

    refused(AliasConflict, lambda: combine_registries(*parts, on_conflict=on_conflict))


@pytest.mark.req("AR-2.7", "AR-2.4")
def test_aliases_that_are_too_long_together_are_refused() -> None:
    parts = [
        create_registry(aliases={"a:1": "a:2", "a:2": "a:3", "a:3": "b:1"}),
        create_registry(aliases={"b:1": "b:2", "b:2": "b:3", "b:3": "b:4"}),
    ]

    refused(AliasTooDeep, lambda: combine_registries(*parts))


@pytest.mark.req("AR-2.7", "AR-2.3")
def test_combining_keeps_the_order_of_registration_that_decides_between_free_versions() -> None:
    parts = [create_registry([tool("fs:read@zeta"), tool("fs:read@alpha")]), create_registry([tool("fs:read@beta")])]

    assert combine_registries(*parts[:1]).resolve("fs:read").version == "alpha"
    assert combine_registries(*parts).resolve("fs:read").version == "beta"
    assert combine_registries(*reversed(parts)).resolve("fs:read").version == "alpha"


@pytest.mark.req("AR-2.7", "AR-2.3")
def test_what_the_last_part_replaces_counts_as_registered_last() -> None:
    parts = [
        create_registry([tool("fs:read@zeta"), tool("fs:read@alpha")]),
        create_registry([tool("fs:read@zeta", "path")]),
    ]

    assert combine_registries(*parts, on_conflict="last").resolve("fs:read").version == "zeta"
    assert combine_registries(*parts, on_conflict="first").resolve("fs:read").version == "alpha"


@pytest.mark.req("AR-2.7")
def test_options_on_which_the_parts_agree_are_kept_and_others_must_be_given() -> None:
    warned: list[RegistryWarning] = []
    same = [create_registry(max_alias_depth=3), create_registry(max_alias_depth=3)]
    different = [create_registry(on_warning=warned.append), create_registry()]
    given = RegistryOptions(max_alias_depth=9)

    assert combine_registries(*same).options.max_alias_depth == 3
    assert combine_registries(*different, options=given).options is given
    refused(CatalogError, lambda: combine_registries(*different))


@pytest.mark.req("AR-2.7")
def test_combining_nothing_gives_an_empty_registry_and_an_unknown_policy_is_refused() -> None:
    unknown: Any = "random"

    assert len(combine_registries()) == 0
    refused(CatalogError, lambda: combine_registries(on_conflict=unknown))
