"""Listings: bounded everywhere, and nothing gets lost or hidden by what it is called."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tree_tools import GITHUB, paths, reached, tool, tools, walk

from toolcrib_core.definition import ToolDefinition
from toolcrib_core.tree import BrowseTree, TreeLeaf, TreeNode

_SHOW_TREE = """
from tree_tools import GITHUB, tools, walk
from toolcrib_core.tree import BrowseTree
names = [*GITHUB, *(f"{verb}_{noun}" for verb in ("get", "list", "put") for noun in "abcdefghijklmnopqrstuvwxyz")]
for line in walk(BrowseTree.build([*tools(names), *tools(GITHUB, namespace="Git.Hub")], max_children=5)):
    print(line)
"""


def _servers(count: int) -> list[ToolDefinition]:
    return [tool(name, namespace=f"server{number}") for number in range(count) for name in ("get_issue", "list_issues")]


@pytest.mark.req("GW-3.3")
@pytest.mark.parametrize("count", [1, 24, 25, 60, 1_000])
def test_any_number_of_namespaces_is_listed_within_the_bound_and_each_is_at_its_own_path(count: int) -> None:
    tree = BrowseTree.build(_servers(count))

    listings = dict(walk(tree))

    namespaces = [
        entry.path
        for listed in listings.values()
        for entry in listed
        if isinstance(entry, TreeNode) and entry.kind == "namespace"
    ]
    assert max(map(len, listings.values())) <= 24
    assert sorted(namespaces) == sorted(f"/server{number}" for number in range(count))
    for number in range(count):
        assert len(tree.children(f"/server{number}")) == 2


@pytest.mark.req("GW-3.3", "D4-3.2c")
def test_up_to_the_bound_the_root_lists_namespaces_only() -> None:
    tree = BrowseTree.build(_servers(24))

    assert {entry.kind for entry in tree.children("/") if isinstance(entry, TreeNode)} == {"namespace"}


@pytest.mark.req("GW-3.3", "D4-3.2c")
def test_beyond_the_bound_the_root_keeps_the_largest_namespaces_and_puts_the_rest_into_a_range() -> None:
    tree = BrowseTree.build([*_servers(25), *tools(GITHUB)])

    *kept, rest = tree.children("/")

    assert "/github" in paths(kept)
    assert rest == TreeNode(
        kind="range",
        path="/other",
        label="server7 … server9",
        count=6,
        examples=("server7", "server8", "server9"),
        namespace=None,
    )
    assert paths(tree.children("/other")) == ["/server7", "/server8", "/server9"]


@pytest.mark.req("GW-3.3")
def test_a_range_never_takes_the_path_of_a_namespace() -> None:
    tree = BrowseTree.build([*_servers(25), tool("get_issue", namespace="other")])

    assert len(reached(tree)) == 51
    assert paths(tree.children("/other")) == ["/other/issues/get_issue"]
    assert "/other-2" in paths(tree.children("/"))


@pytest.mark.req("GW-3.3")
def test_a_range_never_takes_the_short_path_of_a_tool() -> None:
    names = [f"{letter}{number}" for letter in "abcdef" for number in range(9)]
    tree = BrowseTree.build([*tools(names), tool("get_other_by_name"), tool("other"), tool("a-c")])

    assert tree.find("/github/other") == tree.find(tree.path_of(tool("other").id))
    assert tree.find("/github/a-c") == tree.find(tree.path_of(tool("a-c").id))


@pytest.mark.req("GW-3.3")
def test_ranges_are_named_like_the_pages_of_a_dictionary() -> None:
    tree = BrowseTree.build(tools(["ant", "bee", "cat", "cow", "cub", "dog", "eel"], namespace="zoo"), max_children=4)

    assert paths(tree.children("/zoo")) == ["/zoo/a-ca", "/zoo/co-e"]
    assert paths(tree.children("/zoo/co-e")) == ["/zoo/cow", "/zoo/cub", "/zoo/dog", "/zoo/eel"]


@pytest.mark.req("GW-3.3")
def test_ranges_of_names_that_begin_alike_for_long_have_different_paths() -> None:
    names = [f"{'x' * 50}{number}" for number in range(100)]

    tree = BrowseTree.build(tools(names))

    assert len(reached(tree)) == 100
    assert len(set(paths(tree.children("/github")))) == len(tree.children("/github"))


@pytest.mark.req("GW-3.3")
def test_a_cluster_that_is_too_large_is_split_by_the_next_word() -> None:
    things = ["note", "link", "label", "vote"]
    names = [
        f"{verb}_issue_{thing}" for verb in ("get", "list", "add", "edit", "drop", "move", "copy") for thing in things
    ]
    tree = BrowseTree.build([*tools(names), tool("get_user")])

    assert paths(tree.children("/github")) == ["/github/issue", "/github/users/get_user"]
    assert paths(tree.children("/github/issue")) == [f"/github/issue/{thing}s" for thing in sorted(things)]


@pytest.mark.req("GW-3.3")
def test_a_namespace_about_one_thing_lists_what_that_one_cluster_would() -> None:
    tree = BrowseTree.build(tools([f"get_issue_{letter}x" for letter in "abcdefghijklmnopqrstuvwxyz"]))

    assert [entry.path for entry in tree.children("/github") if isinstance(entry, TreeLeaf)] == []
    assert reached(tree, "/github") == reached(tree, "/github/issue")


@pytest.mark.req("GW-3.3")
def test_versions_of_a_tool_share_its_path_and_are_told_apart_below() -> None:
    versions = [tool("create_issue", version=version) for version in ("1.4.0", "2.0.0")]
    tree = BrowseTree.build(versions)

    assert [tree.path_of(each.id) for each in versions] == [
        "/github/issues/create_issue/1-4-0",
        "/github/issues/create_issue/2-0-0",
    ]
    assert paths(tree.children("/github/create_issue")) == [tree.path_of(each.id) for each in versions]
    assert tree.find("/github/create_issue/2-0-0").path == "/github/issues/create_issue/2-0-0"


@pytest.mark.req("GW-3.3")
def test_names_that_differ_in_case_or_punctuation_only_are_both_reached() -> None:
    alike = tools(["getIssue", "get_issue", "get.issue", "Get_Issue"])

    tree = BrowseTree.build(alike)

    assert reached(tree, "/github/get_issue") == sorted(each.id for each in alike)
    assert len({tree.path_of(each.id) for each in alike}) == 4


@pytest.mark.req("GW-3.3")
def test_a_tool_named_like_a_cluster_hangs_in_that_cluster() -> None:
    named = tools(["issues", "list_issues", "create_issue"])

    tree = BrowseTree.build(named)

    assert tree.path_of(named[0].id) == "/github/issues/issues"
    assert reached(tree, "/github/issues") == sorted(each.id for each in named)


@pytest.mark.req("GW-3.3")
@pytest.mark.parametrize("path", ["/github/issues", "/github/issue"])
def test_a_cluster_answers_to_singular_and_plural(path: str) -> None:
    tree = BrowseTree.build(tools(GITHUB))

    assert tree.find(path).path == "/github/issues"
    assert tree.find(f"{path}/create_issue").path == "/github/issues/create_issue"


@pytest.mark.req("GW-3.3")
@pytest.mark.parametrize("name", ["createIssue", "math.factorial", "_internal", "v1/users/{id}", "?", "A" * 200])
def test_a_tool_whose_name_is_no_segment_is_addressable(name: str) -> None:
    odd = tool(name)
    tree = BrowseTree.build([odd, *tools(GITHUB)])

    leaf = tree.find(tree.path_of(odd.id))

    assert isinstance(leaf, TreeLeaf)
    assert leaf.tool_id == odd.id


@pytest.mark.req("GW-3.3")
def test_a_catalogue_of_one_small_server_still_has_its_namespace() -> None:
    tree = BrowseTree.build(tools(["create_issue", "list_issues"]))

    assert paths(tree.children("/")) == ["/github"]
    assert reached(tree, "/github") == reached(tree)


@pytest.mark.req("GW-3.3")
@pytest.mark.parametrize(
    "sizes",
    [
        {"github": 25, "gitlab": 25},
        {"github": 26, "google": 25, "fs": 12, "slack": 30, "sentry": 22},
        {"slack": 30, "stripe": 30, "sentry": 30},
    ],
)
def test_large_namespaces_with_the_same_initial_lose_no_tool(sizes: dict[str, int]) -> None:
    definitions = [
        tool(f"{namespace}_op{number}_issue", namespace=namespace)
        for namespace, size in sizes.items()
        for number in range(size)
    ]

    tree = BrowseTree.build(definitions)

    assert reached(tree) == sorted(definition.id for definition in definitions)
    assert sorted(paths(tree.children("/"))) == sorted(f"/{namespace}" for namespace in sizes)


@pytest.mark.req("GW-3.2", "GW-3.3")
def test_labels_and_examples_stay_short_however_large_the_catalogue_is() -> None:
    services = [f"service{number}" for number in range(60)]
    definitions = [tool(f"get_thing{number}", namespace=services[number % 60]) for number in range(3_000)]

    nodes = [
        entry for _, listed in walk(BrowseTree.build(definitions)) for entry in listed if isinstance(entry, TreeNode)
    ]

    assert max(len(node.label) for node in nodes) <= 140
    assert max(len(node.examples) for node in nodes) == 3
    assert max(len(segment) for node in nodes for segment in node.path.split("/")) <= 64


@pytest.mark.req("GW-3.3")
def test_the_tree_does_not_depend_on_the_hash_seed() -> None:
    shown = {
        subprocess.run(
            [sys.executable, "-c", _SHOW_TREE],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }

    assert len(shown) == 1
    assert "/github/" in shown.pop()
