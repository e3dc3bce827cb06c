"""Resolving: the one place that chooses, by rules that can be read off these tests."""

from __future__ import annotations

import copy
import random
import warnings
from collections.abc import Sequence
from datetime import date
from typing import Any

import pytest
from registry_tools import deprecated, refused, tool

from toolcrib_core.definition import ToolDefinition
from toolcrib_core.errors import (
    CatalogError,
    DeprecatedTool,
    InvalidToolId,
    QueryError,
    ResolutionError,
    UnknownTool,
    UnknownVersion,
)
from toolcrib_core.identity import ToolIdentity, hash8
from toolcrib_core.registry import RegistryWarning, ToolRegistry, create_registry


def _versions(*versions: str, **options: Any) -> ToolRegistry:
    identities = [ToolIdentity(namespace="fs", name="read", version=version) for version in versions]
    return create_registry([tool(str(identity)) for identity in identities], **options)


def _resolved(registry: ToolRegistry, request: str) -> str | None:
    return registry.resolve(request).version


@pytest.mark.req("AR-2.3", "D1-0g")
@pytest.mark.parametrize(
    ("registered", "chosen"),
    [
        (["1.0.0", "2.0.0", "1.5.0"], "2.0.0"),
        (["1.9.0", "1.10.0"], "1.10.0"),
        (["1.0.9", "1.0.10"], "1.0.10"),
        (["1.0.0", "1.0.0-rc.1"], "1.0.0"),
        (["1.0.0", "2.0.0-alpha"], "1.0.0"),
        (["1.0.0-alpha.1", "1.0.0-alpha.2"], "1.0.0-alpha.2"),
        (["1.0.0-alpha.1", "1.0.0-alpha"], "1.0.0-alpha.1"),
        (["1.0.0-beta.11", "1.0.0-beta.2"], "1.0.0-beta.11"),
        (["1.0.0-1", "1.0.0-alpha"], "1.0.0-alpha"),
    ],
)
def test_a_bare_name_means_the_highest_release_or_else_the_highest_pre_release(
    registered: list[str], chosen: str
) -> None:
    assert _resolved(_versions(*registered), "fs:read") == chosen
    assert _resolved(_versions(*reversed(registered)), "fs:read") == chosen


@pytest.mark.req("AR-2.3", "D1-0h")
@pytest.mark.parametrize(
    "registered", [["1.0.0", "latest"], ["b", "a"], ["2.0.0", "1.0"], ["v2.0.0", "v1.0.0"], ["2024-02", "2024-01"]]
)
def test_when_not_all_versions_are_semver_the_one_registered_last_is_meant(registered: list[str]) -> None:
    assert _resolved(_versions(*registered), "fs:read") == registered[-1]


@pytest.mark.req("AR-2.3")
def test_an_unversioned_tool_beside_a_version_leaves_the_choice_to_the_order_of_registration() -> None:
    unversioned = tool("fs:read", "path")

    assert create_registry([unversioned, tool("fs:read@1.0.0")]).resolve("fs:read").version == "1.0.0"
    assert create_registry([tool("fs:read@1.0.0"), unversioned]).resolve("fs:read") is unversioned


@pytest.mark.req("AR-2.3")
@pytest.mark.parametrize(
    ("request_", "chosen"),
    [
        ("fs:read@^1.2", "1.9.0"),
        ("fs:read@~1.2", "1.2.5"),
        ("fs:read@>=1,<2", "1.9.0"),
        ("fs:read@>=1 <1.9", "1.2.5"),
        ("fs:read@%5E1.2", "1.9.0"),
        ("fs:read@1.x", "1.9.0"),
        ("fs:read@*", "2.0.0"),
        ("fs:read@1.2", "1.2.5"),
        ("fs:read@1.2.0", "1.2.0"),
        ("fs:read@^3", "3.0.0-rc.1"),
        ("fs:read@>=3.0.0-alpha", "3.0.0-rc.1"),
        ("fs:read@3.0.0-rc.1", "3.0.0-rc.1"),
    ],
)
def test_a_range_means_the_highest_version_in_it(request_: str, chosen: str) -> None:
    registry = _versions("1.2.0", "1.2.5", "1.9.0", "2.0.0", "3.0.0-rc.1")

    assert _resolved(registry, request_) == chosen


