"""Names in the tree: segments, singular and plural, and what a tool is about."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolcrib_core.tree.inflection import plural, singular
from toolcrib_core.tree.paths import is_segment
from toolcrib_core.tree.segments import namespace_segments, told_apart, tool_segment
from toolcrib_core.tree.topics import topic_of, words_of

_words = st.from_regex(r"[a-z0-9]{1,12}", fullmatch=True)
_suffixes = st.sampled_from(["", "s", "es", "ies", "ss", "us", "is", "ses", "xes", "ches", "y", "people", "aliases"])
_names = st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1, max_size=80)


@pytest.mark.req("GW-3.3")
@pytest.mark.parametrize(
    ("name", "segment"),
    [
        ("create_issue", "create_issue"),
        ("create-issue", "create-issue"),
        ("createIssue", "create_issue"),
        ("ListAHOWorkflows", "list_aho_workflows"),
        ("generateOAuthUrl", "generate_oauth_url"),
        ("math.factorial", "math_factorial"),
        ("WeatherAPI.com_Time Zone", "weather_api_com_time_zone"),
        ("_private", "private"),
        ("2fa_enable", "2fa_enable"),
        ("!!!", "tool"),
        ("x" * 200, "x" * 64),
    ],
)
def test_a_tool_name_has_a_readable_lower_case_segment(name: str, segment: str) -> None:
    assert tool_segment(name) == segment


@pytest.mark.req("GW-3.2", "GW-3.3")
@given(_names)
def test_every_tool_name_has_a_legal_segment_which_is_its_own_segment(name: str) -> None:
    segment = tool_segment(name)

    assert is_segment(segment)
    assert tool_segment(segment) == segment


@pytest.mark.req("GW-3.2", "GW-3.3", "D4-3.2j", "D4-3.2k")
@given(st.lists(_names | st.sampled_from(["git hub", "Git Hub", "git-hub", "9 lives", "n9-lives"]), max_size=12))
def test_every_namespace_has_a_root_segment_of_its_own(namespaces: list[str]) -> None:
    segments = namespace_segments(namespaces)

    assert segments.keys() == set(namespaces)
    assert len(set(segments.values())) == len(segments)
    assert all(is_segment(segment) and segment[0].isalpha() for segment in segments.values())
    assert namespace_segments(reversed(namespaces)) == segments


@pytest.mark.req("GW-3.3")
def test_a_legal_namespace_keeps_its_segment_whatever_the_others_are_called() -> None:
    rival = namespace_segments(["GitHub", "github"])["GitHub"]

    segments = namespace_segments(["GitHub", "github", "Git.Hub", rival])

    assert segments["github"] == "github"
    assert segments[rival] == rival
    assert segments["GitHub"] not in {"github", rival}
    assert segments["Git.Hub"] == "git-hub"


@pytest.mark.req("GW-3.3")
def test_tools_of_one_name_are_told_apart_by_their_versions() -> None:
    labels: dict[str, str | None] = {"a:t@1.4.0": "1.4.0", "a:t@2.0.0-RC.1": "2.0.0-RC.1"}

    assert told_apart(labels) == {"a:t@1.4.0": "1-4-0", "a:t@2.0.0-RC.1": "2-0-0-rc-1"}


@pytest.mark.req("GW-3.3")
@pytest.mark.parametrize("versions", [("1+a", "1-a"), ("+", "2"), (None, "2")])
def test_tools_whose_versions_make_no_two_segments_are_told_apart_by_hash(versions: tuple[str | None, ...]) -> None:
    labels = {f"a:t@{version}": version for version in versions}

    assert told_apart(labels) == {each: hashlib.sha256(each.encode()).hexdigest()[:8] for each in labels}


@pytest.mark.req("GW-3.3")
@pytest.mark.parametrize(
    ("one", "many"),
    [
        ("issue", "issues"),
        ("repository", "repositories"),
        ("branch", "branches"),
        ("index", "indexes"),
        ("status", "statuses"),
        ("address", "addresses"),
        ("cache", "caches"),
        ("alias", "aliases"),
        ("key", "keys"),
        ("pull_request", "pull_requests"),
        ("metadata", "metadata"),
    ],
)
def test_singular_and_plural_lead_to_each_other(one: str, many: str) -> None:
    assert plural(one) == many
    assert singular(many) == one


@pytest.mark.req("GW-3.3")
@given(st.builds(str.__add__, _words, _suffixes))
@example("peoples")
@example("s")
def test_the_singular_is_final_and_the_plural_leads_back_to_it(word: str) -> None:
    one = singular(word)

    assert one != ""
    assert singular(one) == one
    assert singular(plural(one)) == one


@pytest.mark.req("GW-3.3")
@pytest.mark.parametrize(
    ("segment", "topic"),
    [
        ("create_issue", "issue"),
        ("add_issue_comment", "issue comment"),
        ("add_issue_to_project", "issue"),
        ("issues_list", "issue"),
        ("issue_read", "issue"),
        ("get_order_by_id", "order"),
        ("order_get", "order"),
        ("merge_pull_request", "pull_request"),
        ("pull_request_read", "pull_request"),
        ("get_merge_request_note", "merge_request note"),
        ("create_or_update_file", "file"),
        ("jira_batch_create_issues", "jira issue"),
        ("unassign_reviewers", "reviewer"),
        ("list_all_recent_v3_rotations", "rotation"),
        ("port_forward", "port"),
        ("email_report", "email"),
        ("directory_tree", "directory"),
        ("get_a_b1_c1_d1_e1", "b1 c1 d1"),
        ("search", ""),
        ("whoami", ""),
        ("42", ""),
    ],
)
def test_a_tool_is_about_the_nouns_of_its_name(segment: str, topic: str) -> None:
    assert " ".join(word.key for word in topic_of(segment)) == topic


@pytest.mark.req("GW-3.3")
def test_what_the_namespace_says_already_is_no_topic() -> None:
    said = words_of("mcp-linear")

    topic = topic_of("linear_get_issues", namespace_words=said)

    assert [word.key for word in topic] == ["issue"]
