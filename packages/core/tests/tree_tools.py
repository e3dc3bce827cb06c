"""Definitions for the tests of the browse tree, and a walk over all that a tree lists."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from toolcrib_core.definition import ToolDefinition
from toolcrib_core.tree import BrowseTree, TreeEntry, TreeLeaf, TreeNode

GITHUB = """
    create_or_update_file search_repositories create_repository get_file_contents push_files create_issue
    create_pull_request fork_repository create_branch list_commits list_issues update_issue add_issue_comment
    search_code search_issues search_users get_issue get_pull_request list_pull_requests create_pull_request_review
    merge_pull_request get_pull_request_files get_pull_request_status update_pull_request_branch
    get_pull_request_comments get_pull_request_reviews
""".split()


def tool(name: str, *, namespace: str = "github", version: str | None = None) -> ToolDefinition:
    return ToolDefinition(namespace=namespace, name=name, version=version)


def tools(names: Iterable[str], *, namespace: str = "github") -> list[ToolDefinition]:
    return [tool(name, namespace=namespace) for name in names]


def walk(tree: BrowseTree, path: str = "/") -> Iterator[tuple[str, tuple[TreeEntry, ...]]]:
    """Every node that can be reached by browsing from the path, with what it lists."""
    listed = tree.children(path)
    yield path, listed
    for entry in listed:
        if isinstance(entry, TreeNode):
            yield from walk(tree, entry.path)


def reached(tree: BrowseTree, path: str = "/") -> list[str]:
    """The ids of the tools that browsing from the path comes to, sorted."""
    entries = (entry for _, listed in walk(tree, path) for entry in listed)
    return sorted(entry.tool_id for entry in entries if isinstance(entry, TreeLeaf))


def paths(entries: Iterable[TreeEntry]) -> list[str]:
    return [entry.path for entry in entries]