@pytest.mark.req("AR-2.3")
@pytest.mark.parametrize(
    "identity",
    [
        {"namespace": "fs", "name": "read", "version": "^1"},
        ToolIdentity(namespace="fs", name="read", version="^1"),
        "fs:read@^1",
    ],
)
def test_a_range_can_be_given_in_every_form_of_an_identity(identity: Any) -> None:
    assert _versions("1.0.0", "2.0.0").resolve(identity).version == "1.0.0"


@pytest.mark.req("AR-2.3", "D1-3q")
def test_the_version_can_stand_beside_the_identity_but_not_contradict_it() -> None:
    registry = _versions("1.0.0", "2.0.0")

    assert registry.resolve("fs:read", version="^1").version == "1.0.0"
    assert registry.resolve("fs:read@^1", version="^1").version == "1.0.0"
    refused(QueryError, lambda: registry.resolve("fs:read@2.0.0", version="^1"))


@pytest.mark.req("AR-2.3")
def test_a_bare_name_is_looked_up_in_the_default_namespace() -> None:
    registry = create_registry([tool("default:sum@1.0.0")])

    assert registry.resolve("sum") is registry.resolve({"name": "sum"}) is registry.resolve("sum@^1")


@pytest.mark.req("AR-2.3")
@pytest.mark.fault("A5")
def test_a_range_with_nothing_but_pre_releases_takes_the_highest_below_its_end() -> None:
    assert _resolved(_versions("1.0.0-rc.1", "1.0.0-rc.2", "2.0.0-alpha"), "fs:read@^1") == "1.0.0-rc.2"


@pytest.mark.req("AR-2.3")
@pytest.mark.fault("A5")
def test_a_partial_version_is_that_version_if_it_exists_and_else_a_range() -> None:
    assert _resolved(_versions("1.2", "1.2.9"), "fs:read@1.2") == "1.2"
    assert _resolved(_versions("1.2.3", "1.2.9"), "fs:read@1.2") == "1.2.9"


@pytest.mark.req("AR-2.3")
@pytest.mark.fault("A5")
def test_builds_of_one_version_are_chosen_by_text_in_any_order_of_registration() -> None:
    builds = ["1.0.0+a", "1.0.0+c", "1.0.0+b"]
    rng = random.Random(3)

    chosen = {_resolved(_versions(*rng.sample(builds, 3)), "fs:read@1.0.0") for _ in range(20)}

    assert chosen == {"1.0.0+c"}
    assert _resolved(_versions(*builds), "fs:read@1.0.0+a") == "1.0.0+a"


@pytest.mark.req("AR-2.3")
@pytest.mark.fault("A5")
@pytest.mark.parametrize("asked", ["^9", "9.0.0", "1.0.0+nightly", "latest", "not.semver", "1.0.0.0", "a" * 500])
def test_a_version_that_nothing_fits_is_told_the_candidates(asked: str) -> None:
    registry = _versions("1.0.0", "1.1.0", "weekly")

    error = refused(UnknownVersion, lambda: registry.resolve("fs:read", version=asked))

    assert error.details["candidates"] == ["fs:read@1.1.0", "fs:read@1.0.0", "fs:read@weekly"]
    assert asked[:40] in error.message


@pytest.mark.req("AR-2.3")
@pytest.mark.fault("A5")
@pytest.mark.parametrize("asked", [">>1", "^", "^x.1", "1 ||", "~a", "^1,"])
def test_a_malformed_range_is_refused_as_such(asked: str) -> None:
    error = refused(QueryError, lambda: _versions("1.0.0").resolve("fs:read", version=asked))

    assert "is not a version range" in error.message


