"""An id is the only name of a tool: every form of it leads to the tool, and nothing else does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest

from toolcrib_core import (
    AmbiguousTool,
    CatalogError,
    DuplicateTool,
    InvalidToolId,
    ResolutionError,
    ToolIdentity,
    UnknownTool,
    UnknownVersion,
    format_tool_id,
    parse_tool_id,
)
from toolcrib_mcp.catalog import Catalog, ToolIdParts, UpstreamTerms

RawTool = Callable[..., dict[str, Any]]

_INFERRED = UpstreamTerms()


def _catalog(**servers: list[dict[str, Any]]) -> Catalog:
    catalog = Catalog()
    for server, tools in servers.items():
        catalog.update(server, tools)
    return catalog


@pytest.mark.req("GW-4.1", "GW-4.3", "D4-4.3a", "D4-4.3d")
@pytest.mark.parametrize(
    "form",
    [str, lambda each: quote(each, safe=""), lambda each: quote(each, safe="").lower(), lambda each: quote(each)],
)
def test_every_spelling_of_an_id_hydrates_the_one_result_of_its_tool(
    raw_tool: RawTool, form: Callable[[str], str]
) -> None:
    catalog = _catalog(github=[raw_tool("create_issue", "title"), raw_tool("list_issues")])
    tool_id = catalog.snapshot().ids[0]

    assert catalog.hydrate(form(tool_id)) is catalog.hydrate(tool_id)
    assert catalog.resolve(form(tool_id)) == tool_id


@pytest.mark.req("GW-4.1", "GW-4.3")
@pytest.mark.parametrize("name", ["create_issue", "issues.create", "très long", "x" * 120])
@pytest.mark.parametrize("server", ["github", "default"])
def test_the_provider_safe_name_of_a_tool_hydrates_it(raw_tool: RawTool, server: str, name: str) -> None:
    catalog = _catalog(**{server: [raw_tool(name)]})
    (tool_id,) = catalog.snapshot().ids

    wire_name = catalog.snapshot().wire_names.encode(tool_id)

    assert catalog.hydrate(wire_name) is catalog.hydrate(tool_id)


@pytest.mark.req("GW-1.6", "GW-4.3", "D4-1.4e")
def test_a_hydrated_tool_says_where_it_is_called_and_by_what_name(raw_tool: RawTool) -> None:
    catalog = _catalog(**{"My GitHub": [raw_tool("Create Issue")]})

    tool = catalog.hydrate(catalog.snapshot().ids[0])

    assert (tool.upstream, tool.upstream_name) == ("My GitHub", "Create Issue")
    assert tool.tool_id == tool.definition.id
    assert parse_tool_id(tool.tool_id).namespace == "my-github"


_SHORT = ("git_log", "{0}:git_log", "{0}/git_log", "{0}.git_log", "/{0}/git_log")


@pytest.mark.req("CL-3", "CT-20")
@pytest.mark.parametrize("form", [*_SHORT, "{0}__git_log", "{1}:git_log", "{1}/git_log", "{1}.git_log"])
@pytest.mark.parametrize(("namespace", "server"), [("git", "git"), ("my-git", "My Git")])
def test_every_form_that_means_one_tool_leads_to_it(raw_tool: RawTool, namespace: str, server: str, form: str) -> None:
    catalog = _catalog(**{server: [raw_tool("git_log", "path"), raw_tool("log")], "github": [raw_tool("get_log")]})
    (tool_id,) = [each for each in catalog.snapshot().ids if ":git_log" in each]

    assert catalog.hydrate(form.format(namespace, server)) is catalog.hydrate(tool_id)


@pytest.mark.req("CT-28", "CL-3")
@pytest.mark.parametrize("form", ["git:log", "git.log", "git/log", "git__log", "git:git.log", "log", "/git/log"])
def test_a_tool_whose_name_repeats_its_server_is_called_with_or_without_that(raw_tool: RawTool, form: str) -> None:
    catalog = _catalog(git=[raw_tool("git.log", "path")])

    tool = catalog.hydrate(form)

    assert tool.tool_id.startswith("git:log#")
    assert tool.upstream_name == "git.log"


@pytest.mark.req("CT-28", "GW-1.5")
def test_two_tools_of_which_one_repeats_the_server_are_told_apart_or_refused(raw_tool: RawTool) -> None:
    versioned = [raw_tool(each, _meta={"version": "1"}) for each in ("git.log", "log")]
    catalog = _catalog(git=[*versioned, raw_tool("git__tag"), raw_tool("tag")])

    with pytest.raises(DuplicateTool, match=r"`git\.log` of `git` and `log` of `git`") as refused:
        catalog.hydrate("git:log@1")
    with pytest.raises(AmbiguousTool) as ambiguous:
        catalog.hydrate("git:tag")

    assert refused.value.details["id"] == "git:log@1"
    assert [each.name for each in catalog.report.findings if each.kind == "withheld"] == ["git.log", "log"]
    ids = [each for each in catalog.snapshot().ids if each.startswith("git:tag#")]
    assert ambiguous.value.details["didYouMean"] == ids
    assert {catalog.hydrate(each).upstream_name for each in ids} == {"git__tag", "tag"}
    assert len({str(each.tool_id) for each in catalog.tree.children("/git")}) == 2  # type: ignore[union-attr]


@pytest.mark.req("CL-3")
@pytest.mark.parametrize("form", ["other:git_log", "gi:git_log", "git:git", "git log", "/git", "git:git_log:x"])
def test_a_form_that_names_another_server_or_tool_means_nothing(raw_tool: RawTool, form: str) -> None:
    catalog = _catalog(git=[raw_tool("git_log", "path")], other=[raw_tool("x")])

    with pytest.raises((ResolutionError, InvalidToolId)):
        catalog.hydrate(form)


@pytest.mark.req("CL-3")
def test_the_name_that_the_server_uses_means_its_tool_even_where_the_id_spells_it_otherwise(raw_tool: RawTool) -> None:
    catalog = _catalog(files=[raw_tool("Read File"), raw_tool("a/b:c.d")])
    read, other = sorted(catalog.snapshot().ids, key=lambda each: "ead" not in each)

    assert catalog.resolve("Read File") == catalog.resolve("files/Read File") == read
    assert catalog.resolve("a/b:c.d") == catalog.resolve("files.a/b:c.d") == other


@pytest.mark.req("CL-3", "D4-1.6e", "CT-20")
@pytest.mark.parametrize("name", ["git_log", "git:git_log", "git/git_log", "git__git_log"])
def test_a_hash_or_version_that_is_named_has_to_be_right(raw_tool: RawTool, name: str) -> None:
    catalog = _catalog(git=[raw_tool("git_log", "path"), raw_tool("git_tag", _meta={"version": "1"})])
    log, _ = catalog.snapshot().ids
    right = log.partition("#")[2]

    assert catalog.resolve(f"{name}#{right}") == log
    assert catalog.resolve("git_tag@1") == "git:git_tag@1"
    for wrong in ("#00000000", "@1", "#nonsense", f"@1#{right}"):
        with pytest.raises(UnknownVersion) as caught:
            catalog.resolve(f"{name}{wrong}")
        assert caught.value.details["didYouMean"] == [log]
        assert f"{name}{wrong}" in caught.value.message


@pytest.mark.req("CL-3", "CT-20")
@pytest.mark.parametrize("name", ["search", "search#00000000"])
def test_a_name_that_several_tools_have_is_answered_with_all_of_them(raw_tool: RawTool, name: str) -> None:
    catalog = _catalog(**{f"hub{number}": [raw_tool("search", f"p{number}")] for number in range(5)})

    with pytest.raises(ResolutionError) as caught:
        catalog.resolve(name)

    ids = list(catalog.snapshot().ids)
    if "#" in name:
        assert isinstance(caught.value, UnknownVersion)
        return
    assert isinstance(caught.value, AmbiguousTool)
    assert caught.value.message == "`search` may be any of 5 tools."
    assert caught.value.details["didYouMean"] == ids
    assert caught.value.hint == f"Use the id of one: `{ids[0]}`, `{ids[1]}`, `{ids[2]}` and 2 more."
    assert catalog.resolve("hub3:search") == ids[3]


@pytest.mark.req("CL-3")
def test_a_tool_that_two_servers_claim_is_refused_under_its_short_name_too(raw_tool: RawTool) -> None:
    catalog = _catalog(**{"My Server": [raw_tool("search")], "my-server": [raw_tool("search")]})

    for form in ("search", "my-server:search", "My Server/search"):
        with pytest.raises(DuplicateTool):
            catalog.resolve(form)


@pytest.mark.req("CL-3")
def test_a_text_of_any_length_or_shape_is_answered_soon(raw_tool: RawTool) -> None:
    catalog = _catalog(git=[raw_tool("git_log", "path")])

    for text in ("a:" * 100_000, "__" * 250, "/" * 300, "@" * 300, "git_log" + "#" * 50, "git:", ":git_log"):
        with pytest.raises((ResolutionError, InvalidToolId)):
            catalog.resolve(text)


@pytest.mark.req("GW-1.7", "D4-1.6g")
def test_the_legacy_form_of_the_tool_of_another_namespace_means_nothing(raw_tool: RawTool) -> None:
    catalog = _catalog(github=[raw_tool("create_issue")])

    with pytest.raises(UnknownTool):
        catalog.hydrate("mcp:create_issue")


@pytest.mark.req("GW-1.7", "D4-1.7a")
def test_no_id_of_the_catalogue_has_the_legacy_form(raw_tool: RawTool) -> None:
    catalog = Catalog()
    catalog.update("files", [raw_tool("read_file"), raw_tool("ping", _meta={"version": "1"})], terms=_INFERRED)

    parts = [parse_tool_id(each) for each in catalog.snapshot().ids]

    assert all(each.namespace == "mcp" and (each.version or each.hash8) for each in parts)


@pytest.mark.req("GW-7.6")
@pytest.mark.parametrize(
    ("asked", "error", "hint"),
    [
        ("github:create_isue@1", UnknownTool, "Did you mean `github:create_issue@1`?"),
        ("github:create_issue@2", UnknownVersion, "Did you mean `github:create_issue@1`?"),
        ("github:create_isue", UnknownTool, "Did you mean `github:create_issue@1`?"),
        ("create_isue", UnknownTool, "Did you mean `github:create_issue@1`?"),
        ("github/create_isue", UnknownTool, "Did you mean `github:create_issue@1`?"),
        ("github.creat_isue", UnknownTool, "Did you mean `github:create_issue@1`?"),
        ("github.zzz", UnknownTool, "Look for it again: its server may be gone, or may call it something else now."),
        ("github__create_isue", UnknownTool, "Did you mean `github__create_issue`?"),
        ("zzz", UnknownTool, "Look for it again: its server may be gone, or may call it something else now."),
    ],
)
def test_an_id_that_is_not_there_is_answered_with_the_nearest_that_is(
    raw_tool: RawTool, asked: str, error: type[Exception], hint: str
) -> None:
    catalog = _catalog(github=[raw_tool("create_issue", _meta={"version": "1"})])

    with pytest.raises(error) as caught:
        catalog.hydrate(asked)

    assert caught.value.hint == hint
    assert asked in caught.value.message


@pytest.mark.req("CL-3", "GW-7.6")
def test_the_nearest_id_is_said_without_its_hash_where_one_tool_alone_has_it(raw_tool: RawTool) -> None:
    catalog = _catalog(git=[raw_tool("git_log", "path")])
    for server in ("files", "disk"):
        catalog.update(server, [raw_tool("read_file", server)], terms=_INFERRED)
    (log,) = (each for each in catalog.snapshot().ids if each.startswith("git:"))

    with pytest.raises(UnknownTool) as one:
        catalog.resolve("git:git_log_")
    with pytest.raises(UnknownTool) as several:
        catalog.resolve("read_fil")

    assert (one.value.hint, one.value.details["didYouMean"]) == ("Did you mean `git:git_log`?", [log])
    assert catalog.resolve("git:git_log") == log
    assert several.value.hint == f"Did you mean `{'` or `'.join(several.value.details['didYouMean'])}`?"
    assert all("read_file#" in each for each in several.value.details["didYouMean"])


@pytest.mark.parametrize("asked", ["", None, 3, ["github:create_issue@1"], "a b:c"])
def test_what_is_no_id_at_all_is_refused_as_such(raw_tool: RawTool, asked: Any) -> None:
    catalog = _catalog(github=[raw_tool("create_issue", _meta={"version": "1"})])

    with pytest.raises(InvalidToolId):
        catalog.hydrate(asked)


@pytest.mark.req("CT-20", "CL-3")
@pytest.mark.parametrize("asked", ["a b", "x y:z", "#", "@1"])
def test_a_text_that_is_no_id_is_shown_as_it_was_written(raw_tool: RawTool, asked: str) -> None:
    with pytest.raises(InvalidToolId) as caught:
        _catalog(github=[raw_tool("create_issue")]).hydrate(asked)

    assert caught.value.message == f"`{asked}` is not a tool id."
    assert caught.value.hint == "Write it as a page shows it, such as `github:create_issue@1.4.0`."


@pytest.mark.req("CT-20", "GW-7.6")
def test_a_misspelt_name_behind_that_of_its_server_is_answered_with_the_nearest_there(raw_tool: RawTool) -> None:
    catalog = _catalog(database=[raw_tool("query")], search=[raw_tool("run")])

    with pytest.raises(UnknownTool) as caught:
        catalog.hydrate("database.qery")

    assert caught.value.hint == "Did you mean `database:query`?"


@pytest.mark.req("GW-1.3", "D4-1.2m", "D4-1.2n")
def test_prose_keeps_an_id_and_a_new_parameter_changes_it(raw_tool: RawTool) -> None:
    catalog = _catalog(github=[raw_tool("create_issue", "title")])
    (before,) = catalog.snapshot().ids

    prose = catalog.update("github", [raw_tool("create_issue", "title", description="Other words.")])
    shape = catalog.update("github", [raw_tool("create_issue", "title", "body")])

    assert prose.replaced == (before,)
    assert shape.removed == (before,)
    with pytest.raises(UnknownVersion) as caught:
        catalog.hydrate(before)
    assert caught.value.details["didYouMean"] == list(shape.added)


@pytest.mark.fault("F9")
@pytest.mark.req("GW-1.5")
def test_two_servers_with_a_tool_of_one_name_are_told_apart_by_namespace(raw_tool: RawTool) -> None:
    catalog = _catalog(github=[raw_tool("search")], gitlab=[raw_tool("search")])

    assert [parse_tool_id(each).namespace for each in catalog.snapshot().ids] == ["github", "gitlab"]
    assert catalog.report.findings == ()


@pytest.mark.req("GW-1.5", "D4-1.5a", "D4-1.5b")
def test_an_id_that_tools_of_two_servers_claim_is_refused_with_the_names_of_both(raw_tool: RawTool) -> None:
    catalog = _catalog(**{"My Server": [raw_tool("search")], "my-server": [raw_tool("search"), raw_tool("other")]})

    (finding, _) = catalog.report.withheld
    with pytest.raises(DuplicateTool) as caught:
        catalog.hydrate(finding.tool_id)

    assert isinstance(caught.value, CatalogError)
    assert "`search` of `My Server` and `search` of `my-server`" in caught.value.message
    assert caught.value.details["tools"] == [
        {"upstream": "My Server", "name": "search"},
        {"upstream": "my-server", "name": "search"},
    ]
    assert [parse_tool_id(each).name for each in catalog.snapshot().ids] == ["other"]


@pytest.mark.req("GW-1.5", "D4-1.5a")
def test_an_id_that_two_tools_of_one_server_claim_is_refused_with_the_names_of_both(raw_tool: RawTool) -> None:
    catalog = Catalog()
    versioned = {"_meta": {"version": "1"}}

    change = catalog.update(
        "hub", [raw_tool("github.search", **versioned), raw_tool("github/search", **versioned)], terms=_INFERRED
    )

    assert [finding.name for finding in change.findings] == ["github.search", "github/search"]
    with pytest.raises(DuplicateTool, match=r"`github\.search` of `hub` and `github/search` of `hub`"):
        catalog.hydrate("github:search@1")


@pytest.mark.fault("F8")
@pytest.mark.req("GW-1.5", "GW-6.3")
def test_tools_of_one_server_with_one_name_are_all_withheld_since_a_call_says_no_more(raw_tool: RawTool) -> None:
    catalog = _catalog(github=[raw_tool("search", "a"), raw_tool("search", "b"), raw_tool("other")])

    ids = [finding.tool_id for finding in catalog.report.withheld]

    assert len(ids) == 2
    assert [parse_tool_id(each).name for each in catalog.snapshot().ids] == ["other"]
    for each in ids:
        with pytest.raises(DuplicateTool) as caught:
            catalog.hydrate(each)
        assert "`github` lists more than one tool called `search`" in caught.value.message
        assert all(f"`{other}`" in caught.value.message for other in ids)


@pytest.mark.fault("F8")
def test_a_thousand_tools_of_one_name_are_refused_in_few_words(raw_tool: RawTool) -> None:
    catalog = _catalog(github=[raw_tool("search", f"parameter_{number}") for number in range(1_000)])

    findings = catalog.report.withheld

    assert len({finding.tool_id for finding in findings}) == 1_000
    assert max(len(finding.reason) for finding in findings) < 2_000


@pytest.mark.fault("F8")
def test_a_tool_that_is_listed_twice_in_the_same_words_is_served_once_and_said(raw_tool: RawTool) -> None:
    catalog = _catalog(github=[raw_tool("search"), raw_tool("search")])

    assert len(catalog.snapshot()) == 1
    assert [finding.reason for finding in catalog.report.repaired] == [
        "It is listed 2 times in the same words, and served once."
    ]


@pytest.mark.req("GW-1.5")
def test_a_withheld_tool_comes_back_when_it_is_left_alone_with_its_id(raw_tool: RawTool) -> None:
    catalog = _catalog(**{"My Server": [raw_tool("search")], "my-server": [raw_tool("search")]})

    change = catalog.remove("my-server")

    assert len(change.added) == 1
    assert catalog.hydrate(change.added[0]).upstream == "My Server"
    assert catalog.report.findings == ()


def test_a_tool_named_like_the_provider_safe_name_of_another_takes_no_name_but_those_two(raw_tool: RawTool) -> None:
    victim = _catalog(github=[raw_tool("issues.create")])
    spelt = next(name for _, name in victim.snapshot().wire_names.items())

    catalog = _catalog(github=[raw_tool("issues.create"), raw_tool(spelt.removeprefix("github__")), raw_tool("other")])

    assert [name for _, name in catalog.snapshot().wire_names.items()] == ["github__other"]
    assert len([catalog.hydrate(each) for each in catalog.snapshot().ids]) == 3
    with pytest.raises(AmbiguousTool):
        catalog.hydrate(spelt)


@pytest.mark.req("GW-9.3", "D4-1.6d")
def test_the_parts_of_an_id_have_the_name_of_the_source_document() -> None:
    parts = ToolIdParts(namespace="github", name="create_issue", version="1.4.0")

    assert ToolIdParts is ToolIdentity
    assert parse_tool_id(format_tool_id(parts, profile="gateway"), profile="gateway") == parts


@pytest.mark.req("GW-1.2", "GW-1.4", "D4-1.2d", "D4-1.2g")
@pytest.mark.parametrize("terms", [UpstreamTerms(server="hub"), _INFERRED], ids=["configured", "inferred"])
@pytest.mark.parametrize("name", ["github.create_issue", "slack_send_message", "read_file", "Read File"])
def test_a_new_version_or_description_keeps_namespace_and_name(
    raw_tool: RawTool, name: str, terms: UpstreamTerms
) -> None:
    tools = [
        raw_tool(name, "a"),
        raw_tool(name, "a", description="Other words."),
        raw_tool(name, "a", _meta={"version": "1"}),
        raw_tool(name, "a", _meta={"version": "2"}),
    ]

    ids = []
    for each in tools:
        catalog = Catalog()
        catalog.update("hub", [each], terms=terms)
        ids += [parse_tool_id(tool_id) for tool_id in catalog.snapshot().ids]

    assert len({(each.namespace, each.name) for each in ids}) == 1
    assert ids[0] == ids[1]
    assert [each.version for each in ids] == [None, None, "1", "2"]


@pytest.mark.req("GW-1.3", "D4-0b")
def test_the_same_listing_gives_the_same_ids_in_another_catalogue(raw_tool: RawTool) -> None:
    tools = [raw_tool("create_issue", "title"), raw_tool("git.log", "path"), raw_tool("Über 1", "x")]

    assert _catalog(hub=tools).snapshot().ids == _catalog(hub=tools[::-1]).snapshot().ids


@pytest.mark.req("GW-1.7", "CT-20", "D4-1.7b")
def test_an_id_without_its_hash_means_a_tool_only_in_its_own_namespace(raw_tool: RawTool) -> None:
    catalog = Catalog()
    catalog.update("files", [raw_tool("read_file", "path")], terms=_INFERRED)
    catalog.update("github", [raw_tool("create_issue")])

    assert catalog.resolve("mcp:read_file").startswith("mcp:read_file#")
    with pytest.raises(UnknownTool):
        catalog.resolve("mcp:create_issue")
