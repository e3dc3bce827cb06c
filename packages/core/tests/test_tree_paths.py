"""Paths: the grammar, and errors that lead back to paths that exist."""

from __future__ import annotations

import copy
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tree_tools import GITHUB, tool, tools

from toolcrib_core.errors import ToolErrorCategory
from toolcrib_core.tree import BrowseTree, PathInvalid, PathNotFound, parse_path
from toolcrib_core.tree.paths import format_path

_GRAMMAR = re.compile(r"/|/([a-z][a-z0-9_-]{0,63}|\*)|/[a-z][a-z0-9_-]{0,63}(/[a-z0-9][a-z0-9_-]{0,63})*(/\*)?")

_GITHUB_TREE = BrowseTree.build(tools(GITHUB))


@pytest.fixture(scope="module")
def tree() -> BrowseTree:
    slack = tools(["send_message", "list_channels"], namespace="slack")
    return BrowseTree.build([*tools(GITHUB), *slack])


@pytest.mark.req("GW-3.2", "D4-3.2a", "D4-3.2l")
@pytest.mark.parametrize(
    ("text", "segments"),
    [
        ("/", ()),
        ("/*", ()),
        ("/github", ("github",)),
        ("/github/*", ("github",)),
        ("/github/issues/create_issue", ("github", "issues", "create_issue")),
        ("/a-b_c/0day/9", ("a-b_c", "0day", "9")),
        (f"/{'n' * 64}", ("n" * 64,)),
    ],
)
def test_a_path_is_a_slash_and_its_segments(text: str, segments: tuple[str, ...]) -> None:
    assert parse_path(text) == segments


@pytest.mark.req("GW-3.2", "GW-3.4", "D4-3.2b", "D4-3.2d", "D4-3.2e", "D4-3.2h", "D4-3.2i", "D4-3.2k")
@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "does not start with `/`"),
        ("github", "does not start with `/`"),
        (" /github", "does not start with `/`"),
        ("/github/", "ends in `/`"),
        ("//", "has an empty segment at position 1"),
        ("//github", "has an empty segment at position 1"),
        ("/github//issues", "has an empty segment at position 2"),
        ("/GitHub", "has a malformed segment at position 1"),
        ("/github/createIssue", "has a malformed segment at position 2"),
        ("/github/create.issue", "has a malformed segment at position 2"),
        ("/github/_private", "has a malformed segment at position 2"),
        ("/github/issues\n", "has a malformed segment at position 2"),
        ("/github/..", "has a malformed segment at position 2"),
        (f"/{'n' * 65}", "has a malformed segment at position 1"),
        ("/1password", "names a namespace that starts with a digit"),
        ("/*/issues", "has a `*` at position 1, but `*` can only come last"),
        ("/github/iss*", "has a malformed segment at position 2"),
    ],
)
def test_a_text_that_breaks_the_grammar_is_invalid_and_told_how(text: str, fault: str) -> None:
    with pytest.raises(PathInvalid) as caught:
        parse_path(text)

    assert caught.value.message == f"The path {fault}."
    assert caught.value.code == "toolbox.path-invalid"
    assert caught.value.category is ToolErrorCategory.VALIDATION
    assert caught.value.hint is not None


@pytest.mark.req("GW-3.2", "D4-3.2a", "D4-3.2b")
@given(st.text("/ab0_-*A.\n", max_size=12) | st.text(max_size=8).map("/".__add__))
def test_a_text_is_a_path_exactly_when_the_grammar_says_so(text: str) -> None:
    if _GRAMMAR.fullmatch(text):
        assert format_path(parse_path(text)) == (text.removesuffix("/*") or "/")
    else:
        with pytest.raises(PathInvalid):
            parse_path(text)


@pytest.mark.req("GW-3.4")
def test_a_path_of_another_type_is_invalid() -> None:
    with pytest.raises(PathInvalid, match="A path is text, not int"):
        parse_path(7)  # type: ignore[arg-type]  # what a model may send