@pytest.mark.req("AR-2.3")
def test_a_version_that_is_not_text_is_refused() -> None:
    number: Any = 1

    refused(QueryError, lambda: _versions("1.0.0").resolve("fs:read", version=number))


@pytest.mark.req("AR-2.3")
def test_a_hash_narrows_the_choice_to_the_versions_of_that_shape() -> None:
    registry = create_registry(
        [tool("fs:read@1.0.0", "path"), tool("fs:read@1.1.0", "path"), tool("fs:read@2.0.0", "path", "limit")]
    )
    shape = tool("fs:read", "path", upstream_name="read").identity.hash8

    assert registry.resolve(f"fs:read#{shape}").version == "1.1.0"
    assert registry.resolve(f"fs:read@^1#{shape}").version == "1.1.0"
    refused(UnknownVersion, lambda: registry.resolve(f"fs:read@^2#{shape}"))


@pytest.mark.req("AR-2.3")
def test_an_unknown_name_is_told_which_may_be_meant() -> None:
    registry = create_registry([tool("github:create_issue@1.0.0")], aliases={"gh:new_issue": "github:create_issue"})

    assert "`github:create_issue`" in str(refused(UnknownTool, lambda: registry.resolve("github:creat_issue")).hint)
    assert "`gh:new_issue`" in str(refused(UnknownTool, lambda: registry.resolve("gh:new_isue")).hint)


@pytest.mark.req("AR-2.3")
@pytest.mark.parametrize("typo", ["github:crate_issue_77", "github:creat_issue_77", "gtihub:create_issue_77"])
def test_a_slip_is_recognised_among_hundreds_of_names(typo: str) -> None:
    registry = create_registry([tool(f"github:{verb}_issue_{n}@1") for verb in ("create", "list") for n in range(150)])

    error = refused(UnknownTool, lambda: registry.resolve(typo))

    assert error.details["didYouMean"][0] == "github:create_issue_77"  # type: ignore[index]  # details are JSON


@pytest.mark.req("AR-2.3")
@pytest.mark.parametrize("text", ["", "a:b:c", "a:b@", "fs:read@^1#xyz", "fs:read\n"])
def test_a_malformed_request_is_refused(text: str) -> None:
    refused(InvalidToolId, lambda: _versions("1.0.0").resolve(text))


@pytest.mark.req("CT-21", "D1-0g")
@pytest.mark.parametrize(
    ("registered", "default", "highest"),
    [
        (["2.0.0-rc.1", "1.0.0"], "1.0.0", "2.0.0-rc.1"),
        (["1.0.0-alpha", "1.0.0"], "1.0.0", "1.0.0"),
        (["2.0.0-alpha.9", "2.0.0-alpha.10", "1.0.0"], "1.0.0", "2.0.0-alpha.10"),
        (["3.0.0-rc.1", "latest", "1.0.0"], "1.0.0", "1.0.0"),
    ],
)
def test_releases_come_before_pre_releases_unless_the_highest_version_is_asked_for(
    registered: list[str], default: str, highest: str
) -> None:
    assert _resolved(_versions(*registered), "fs:read") == default
    assert _resolved(_versions(*registered, version_selector="highest"), "fs:read") == highest


@pytest.mark.req("CT-21")
def test_a_range_leaves_out_pre_releases_also_where_the_highest_version_is_asked_for() -> None:
    registry = _versions("1.0.0", "2.0.0-rc.1", "2.0.0-rc.2", version_selector="highest")

    assert _resolved(registry, "fs:read@>=1") == "1.0.0"
    assert _resolved(registry, "fs:read@>=2.0.0-rc.1") == "2.0.0-rc.2"


@pytest.mark.req("CT-21")
@pytest.mark.parametrize(("selector", "said"), [("lowest", "not `lowest`"), ([], "a value of type `list`")])
def test_a_selector_that_is_none_is_refused_at_once(selector: Any, said: str) -> None:
    error = refused(CatalogError, lambda: _versions(version_selector=selector))

    assert said in error.message


