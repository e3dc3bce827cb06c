"""The browse tree: where tools are, and that all of them are found there."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tree_tools import GITHUB, paths, reached, tool, tools, walk

from toolcrib_core.definition import ToolDefinition
from toolcrib_core.errors import CatalogError, DuplicateTool, InvalidToolId, UnknownTool
from toolcrib_core.tree import BrowseTree, TreeLeaf, TreeNode
from toolcrib_core.upstream_names import upstream_identity

_words = st.sampled_from(
    ["get", "list", "merge", "pull", "request", "issue", "issues", "s", "a", "note", "by", "42", "Get", "other", "a-a"]
)
_made_up = st.lists(_words, min_size=1, max_size=4).map("_".join)
_printable = st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1, max_size=70)
_definitions = st.builds(
    ToolDefinition,
    namespace=st.sampled_from(["github", "GitHub", "git hub", "a", "a-b", "issue", "9", "!"]) | _printable,
    name=_made_up | _printable,
    version=st.none() | st.sampled_from(["1.0.0", "1.0.0+b", "1.0.0-b", "2"]),
)
_catalogs = st.lists(_definitions, max_size=40, unique_by=lambda definition: definition.id)


@pytest.fixture(scope="module")
def github() -> BrowseTree:
    return BrowseTree.build(tools(GITHUB))


@pytest.fixture(params=["own_catalog", "shared_catalog"])
def catalog(request: pytest.FixtureRequest) -> list[ToolDefinition]:
    rows: list[dict[str, Any]] = request.getfixturevalue(request.param)
    return [_definition(row["server"], row["tool"]) for row in rows]


def _definition(server: str, tool: dict[str, Any]) -> ToolDefinition:
    # Of the schema, only the names of the parameters matter here: they are in the id.
    schema = tool["inputSchema"]
    return ToolDefinition(
        identity=upstream_identity(tool["name"], server=server, version=tool.get("_meta", {}).get("version")),
        upstream_name=tool["name"],
        input_schema={
            "type": "object",
            "properties": {name: {} for name in schema.get("properties", ())},
            "required": schema.get("required", []),
        },
    )


@pytest.mark.req("GW-3.3", "D4-3.3a", "D4-3.3b")
def test_the_root_lists_the_namespaces_and_a_namespace_its_clusters_and_lone_tools(github: BrowseTree) -> None:
    assert paths(github.children("/")) == ["/github"]
    assert paths(github.children("/github")) == [
        "/github/branches/create_branch",
        "/github/code/search_code",
        "/github/commits/list_commits",
        "/github/files",
        "/github/issues",
        "/github/pull_requests",
        "/github/repositories",
        "/github/users/search_users",
    ]


@pytest.mark.req("GW-3.3")
def test_a_cluster_says_how_much_is_in_it_and_gives_examples(github: BrowseTree) -> None:
    assert github.find("/github/issues") == TreeNode(
        kind="cluster",
        path="/github/issues",
        label="issues",
        count=6,
        examples=("create_issue", "get_issue", "list_issues"),
        namespace="github",
    )


@pytest.mark.req("GW-3.3", "D4-3.3e")
def test_the_path_of_a_tool_leads_to_that_tool_alone(github: BrowseTree) -> None:
    created = tool("create_issue")

    listed = github.children("/github/issues/create_issue")

    assert listed == (TreeLeaf(path="/github/issues/create_issue", tool_id=created.id, name="create_issue"),)


@pytest.mark.req("GW-3.3")
def test_a_small_namespace_lists_all_its_tools_at_once() -> None:
    tree = BrowseTree.build(tools(["read_query", "write_query", "create_table", "list_tables"], namespace="sqlite"))

    listed = tree.children("/sqlite")

    assert all(isinstance(entry, TreeLeaf) for entry in listed)
    assert len(listed) == 4


@pytest.mark.req("GW-3.3")
@settings(max_examples=150, deadline=None)
@given(_catalogs, st.integers(2, 6), st.randoms(use_true_random=False))
def test_any_catalogue_makes_a_bounded_tree_that_holds_every_tool(
    definitions: list[ToolDefinition], max_children: int, shuffler: random.Random
) -> None:
    tree = BrowseTree.build(definitions, max_children=max_children)

    for path, listed in walk(tree):
        assert len(listed) <= max_children
        assert len({entry.path for entry in listed}) == len(listed)
        assert tree.find(path).path == path
        assert [tree.find(entry.path) for entry in listed] == list(listed)
        assert sum(_tools_in(entry) for entry in listed) == _tools_in(tree.find(path))
    assert set(reached(tree)) == {definition.id for definition in definitions}
    for definition in definitions:
        leaf = tree.find(tree.path_of(definition.id))
        assert isinstance(leaf, TreeLeaf)
        assert leaf.tool_id == definition.id
    shuffler.shuffle(definitions)
    assert BrowseTree.build(definitions, max_children=max_children) == tree


def _tools_in(entry: TreeNode | TreeLeaf) -> int:
    return entry.count if isinstance(entry, TreeNode) else 1


@pytest.mark.req("GW-3.3")
@settings(max_examples=60, deadline=None)
@given(_catalogs, _catalogs)
def test_replacing_one_namespace_gives_the_tree_that_building_anew_would(
    definitions: list[ToolDefinition], others: list[ToolDefinition]
) -> None:
    moved = [each.replace(namespace="github") for each in others]
    replacement = list({each.id: each for each in moved}.values())
    kept = [each for each in definitions if each.namespace != "github"]

    tree = BrowseTree.build(definitions).with_namespace("github", replacement)

    assert tree == BrowseTree.build([*kept, *replacement])


@pytest.mark.req("GW-3.3")
def test_replacing_one_namespace_does_not_rebuild_the_others() -> None:
    tree = BrowseTree.build([*tools(GITHUB), *tools(["send_message"], namespace="slack")])

    changed = tree.with_namespace("slack", tools(["send_message", "list_channels"], namespace="slack"))

    assert changed._namespaces["github"] is tree._namespaces["github"]
    assert len(changed.children("/slack")) == 2
    assert len(tree.children("/slack")) == 1


@pytest.mark.req("GW-3.3")
def test_a_namespace_without_tools_is_gone(github: BrowseTree) -> None:
    assert github.with_namespace("github", []) == BrowseTree.build([])


@pytest.mark.req("GW-3.3")
def test_a_tool_of_another_namespace_is_refused(github: BrowseTree) -> None:
    with pytest.raises(CatalogError, match="does not belong to the namespace `github`"):
        github.with_namespace("github", [tool("send_message", namespace="slack")])


@pytest.mark.req("GW-1.5", "GW-3.3")
def test_two_tools_with_one_id_are_refused() -> None:
    with pytest.raises(DuplicateTool, match="`github:create_issue`"):
        BrowseTree.build(tools(["create_issue", "list_issues", "create_issue"]))


@pytest.mark.req("GW-3.3")
def test_a_tree_of_one_child_a_node_is_refused() -> None:
    with pytest.raises(CatalogError, match="at most 1 children"):
        BrowseTree.build([], max_children=1)


@pytest.mark.req("GW-3.3")
@pytest.mark.parametrize("tool_id", ["github:delete_everything@1.0.0", "slack:send_message@1.0.0"])
def test_a_tool_that_is_not_in_the_tree_has_no_path(github: BrowseTree, tool_id: str) -> None:
    with pytest.raises(UnknownTool):
        github.path_of(tool_id)


@pytest.mark.req("GW-3.3")
def test_a_text_that_is_no_id_has_no_path(github: BrowseTree) -> None:
    with pytest.raises(InvalidToolId):
        github.path_of("/github/issues")


@pytest.mark.req("GW-3.3")
def test_every_tool_of_a_real_catalogue_is_reached_by_browsing_by_its_path_and_by_its_own_name(
    catalog: list[ToolDefinition],
) -> None:
    tree = BrowseTree.build(catalog)

    assert reached(tree) == sorted(definition.id for definition in catalog)
    for definition in catalog:
        path = tree.path_of(definition.id)
        short = f"/{path.split('/')[1]}/{path.rsplit('/', 1)[1]}"
        assert tree.find(path).path == path
        assert definition.id in reached(tree, short)


@pytest.mark.req("GW-3.3")
def test_no_node_of_a_real_catalogue_lists_more_than_24_entries(catalog: list[ToolDefinition]) -> None:
    tree = BrowseTree.build(catalog)

    assert max(len(listed) for _, listed in walk(tree)) <= 24


@pytest.mark.req("GW-3.3")
@pytest.mark.parametrize("seed", range(3))
def test_a_tenth_more_tools_of_the_same_servers_leave_nearly_all_paths_as_they_are_and_all_of_them_right(
    catalog: list[ToolDefinition], seed: int
) -> None:
    fewer = random.Random(seed).sample(catalog, round(len(catalog) / 1.1))
    before, after = BrowseTree.build(fewer), BrowseTree.build(catalog)

    unchanged = sum(before.path_of(each.id) == after.path_of(each.id) for each in fewer) / len(fewer)

    assert unchanged >= 0.98
    for each in fewer:
        assert after.find(before.path_of(each.id)).path == after.path_of(each.id)


@pytest.mark.req("GW-3.3")
def test_tools_of_other_servers_and_on_other_topics_leave_every_path_as_it_is(catalog: list[ToolDefinition]) -> None:
    namespaces = sorted({definition.namespace for definition in catalog})
    count = len(catalog) // 10
    unrelated = [
        tool(f"get_zyx{number}_qwv{number % 7}", namespace=namespaces[number % len(namespaces)])
        for number in range(count)
    ]

    before, after = BrowseTree.build(catalog), BrowseTree.build([*catalog, *unrelated])

    assert [after.path_of(each.id) for each in catalog] == [before.path_of(each.id) for each in catalog]
