"""Upstream tools get identities that are legal in the gateway's grammar, and two of them never share one silently."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolcrib_core.definition import ToolDefinition
from toolcrib_core.identity import ToolIdentity, format_tool_id, parse_tool_id
from toolcrib_core.upstream_names import derive_name, infer_namespace, upstream_identity

NAMES = st.one_of(
    st.text(st.sampled_from("abZ09_.-/ :@#é天\n"), min_size=1, max_size=20),
    st.text(st.characters(exclude_categories=[]), min_size=1, max_size=200),
)


def define(upstream_name: str, *, version: str | None = None, server: str | None = None) -> ToolDefinition:
    return ToolDefinition(
        identity=upstream_identity(upstream_name, server=server, version=version),
        upstream_name=upstream_name,
        input_schema={"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
    )


@pytest.mark.req("GW-1.4", "D4-1.2e", "D4-1.2f", "D4-1.2l", "D4-1.4a", "D4-1.4b", "D4-1.4c", "D4-1.4d")
@pytest.mark.parametrize(
    ("upstream_name", "version", "tool_id"),
    [
        ("github.create_issue", "1.4.0", "github:create_issue@1.4.0"),
        ("weather.get", "2024-05", "weather:get@2024-05"),
        ("github.create_issue", None, "github:create_issue#14e0104b"),
        ("filesystem/read", None, "filesystem:read#f6f16af7"),
        ("slack_send_message", None, "slack:slack_send_message#7ba7076f"),
        ("read_file", None, "mcp:read_file#4f289ebd"),
        ("brave-search", None, "mcp:brave-search#0fc0c8dc"),
        ("git_status", None, "mcp:git_status#f8959c1e"),
        ("create_or_update_file", None, "create:create_or_update_file#7022a810"),
    ],
)
def test_an_upstream_name_gives_this_id(upstream_name: str, version: str | None, tool_id: str) -> None:
    assert define(upstream_name, version=version).id == tool_id


@pytest.mark.req("GW-1.3")
@pytest.mark.parametrize(
    ("upstream_name", "schema", "tool_id"),
    [
        (
            "github.create_issue",
            {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]},
            "github:create_issue#34afee88",
        ),
        ("github.list_repos", {"type": "object"}, "github:list_repos#da62b2ed"),
    ],
)
def test_the_hash_is_computed_over_the_upstream_name_and_the_shape(
    upstream_name: str, schema: dict[str, object], tool_id: str
) -> None:
    identity = upstream_identity(upstream_name)

    definition = ToolDefinition(identity=identity, upstream_name=upstream_name, input_schema=schema)

    assert definition.id == tool_id


@pytest.mark.req("GW-1.4")
@pytest.mark.parametrize(
    ("upstream_name", "derived"),
    [
        ("a.b.c", ("a", "b.c")),
        ("a.b/c", ("a", "b/c")),
        ("x/y.z", ("x/y", "z")),
        ("x/y/z", ("x", "y/z")),
        ("a_b_c.d", ("a_b_c", "d")),
        ("GitHub.create", ("GitHub", "create")),
        (".hidden", ("mcp", ".hidden")),
        ("trailing.", ("mcp", "trailing.")),
        ("/root", ("mcp", "/root")),
        ("_private_helper_tool", ("mcp", "_private_helper_tool")),
        ("a_b", ("mcp", "a_b")),
        ("a__b", ("a", "a__b")),
        ("", ("mcp", "")),
    ],
)
def test_a_dot_counts_before_a_slash_before_underscores_and_only_between_two_parts(
    upstream_name: str, derived: tuple[str, str]
) -> None:
    assert derive_name(upstream_name) == derived
    assert infer_namespace(upstream_name) == derived[0]


@pytest.mark.req("GW-1.1", "D4-1.4h")
@pytest.mark.parametrize(
    ("upstream_name", "namespace", "name"),
    [
        ("GitHub.create_issue", "github", "create_issue"),
        ("Slack_send_message", "slack", "Slack_send_message"),
        ("3d_render_model", "n3d", "_3d_render_model_b50bd60f"),
        ("a.b/c", "a", "b_c_fc7cd9c4"),
        ("x/y.z", "x-y", "z"),
        (".hidden", "mcp", "_.hidden_16924190"),
        ("café.menü", "cafe", "menu_e14aa1a1"),
    ],
)
def test_a_name_outside_the_grammar_becomes_a_legal_one_and_is_never_skipped(
    upstream_name: str, namespace: str, name: str
) -> None:
    assert upstream_identity(upstream_name) == ToolIdentity(namespace=namespace, name=name)


@pytest.mark.req("GW-1.2")
@pytest.mark.parametrize(
    ("server", "namespace"),
    [
        ("github", "github"),
        ("GitHub", "github"),
        ("My Server (beta)", "my-server-beta"),
        ("@scope/mcp-server-x", "scope-mcp-server-x"),
        ("1password", "n1password"),
        ("__private__", "private"),
        ("Zürich", "zurich"),
    ],
)
def test_the_configured_server_is_the_namespace(server: str, namespace: str) -> None:
    assert upstream_identity("issues.create", server=server) == ToolIdentity(namespace=namespace, name="issues.create")


@pytest.mark.req("CT-28", "GW-1.2", "GW-1.4", "D4-1.4h")
@pytest.mark.parametrize(
    ("server", "upstream_name", "name"),
    [
        ("github", "github.create_issue", "create_issue"),
        ("github", "github/create_issue", "create_issue"),
        ("weather", "weather__forecast", "forecast"),
        ("GitHub", "GitHub.create_issue", "create_issue"),
        ("GitHub", "github.create_issue", "create_issue"),
        ("github", "GitHub.create_issue", "create_issue"),
        ("my__server", "my__server__read", "read"),
        ("my server", "my-server/read", "read"),
        ("my-server", "my-server__read", "read"),
        # One underscore is part of the name, as is what only begins like the namespace, or has nothing behind it.
        ("slack", "slack_send_message", "slack_send_message"),
        ("github", "githubx.create_issue", "githubx.create_issue"),
        ("github", "gitlab.create_issue", "gitlab.create_issue"),
        ("github", "github.", "github."),
        ("github", "github__", "github__"),
        # Once is enough.
        ("github", "github.github.create", "github.create"),
        ("github", "github.repos.list", "repos.list"),
        ("a", "a__b__c", "b__c"),
    ],
)
def test_a_prefix_that_repeats_the_server_leaves_the_name(server: str, upstream_name: str, name: str) -> None:
    assert upstream_identity(upstream_name, server=server).name == name


@pytest.mark.req("CT-28", "GW-1.3", "D4-1.3f", "D4-1.3g")
def test_the_hash_goes_over_the_name_that_the_server_knows() -> None:
    assert define("github.create_issue", server="github").id == define("github.create_issue").id
    assert define("create_issue", server="github").id != define("github.create_issue", server="github").id


@pytest.mark.req("CT-28", "D4-1.4e")
@given(
    st.from_regex(r"[a-z][a-z0-9_-]{0,20}", fullmatch=True),
    st.from_regex(r"[A-Za-z_][A-Za-z0-9_.-]{0,40}", fullmatch=True),
    st.sampled_from(["", ".", "/", "__"]),
)
def test_the_upstream_name_can_be_made_again_from_namespace_separator_and_name(
    server: str, rest: str, separator: str
) -> None:
    upstream_name = f"{server}{separator}{rest}" if separator else rest

    identity = upstream_identity(upstream_name, server=server)

    prefixes = ("", *(f"{identity.namespace}{each}" for each in (".", "/", "__")))
    assert upstream_name in {f"{prefix}{identity.name}" for prefix in prefixes}


@pytest.mark.req("GW-1.2")
def test_servers_named_in_another_script_keep_apart() -> None:
    namespaces = {upstream_identity("read", server=server).namespace for server in ("天気", "予報", "天気-a", "予報-a")}

    assert len(namespaces) == 4


@pytest.mark.req("GW-1.2")
@pytest.mark.parametrize("version", ["1.2.3+build.5", "", "1 2", "v" * 33, "версия", "1.0\n"])
def test_a_version_that_an_id_cannot_hold_gives_way_to_the_hash(version: str) -> None:
    definition = define("github.create_issue", version=version)

    assert definition.id == "github:create_issue#14e0104b"


@pytest.mark.fault("A2")
def test_a_name_with_a_look_alike_letter_of_another_script_gets_an_id_of_its_own() -> None:
    latin, cyrillic = define("fs.read", version="1"), define("fs.r\u0435ad", version="1")

    assert latin.id == "fs:read@1"
    assert cyrillic.id.isascii()
    assert cyrillic.id != latin.id


@pytest.mark.req("GW-1.1", "D4-1.1g", "D4-7b")
@pytest.mark.fault("A1")
@settings(max_examples=300)
@given(NAMES, st.none() | NAMES, st.none() | NAMES)
def test_any_upstream_name_server_and_version_give_an_id_of_the_gateway_grammar(
    upstream_name: str, server: str | None, version: str | None
) -> None:
    identity = upstream_identity(upstream_name, server=server, version=version)

    hashed = identity if identity.version else dataclasses.replace(identity, hash8="00000000")
    assert parse_tool_id(format_tool_id(hashed, profile="gateway"), profile="gateway") == hashed


@pytest.mark.req("GW-1.1")
@settings(max_examples=200)
@given(st.lists(NAMES, min_size=2, max_size=8, unique=True))
def test_two_names_of_one_server_become_one_only_where_a_prefix_repeats_the_server(upstream_names: list[str]) -> None:
    names = {upstream_identity(each, server="server", version="1").name for each in upstream_names}

    assert len(names) == len(upstream_names)


@pytest.mark.req("GW-1.4", "D4-1.2f")
@given(st.from_regex(r"[A-Za-z_][A-Za-z0-9_.-]{0,127}", fullmatch=True))
def test_a_legal_name_of_a_configured_server_is_verbatim(upstream_name: str) -> None:
    assert upstream_identity(upstream_name, server="any server").name == upstream_name


@pytest.mark.req("GW-1.2", "GW-1.4", "D4-1.2b", "D4-1.4f", "D4-1.4g")
@pytest.mark.parametrize(
    ("upstream_name", "namespace"),
    [
        ("github.create_issue", "github"),
        ("github/create_issue", "github"),
        ("slack_send_message", "slack"),
        ("read_file", "mcp"),
        ("search", "mcp"),
    ],
)
def test_a_namespace_is_inferred_from_the_separator_that_matches(upstream_name: str, namespace: str) -> None:
    assert infer_namespace(upstream_name) == namespace


@pytest.mark.req("GW-1.3", "D4-1.3g")
def test_tools_of_one_shape_and_derived_name_have_hashes_of_their_own() -> None:
    github, gitlab = (define(f"{each}.create_issue").identity for each in ("github", "gitlab"))

    assert github.name == gitlab.name == "create_issue"
    assert github.hash8 != gitlab.hash8