@pytest.mark.req("GW-3.4")
def test_an_invalid_path_comes_back_short_and_printable() -> None:
    with pytest.raises(PathInvalid) as caught:
        parse_path("/\x1b[31m" + "x" * 10_000)

    shown = caught.value.details["path"]
    assert isinstance(shown, str)
    assert shown.isprintable()
    assert len(shown) < 300
    assert caught.value.message == "The path has a malformed segment at position 1."


@pytest.mark.req("GW-3.2", "GW-3.3", "D4-3.2f")
@pytest.mark.parametrize("path", ["/", "/github", "/github/issues", "/github/issues/create_issue"])
def test_a_star_at_the_end_changes_nothing(tree: BrowseTree, path: str) -> None:
    assert tree.children(f"{path.rstrip('/')}/*") == tree.children(path)


@pytest.mark.req("GW-3.4")
@pytest.mark.parametrize(
    ("path", "nearest"),
    [
        ("/githib", "/github"),
        ("/githib/issues", "/github"),
        ("/create_issue", "/github/issues/create_issue"),
        ("/github/isues", "/github/issues"),
        ("/github/issues/crete_issue", "/github/issues/create_issue"),
        ("/github/nonsense/create_issue", "/github/issues/create_issue"),
        ("/github/issues/qqqq", "/github/issues"),
        ("/github/issues/create_issue/deeper", "/github/issues/create_issue"),
        ("/qqqq", "/"),
    ],
)
def test_a_path_that_leads_nowhere_is_told_the_nearest_that_exists_first(
    tree: BrowseTree, path: str, nearest: str
) -> None:
    with pytest.raises(PathNotFound) as caught:
        tree.find(path)

    suggested = caught.value.details["nearest"]
    assert isinstance(suggested, list)
    assert suggested[0] == nearest
    assert caught.value.details["path"] == path
    assert caught.value.code == "toolbox.path-not-found"
    assert caught.value.category is ToolErrorCategory.NOT_FOUND


@pytest.mark.req("GW-3.4")
@given(st.lists(st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True), min_size=1, max_size=40))
def test_every_suggested_path_exists(segments: list[str]) -> None:
    path = format_path(["github", "no_such_thing", *segments])

    with pytest.raises(PathNotFound) as caught:
        _GITHUB_TREE.find(path)

    suggested = caught.value.details["nearest"]
    assert isinstance(suggested, list)
    assert 1 <= len(suggested) <= 4
    assert [_GITHUB_TREE.find(each).path for each in suggested] == suggested


@pytest.mark.req("GW-3.4")
def test_in_an_empty_tree_only_the_root_is_suggested() -> None:
    tree = BrowseTree.build([])

    with pytest.raises(PathNotFound) as caught:
        tree.find("/github")

    assert caught.value.details["nearest"] == ["/"]
    assert tree.children("/") == ()


@pytest.mark.req("GW-3.4")
def test_a_misspelt_tool_among_thousands_is_still_found() -> None:
    tree = BrowseTree.build([tool(f"{letter}_report_{number}") for letter in "abc" for number in range(1_000)])

    with pytest.raises(PathNotFound) as caught:
        tree.find("/github/b_reprt_77")

    suggested = caught.value.details["nearest"]
    assert isinstance(suggested, list)
    assert tree.find("/github/b_report_77").path in suggested


@pytest.mark.req("AR-5.1")
@pytest.mark.parametrize("path", ["/github/", "/github/qqqq"])
def test_the_errors_survive_being_copied(tree: BrowseTree, path: str) -> None:
    with pytest.raises((PathInvalid, PathNotFound)) as caught:
        tree.find(path)

    twin = copy.deepcopy(caught.value)

    assert type(twin) is type(caught.value)
    assert twin == caught.value


@pytest.mark.req("GW-3.2", "D4-3.2g")
@pytest.mark.parametrize("text", ["/github/*?tag=read-only", "/*?tag=read-only", "/github/**", "/github/*x"])
def test_a_filter_behind_a_star_is_no_path_yet(text: str) -> None:
    with pytest.raises(PathInvalid):
        parse_path(text)
