"""Ids: one grammar, one text per identity, two profiles."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import typing

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolcrib_core
from toolcrib_core.definition import ToolDefinition
from toolcrib_core.errors import CatalogError, InvalidToolId, UnknownTool
from toolcrib_core.identity import (
    ToolId,
    ToolIdentity,
    format_tool_id,
    hash8,
    match_id,
    normalize_identity,
    parse_tool_id,
)
from toolcrib_core.tree import BrowseTree
from toolcrib_core.wire_names import WireNames

_AWKWARD = "@:#%/ \t\n\x00é€𝄞\u202e"
_texts = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from(_AWKWARD), min_size=1, max_size=20)
_hashes = st.from_regex(r"[0-9a-f]{8}", fullmatch=True)
_identities = st.builds(
    ToolIdentity, namespace=_texts, name=_texts, version=st.none() | _texts, hash8=st.none() | _hashes
)


@pytest.mark.req("CT-16")
def test_the_type_of_an_id_is_public_and_is_that_of_its_text() -> None:
    assert toolcrib_core.ToolId is ToolId is str
    assert typing.get_type_hints(format_tool_id)["return"] is ToolId
    assert isinstance(toolcrib_core.ToolDefinition(name="forecast").id, ToolId)


@pytest.mark.req("AR-1.4", "GW-1.6", "D4-1.6c", "D1-2b")
@given(_identities)
def test_parsing_what_was_formatted_gives_the_same_identity(identity: ToolIdentity) -> None:
    assert parse_tool_id(format_tool_id(identity)) == identity


@pytest.mark.req("AR-1.4", "GW-1.6", "D1-2c")
@given(_identities)
def test_normalizing_an_id_an_identity_or_its_parts_gives_the_same_identity(identity: ToolIdentity) -> None:
    text = format_tool_id(identity)

    assert normalize_identity(text) == identity
    assert normalize_identity(identity) == identity
    assert normalize_identity(dataclasses.asdict(identity)) == identity


@pytest.mark.req("AR-1.4", "D1-2n")
@given(st.text(max_size=60) | st.from_regex(r"[a-z%2F:@#0-9]{1,30}", fullmatch=True))
def test_a_text_that_parses_is_the_only_text_of_its_identity(text: str) -> None:
    try:
        identity = parse_tool_id(text)
    except InvalidToolId:
        return

    assert format_tool_id(identity) == text


@pytest.mark.req("AR-1.4", "D1-0c", "D1-0d", "D1-2a")
@pytest.mark.parametrize(
    ("identity", "text"),
    [
        (ToolIdentity(name="sum", version="1.0.0"), "default:sum@1.0.0"),
        (ToolIdentity(name="sum"), "default:sum"),
        (
            ToolIdentity(namespace="team/tools", name="needs space", version="v1.0.0+exp"),
            "team%2Ftools:needs%20space@v1.0.0%2Bexp",
        ),
        (ToolIdentity(namespace="a:b", name="c@d", version="e#f"), "a%3Ab:c%40d@e%23f"),
        (ToolIdentity(namespace="été", name="-_.!~*'()"), "%C3%A9t%C3%A9:-_.!~*'()"),
        (ToolIdentity(namespace="fs", name="read", hash8="0123abcd"), "fs:read#0123abcd"),
    ],
)
def test_components_are_encoded_as_encode_uri_component_does(identity: ToolIdentity, text: str) -> None:
    assert format_tool_id(identity) == text
    assert parse_tool_id(text) == identity


@pytest.mark.req("AR-1.4", "GW-1.6", "D4-1.2c", "D4-1.6b")
@pytest.mark.fault("A1")
@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "empty"),
        (":", "namespace"),
        ("a:", "name"),
        (":b", "namespace"),
        ("a:b:c", "name"),
        ("a:b@", "version"),
        ("a:b#123", "hex"),
        ("a:b#ABCDEF01", "hex"),
        ("no-colon", "`:`"),
        ("a:b\n", "name"),
        ("a:b@1.0\n", "version"),
        ("a:b#0123abcd\n", "hex"),
        ("a:\x00b", "name"),
        ("a:\u202eb", "name"),
        ("a:b%2f", "name"),
        ("a:b%61", "a:ba"),
        ("a:b%FF", "decode"),
        ("a b:c", "namespace"),
        ("x" * 10_000, "2048"),
        ("a:" + "b" * 10_000, "2048"),
    ],
)
def test_a_malformed_id_is_refused_and_the_hint_names_the_part(text: str, part: str) -> None:
    with pytest.raises(InvalidToolId) as caught:
        parse_tool_id(text)

    assert isinstance(caught.value, CatalogError)
    assert caught.value.code == "toolbox.invalid-tool-id"
    assert part in str(caught.value)
    assert len(str(caught.value)) < 400
    assert str(caught.value).isprintable()


@pytest.mark.fault("A2")
@pytest.mark.req("AR-1.4")
def test_a_look_alike_letter_in_an_id_is_refused() -> None:
    with pytest.raises(InvalidToolId):
        parse_tool_id("fs:rеad")


@pytest.mark.req("GW-1.1", "AR-1.4", "D4-1.1a")
@pytest.mark.parametrize(
    "text",
    [
        "github:create_issue@1.4.0",
        "slack:slack_send_message#3a91c7d2",
        "mcp:_private.name-1#00000000",
        "a:B@2024-05#deadbeef",
        "a" * 64 + ":" + "b" * 128 + "@" + "1" * 32,
    ],
)
def test_the_gateway_profile_takes_what_its_grammar_allows(text: str) -> None:
    assert format_tool_id(parse_tool_id(text, profile="gateway"), profile="gateway") == text


@pytest.mark.req("GW-1.1", "AR-1.4", "D4-1.2k", "D4-1.6b")
@pytest.mark.parametrize(
    "text",
    [
        "github:create_issue",
        "GitHub:x@1",
        "1a:x@1",
        "a:1x@1",
        "a.b:x@1",
        "a:x@1.0+build",
        "a:x%20y@1",
        "a" * 65 + ":x@1",
        "a:" + "x" * 129 + "@1",
        "a:x@" + "1" * 33,
        "a" * 64 + ":" + "b" * 128 + "@" + "1" * 32 + "#deadbeef" + "0",
        "a:x@1\n",
    ],
)
def test_the_gateway_profile_refuses_the_rest(text: str) -> None:
    with pytest.raises(CatalogError):
        parse_tool_id(text, profile="gateway")


@pytest.mark.req("GW-1.1", "D4-1.1f")
def test_a_gateway_id_has_at_most_240_characters() -> None:
    identity = ToolIdentity(namespace="a" * 64, name="b" * 128, version="1" * 32, hash8="deadbeef")
    longest = format_tool_id(identity, profile="gateway")

    assert len(longest) <= 240


@pytest.mark.req("AR-1.4")
@given(_identities)
def test_the_gateway_profile_is_a_subset_of_the_general_one(identity: ToolIdentity) -> None:
    try:
        text = format_tool_id(identity, profile="gateway")
    except InvalidToolId:
        return

    assert parse_tool_id(text) == identity


@pytest.mark.req("AR-1.4", "D1-0e", "D1-0f", "D1-2c")
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("sum", ToolIdentity(name="sum")),
        ("sum@1.0.0", ToolIdentity(name="sum", version="1.0.0")),
        ({"name": "sum"}, ToolIdentity(name="sum")),
        ({"namespace": "", "name": "sum", "version": ""}, ToolIdentity(name="sum")),
        ({"namespace": "a", "name": "b", "version": "1"}, ToolIdentity(namespace="a", name="b", version="1")),
    ],
)
def test_a_missing_namespace_becomes_default_and_an_empty_version_none(value: object, expected: ToolIdentity) -> None:
    assert normalize_identity(value) == expected  # type: ignore[arg-type]  # the union is the parameter of this test


@pytest.mark.req("AR-1.4")
@pytest.mark.parametrize(
    "value",
    [
        {},
        {"name": ""},
        {"name": "a", "verison": "1"},
        {"name": "a", "hash8": "xyz"},
        {"name": 5},
        {"name": "a", "version": 1},
        "",
        None,
        7,
    ],
)
def test_an_identity_without_a_name_or_with_unknown_parts_is_refused(value: object) -> None:
    with pytest.raises(InvalidToolId):
        normalize_identity(value)  # type: ignore[arg-type]  # the union is the parameter of this test


def test_a_lone_surrogate_cannot_stand_in_an_id() -> None:
    with pytest.raises(InvalidToolId):
        format_tool_id(ToolIdentity(name="\ud800"))


def test_an_id_that_is_not_text_is_refused() -> None:
    with pytest.raises(InvalidToolId):
        parse_tool_id(7)  # type: ignore[arg-type]  # on purpose


_SHAPE = {"properties": {"a": {}}, "required": ["a"]}


@pytest.mark.req("GW-1.3", "D4-1.2j", "D4-1.3a")
@pytest.mark.parametrize(
    ("name", "schema", "expected"),
    [
        # Values that the reference implementation of the gateway document computes.
        ("github.create_issue", _SHAPE, "14e0104b"),
        ("filesystem/read", _SHAPE, "f6f16af7"),
        ("slack_send_message", _SHAPE, "7ba7076f"),
        ("read_file", _SHAPE, "4f289ebd"),
        ("brave-search", _SHAPE, "0fc0c8dc"),
        ("git_status", _SHAPE, "f8959c1e"),
        ("create_or_update_file", _SHAPE, "7022a810"),
        ("github.create_issue", {"properties": {"title": {}}, "required": ["title"]}, "34afee88"),
        ("github.list_repos", {}, "da62b2ed"),
    ],
)
def test_hash8_agrees_with_the_gateway_document(name: str, schema: dict[str, object], expected: str) -> None:
    assert hash8(name, schema) == expected


@pytest.mark.req("GW-1.3", "D4-1.3c")
def test_hash8_survives_prose_edits_and_changes_with_shape_and_upstream_name() -> None:
    plain = {"properties": {"b": {"type": "string"}, "a": {}}, "required": ["a", "b"]}
    edited = {"required": ["b", "a"], "properties": {"a": {"description": "new"}, "b": {"type": "integer"}}}
    optional = {"properties": {"a": {}, "b": {}}, "required": ["a"]}

    assert hash8("x.t", plain) == hash8("x.t", edited)
    assert len({hash8("x.t", plain), hash8("x.t", optional), hash8("y.t", plain)}) == 3


@pytest.mark.parametrize("schema", [{"properties": None}, {"properties": 3, "required": "a"}, {"required": [1, "a"]}])
def test_hash8_of_a_malformed_schema_is_still_a_hash(schema: dict[str, object]) -> None:
    assert len(hash8("x", schema)) == 8


@pytest.mark.req("GW-1.1", "D4-1.1b", "D4-1.1c", "D4-1.1d", "D4-1.1e")
@pytest.mark.parametrize(
    ("part", "legal", "illegal"),
    [
        ("namespace", ["a", "a1_-z", "a" * 64], ["", "A", "1a", "_a", "a.b", "é", "a" * 65]),
        ("name", ["a", "_", "Z9_.-", "x" * 128], ["", "9a", ".a", "-a", "a/b", "a b", "é", "x" * 129]),
        ("version", ["1", "1.4.0", "2024-05", "_a-B.9", "1" * 32], ["", "1+2", "1/2", "1 2", "é", "1" * 33]),
        ("hash8", ["0123abcd"], ["", "0123ABCD", "0123abc", "0123abcde", "ghijklmn"]),
    ],
    ids=["namespace", "name", "version", "hash8"],
)
def test_each_part_of_an_id_keeps_to_its_grammar(part: str, legal: list[str], illegal: list[str]) -> None:
    def written(value: str) -> str:
        parts = {"namespace": "a", "name": "b", "version": "1", "hash8": "0123abcd", part: value}
        return "{namespace}:{name}@{version}#{hash8}".format(**parts)

    for value in legal:
        assert getattr(parse_tool_id(written(value), profile="gateway"), part) == value
    for value in illegal:
        with pytest.raises(CatalogError):
            parse_tool_id(written(value), profile="gateway")


@pytest.mark.req("GW-1.6", "D4-1.6a")
@pytest.mark.parametrize("version", [None, "1.4.0"])
@pytest.mark.parametrize("digits", [None, "3a91c7d2"])
def test_an_id_splits_into_its_four_parts_and_back(version: str | None, digits: str | None) -> None:
    text = f"github:create_issue{f'@{version}' if version else ''}{f'#{digits}' if digits else ''}"

    parts = parse_tool_id(text)

    assert (parts.namespace, parts.name, parts.version, parts.hash8) == ("github", "create_issue", version, digits)
    assert format_tool_id(parts) == text


_NAMES = st.text("abcXYZ019_-. é天", min_size=1, max_size=12)


@pytest.mark.req("GW-1.3", "D4-1.3a", "D4-1.3b")
@given(upstream_name=_NAMES, properties=st.sets(_NAMES, max_size=5), required=st.sets(_NAMES, max_size=3))
def test_the_hash_is_the_one_that_the_document_computes(
    upstream_name: str, properties: set[str], required: set[str]
) -> None:
    shape = {"properties": sorted(properties), "required": sorted(required)}
    hashed = f"{upstream_name}\n{json.dumps(shape, sort_keys=True, separators=(',', ':'))}"

    computed = hash8(upstream_name, {"properties": dict.fromkeys(properties), "required": list(required)})

    assert computed == hashlib.sha256(hashed.encode()).hexdigest()[:8]


@pytest.mark.req("GW-1.3", "D4-1.2n", "D4-1.3d", "D4-1.3e")
def test_the_hash_names_the_top_level_shape_and_nothing_else() -> None:
    inner = {"type": "object", "properties": {"deep": {"type": "string"}}, "required": ["deep"]}
    plain = {"type": "object", "properties": {"a": {}}}
    nested = {"title": "T", "properties": {"a": inner}, "additionalProperties": False, "$defs": {"x": inner}}

    assert hash8("t", plain) == hash8("t", nested) == hash8("t", {**plain, "required": []})
    assert hash8("t", {}) == hash8("t", {"properties": {}, "required": []})
    changed = ({"properties": {"a": {}, "b": {}}}, {"properties": {"b": {}}}, {**plain, "required": ["a"]})
    assert len({hash8("t", plain), *(hash8("t", each) for each in changed)}) == 4


@pytest.mark.req("CT-20")
@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("git:log", "git:log#0123abcd"),
        ("git:log#0123abcd", "git:log#0123abcd"),
        ("git:log#00000000", None),
        ("git:tag", None),
        ("git:find", None),
        ("git:show", "git:show"),
        ("git:show@1", "git:show@1#0123abcd"),
        ("git:lo", None),
    ],
)
def test_an_id_is_matched_without_its_hash_where_one_tool_is_meant(text: str, meant: str | None) -> None:
    several = ("git:tag#0123abcd", "git:tag#1123abcd", "git:find#0123abcd", "git:find@1")

    assert match_id(text, ("git:log#0123abcd", *several, "git:show", "git:show@1#0123abcd")) == meant


@pytest.mark.req("CT-20")
def test_paths_and_wire_names_are_found_by_an_id_with_or_without_its_hash() -> None:
    log = ToolDefinition(identity=ToolIdentity(namespace="git", name="log"), upstream_name="git_log")
    tree, names = BrowseTree.build([log]), WireNames([log.id])

    assert log.id.startswith("git:log#")
    assert tree.path_of("git:log") == tree.path_of(log.id) == "/git/log"
    assert names.encode("git:log") == names.encode(log.id) == "git__log"
    for lookup in (tree.path_of, names.encode):
        with pytest.raises(UnknownTool):
            lookup("git:log#00000000")