@pytest.mark.req("AR-2.3", "D1-0i")
def test_a_version_selector_chooses_first_and_sees_the_default_choice_last() -> None:
    offered: list[list[str | None]] = []

    def lowest(candidates: Sequence[ToolDefinition]) -> ToolDefinition:
        offered.append([each.version for each in candidates])
        return candidates[0]

    registry = _versions("2.0.0", "3.0.0-rc.1", "1.0.0", "1.5.0", version_selector=lowest)

    assert _resolved(registry, "fs:read@>=1.1") == "1.5.0"
    assert _resolved(registry, "fs:read") == "3.0.0-rc.1"
    assert offered == [["1.5.0", "2.0.0"], ["3.0.0-rc.1", "1.0.0", "1.5.0", "2.0.0"]]


@pytest.mark.req("AR-2.3")
def test_a_version_selector_may_leave_the_choice_and_is_not_asked_about_an_exact_version() -> None:
    asked: list[int] = []
    registry = _versions("1.0.0", "2.0.0", version_selector=lambda candidates: asked.append(len(candidates)))

    assert _resolved(registry, "fs:read@1.0.0") == "1.0.0"
    assert asked == []
    assert _resolved(registry, "fs:read") == "2.0.0"
    assert asked == [2]


@pytest.mark.req("AR-2.3")
def test_a_version_selector_cannot_bring_in_a_tool_it_was_not_offered() -> None:
    registry = _versions("1.0.0", "2.0.0", version_selector=lambda _: tool("fs:read@9.9.9"))

    error = refused(ResolutionError, lambda: registry.resolve("fs:read"))

    assert "not offered" in error.message


@pytest.mark.req("AR-2.5", "D1-3p")
def test_a_deprecated_version_is_passed_over_for_one_that_is_not() -> None:
    registry = create_registry([tool("fs:read@1.0.0"), deprecated("fs:read@2.0.0")])

    assert registry.resolve("fs:read").version == "1.0.0"
    assert registry.resolve("fs:read@*").version == "1.0.0"


@pytest.mark.req("AR-2.5", "D1-3p")
def test_when_all_that_fits_is_deprecated_the_error_says_what_to_do_instead() -> None:
    lifecycle = {"replaced_by": "fs:open", "message": "Leaks\nhandles", "sunset": date(2027, 1, 31)}
    registry = create_registry([deprecated("fs:read@1.0.0", **lifecycle), tool("fs:read@2.0.0")])

    error = refused(DeprecatedTool, lambda: registry.resolve("fs:read@^1"))

    assert error.hint == (
        'Use `fs:open` instead. Its author says: "Leaks handles". It goes away on 2027-01-31. '
        "To use it all the same, name it exactly, `fs:read@1.0.0`, or pass `allow_deprecated=True`."
    )
    assert error.details["replacedBy"] == "fs:open"
    assert error.details["sunset"] == "2027-01-31"


@pytest.mark.req("AR-2.5")
@pytest.mark.parametrize(("message", "said"), [("Leaks.", '"Leaks."'), ("Leaks", '"Leaks".'), ("Why?", '"Why?"')])
def test_a_sentence_of_the_author_keeps_its_own_end(message: str, said: str) -> None:
    registry = create_registry([deprecated("fs:read@1.0.0", message=message)])

    error = refused(DeprecatedTool, lambda: registry.resolve("fs:read"))

    assert f"Its author says: {said} To use it" in (error.hint or "")


@pytest.mark.req("AR-2.5", "D1-3e", "D1-3o")
@pytest.mark.parametrize(
    ("request_", "options"),
    [
        ("fs:read@1.0.0", {}),
        ("old:read", {}),
        ("fs:read", {"allow_deprecated": True}),
        ("fs:read@^1", {"allow_deprecated": True}),
    ],
)
def test_a_deprecated_tool_that_is_named_exactly_or_allowed_resolves_with_a_warning(
    request_: str, options: dict[str, Any]
) -> None:
    heard: list[RegistryWarning] = []
    registry = create_registry(
        [deprecated("fs:read@1.0.0", replaced_by="fs:open")],
        aliases={"old:read": "fs:read@1.0.0"},
        on_warning=heard.append,
    )

    resolved = registry.resolve(request_, **options)

    assert resolved.id == "fs:read@1.0.0"
    assert [(each.code, each.tool_id, each.replaced_by) for each in heard] == [
        ("toolbox.deprecated-tool", "fs:read@1.0.0", "fs:open")
    ]
    assert heard[0].message == str(heard[0]) == "`fs:read@1.0.0` is deprecated. Use `fs:open` instead."


@pytest.mark.req("AR-2.5")
@pytest.mark.parametrize("upstream_name", [None, "read"])
def test_an_unversioned_deprecated_tool_resolves_with_its_hash_or_an_alias_of_it_only(
    upstream_name: str | None,
) -> None:
    unversioned = deprecated("fs:read").replace(upstream_name=upstream_name)
    with_hash = f"fs:read#{hash8('read', unversioned.input_schema)}"
    registry = create_registry([unversioned], aliases={"cat": with_hash}, on_warning=lambda _: None)

    assert registry.resolve(with_hash) is unversioned
    assert registry.resolve("cat") is unversioned
    error = refused(DeprecatedTool, lambda: registry.resolve("fs:read"))
    assert "allow_deprecated=True" in (error.hint or "")
    assert ("name it exactly" in (error.hint or "")) == (upstream_name is not None)


@pytest.mark.req("AR-2.5", "D1-3o")
def test_every_resolve_warns_again_also_when_the_answer_is_remembered() -> None:
    heard: list[RegistryWarning] = []
    registry = create_registry([deprecated("fs:read@1.0.0")], on_warning=heard.append)

    for _ in range(3):
        registry.resolve("fs:read@1.0.0")

    assert len(heard) == 3


@pytest.mark.req("AR-2.5")
def test_without_a_listener_the_warning_points_at_the_line_that_resolved() -> None:
    registry = create_registry([deprecated("fs:read@1.0.0")])

    with pytest.warns(RegistryWarning, match="is deprecated") as caught:
        registry.resolve("fs:read@1.0.0")

    assert caught[0].filename == __file__


@pytest.mark.req("AR-2.5")
def test_a_warning_turned_into_an_error_leaves_the_registry_usable() -> None:
    registry = create_registry([deprecated("fs:read@1.0.0")])

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RegistryWarning):
            registry.resolve("fs:read@1.0.0")
        with pytest.raises(RegistryWarning):
            registry.resolve("fs:read@1.0.0")


@pytest.mark.req("AR-2.5")
def test_a_warning_can_be_copied_with_all_it_says() -> None:
    warning = RegistryWarning("gone", "toolbox.deprecated-tool", "fs:read@1.0.0", "fs:open")

    twin = copy.copy(warning)

    assert (twin.message, twin.code, twin.tool_id, twin.replaced_by) == warning.args


@pytest.mark.req("AR-2.3")
def test_what_was_remembered_is_forgotten_when_the_registry_changes() -> None:
    registry = _versions("1.0.0")
    before = registry.resolve("fs:read")

    registry.register(tool("fs:read@2.0.0"))
    after = registry.resolve("fs:read")
    registry.unregister("fs:read@2.0.0")
    registry.unregister("fs:read@1.0.0")

    assert (before.version, after.version) == ("1.0.0", "2.0.0")
    refused(UnknownTool, lambda: registry.resolve("fs:read"))


@pytest.mark.req("AR-2.3")
def test_any_number_of_different_requests_is_remembered_in_bounded_space() -> None:
    registry = _versions("1.0.0")

    for number in range(4200):
        registry.resolve("fs:read", version=f">=0.0.{number}")

    assert len(registry._state.resolved) <= 4096
