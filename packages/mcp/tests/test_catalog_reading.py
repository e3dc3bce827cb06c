"""Raw tools become definitions under legal ids; what cannot be used is left out and said, and spoils nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolcrib_core import parse_tool_id
from toolcrib_core.wording import shown
from toolcrib_mcp.catalog import Catalog, CatalogReport, HydrationResult, UpstreamTerms

RawTool = Callable[..., dict[str, Any]]

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
_SCHEMA_WORDS = st.sampled_from(
    "$schema $ref $defs definitions dependencies type properties patternProperties pattern items required".split()
)
_SCHEMAS = st.dictionaries(
    _SCHEMA_WORDS,
    _JSON
    | st.sampled_from(["object", "#/properties/a", "(?=a)", "http://json-schema.org/draft-07/schema#"])
    | st.dictionaries(st.text(max_size=4), st.dictionaries(_SCHEMA_WORDS, _JSON, max_size=3), max_size=3),
    max_size=5,
)
_TOOLS = _JSON | st.fixed_dictionaries(
    {},
    optional={
        "name": st.text(max_size=12) | _JSON,
        "title": _JSON,
        "description": _JSON,
        "inputSchema": _SCHEMAS | _JSON,
        "outputSchema": _SCHEMAS | _JSON,
        "annotations": _JSON,
        "_meta": _JSON,
        "more": _JSON,
    },
)


def _read(tool: object, **terms: Any) -> HydrationResult:
    catalog = _catalog(tool, **terms)
    (tool_id,) = catalog.snapshot().ids
    return catalog.hydrate(tool_id)


def _catalog(*tools: object, **terms: Any) -> Catalog:
    catalog = Catalog()
    catalog.update("github", tools, terms=UpstreamTerms(**{"server": "github", **terms}))
    return catalog


def _reasons(report: CatalogReport) -> list[str]:
    return [finding.reason for finding in report.findings]


@pytest.mark.req("GW-1.2", "D4-1.2a")
@pytest.mark.parametrize(
    ("server", "namespace"), [("github", "github"), ("My Server", "my-server"), ("@acme/tools", "acme-tools")]
)
def test_the_configured_name_of_the_server_is_the_namespace_of_its_tools(
    raw_tool: RawTool, server: str, namespace: str
) -> None:
    tool = _read(raw_tool("slack.send_message"), server=server)

    assert parse_tool_id(tool.tool_id).namespace == namespace
    assert parse_tool_id(tool.tool_id).name == "slack.send_message"


@pytest.mark.req("GW-1.2", "GW-1.4", "D4-1.2b")
@pytest.mark.parametrize(
    ("name", "version", "beginning"),
    [
        ("github.create_issue", "1.4.0", "github:create_issue@1.4.0"),
        ("slack_send_message", None, "slack:slack_send_message#"),
        ("read_file", None, "mcp:read_file#"),
        ("weather.get", "2024-05", "weather:get@2024-05"),
    ],
)
def test_without_a_configured_name_the_name_of_the_tool_suggests_the_namespace(
    raw_tool: RawTool, name: str, version: str | None, beginning: str
) -> None:
    meta = {} if version is None else {"_meta": {"version": version}}

    tool = _read(raw_tool(name, **meta), server=None)

    assert tool.tool_id.startswith(beginning)


@pytest.mark.req("GW-1.2", "GW-6.3", "D4-1.2h")
@pytest.mark.parametrize(
    "declared",
    [
        {"_meta": {"version": "2"}},
        {"_meta": {"version": 2, "fastmcp": {"version": "9"}}, "version": "9"},
        {"version": "2"},
        {"_meta": {"fastmcp": {"version": "2", "tags": []}}},
        {"_meta": {"example.com/version": "2"}},
        {"_meta": {"example.com/version": "2", "example.org/version": 2, "version": True}},
    ],
)
def test_a_version_is_seen_wherever_servers_declare_it(raw_tool: RawTool, declared: dict[str, Any]) -> None:
    tool = _read(raw_tool("create_issue", **declared))

    assert tool.tool_id == "github:create_issue@2"


@pytest.mark.req("GW-1.2", "D4-1.2i", "D4-1.2k")
@pytest.mark.parametrize(
    "declared",
    [
        {},
        {"_meta": None},
        {"_meta": {"version": 1.1}},
        {"_meta": {"version": ""}},
        {"_meta": {"fastmcp": "3"}},
        {"_meta": {"example.com/version": "1", "example.org/version": "2"}},
    ],
)
def test_a_tool_that_declares_no_single_version_is_named_by_its_shape(
    raw_tool: RawTool, declared: dict[str, Any]
) -> None:
    tool = _read(raw_tool("create_issue", "title", **declared))

    assert tool.tool_id.startswith("github:create_issue#")


@pytest.mark.req("GW-1.2")
def test_a_version_that_an_id_cannot_hold_is_left_out_and_said(raw_tool: RawTool) -> None:
    catalog = _catalog(raw_tool("create_issue", _meta={"version": "1.0+build 7"}))

    assert catalog.snapshot().ids[0].startswith("github:create_issue#")
    assert _reasons(catalog.report) == ["An id cannot hold its version; a hash of its parameters takes the place."]


@pytest.mark.req("GW-6.3")
@pytest.mark.parametrize(
    "name", ["Create", "3d_render", "café", "作成", "two words", "a/b.c", ".hidden", "x" * 300, " "]
)
def test_a_tool_with_any_name_is_kept_under_a_legal_id_and_remembers_its_name(raw_tool: RawTool, name: str) -> None:
    tool = _read(raw_tool(name))

    assert str(parse_tool_id(tool.tool_id, profile="gateway")) == tool.tool_id
    assert tool.upstream_name == tool.definition.upstream_name == name


@pytest.mark.req("GW-6.3")
@pytest.mark.parametrize("description", [{}, {"description": None}, {"description": ""}])
def test_a_tool_without_a_description_is_served_and_its_card_says_its_name(description: dict[str, Any]) -> None:
    catalog = _catalog({"name": "create_issue", "inputSchema": {"type": "object"}, **description})

    (card,) = catalog.snapshot().cards.values()
    assert card.description == "create issue"
    assert catalog.report.findings == ()


def test_the_title_of_the_annotations_stands_in_for_a_missing_one(raw_tool: RawTool) -> None:
    titled = _read(raw_tool(title="Own", annotations={"title": "Annotated"}))
    annotated = _read(raw_tool(annotations={"title": "Annotated"}))

    assert (titled.definition.title, annotated.definition.title) == ("Own", "Annotated")


@pytest.mark.req("GW-6.6")
def test_everything_a_server_says_about_a_tool_is_kept_for_passing_on(raw_tool: RawTool) -> None:
    listed = raw_tool(
        execution={"taskSupport": "optional"}, icons=[{"src": "data:,"}], _meta={"ui": 1.0}, unknown={"b": 1, "a": None}
    )

    tool = _read(listed)

    assert tool.tool_json == orjson.dumps(listed)
    assert tool.tool == listed


def test_changing_a_hydrated_tool_changes_nobody_elses(raw_tool: RawTool) -> None:
    tool = _read(raw_tool())

    tool.tool["name"] = "other"

    assert tool.tool["name"] == "create_issue"


@pytest.mark.fault("F8")
@pytest.mark.req("GW-6.3")
@pytest.mark.parametrize("schema", [{}, {"inputSchema": None}])
def test_a_tool_without_an_input_schema_takes_any_arguments_and_that_is_said(schema: dict[str, Any]) -> None:
    catalog = _catalog({"name": "ping", **schema})

    (tool_id,) = catalog.snapshot().ids
    tool = catalog.hydrate(tool_id)
    assert tool.definition.input_schema == tool.input_schema == {"type": "object"}
    assert [finding.kind for finding in catalog.report.findings] == ["repaired"]
    assert _reasons(catalog.report) == ["It has no input schema; any arguments are passed on."]


def test_patterns_that_take_unbounded_time_are_left_out_in_any_dialect_and_said(raw_tool: RawTool) -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "definitions": {"name": {"type": "string", "pattern": "^(?!admin)"}},
        "properties": {"name": {"$ref": "#/definitions/name"}},
    }

    catalog = _catalog(raw_tool("create", inputSchema=schema, outputSchema={"patternProperties": {"(?=x)": {}}}))

    tool = catalog.hydrate(catalog.snapshot().ids[0])
    assert tool.definition.input_schema["$defs"] == {"name": {"type": "string"}}
    assert tool.input_schema == schema
    assert [reason.partition(":")[0] for reason in _reasons(catalog.report)] == [
        "`/inputSchema/$defs/name/pattern`",
        "`/outputSchema/patternProperties/(?=x)`",
    ]


@pytest.mark.parametrize("schema", [{"type": "nothing"}, {"$ref": "https://example.com/schema.json"}, True, ["object"]])
def test_an_unusable_output_schema_costs_the_validation_of_results_and_not_the_tool(
    raw_tool: RawTool, schema: object
) -> None:
    catalog = _catalog(raw_tool("create", outputSchema=schema))

    tool = catalog.hydrate(catalog.snapshot().ids[0])
    assert tool.definition.output_schema is None
    assert tool.tool["outputSchema"] == schema
    assert [reason[:29] for reason in _reasons(catalog.report)] == ["Its results are not validated"]


def test_fields_of_the_wrong_type_are_passed_over_and_said(raw_tool: RawTool) -> None:
    catalog = _catalog(raw_tool("create", title=3, description=["a"], annotations="none", _meta=[]))

    assert _reasons(catalog.report) == [
        "`_meta` is not read: it must be an object, not a list of 0 items.",
        "`annotations` is not read: it must be an object, not a string of 4 characters.",
        "`description` is not read: it must be text, not a list of 1 item.",
        "`title` is not read: it must be text, not an integer.",
    ]


@pytest.mark.fault("F8")
@pytest.mark.req("GW-6.3")
@pytest.mark.parametrize(
    ("malformed", "reason"),
    [
        ("create", "A tool must be an object, not a string of 6 characters."),
        ({"description": "nameless"}, "The tool has no name."),
        ({"name": ""}, "The tool has no name."),
        ({"name": 7}, "The name of a tool must be text, not an integer."),
        ({"name": "bad", "inputSchema": ["object"]}, "`/inputSchema` must be an object, not a list of 1 item."),
        ({"name": "bad", "inputSchema": {"type": "string"}}, "must describe an object"),
        ({"name": "bad", "inputSchema": {"$ref": "https://example.com/x"}}, "leads out of the schema"),
        ({"name": "bad", "inputSchema": {"type": "object", "properties": 3}}, "`/properties` must be an object"),
        ({"name": "bad", "description": "a\0b"}, "NUL"),
        ({"name": "bad", "size": 2**70}, "not JSON that can be passed on"),
        ({"name": "bad \ud800"}, "not JSON that can be passed on"),
    ],
)
def test_a_malformed_tool_is_left_out_with_its_reason_and_the_rest_is_served(
    raw_tool: RawTool, malformed: object, reason: str
) -> None:
    catalog = _catalog(raw_tool("one"), malformed, raw_tool("two"))

    (finding,) = catalog.report.left_out
    assert reason in finding.reason
    assert [parse_tool_id(each).name for each in catalog.snapshot().ids] == ["one", "two"]


@pytest.mark.fault("F8")
def test_a_schema_nested_without_end_costs_its_tool_and_nothing_else(raw_tool: RawTool) -> None:
    deep: dict[str, Any] = {"type": "object"}
    for _ in range(200):
        deep = {"type": "object", "properties": {"a": deep}, "pattern": "(?=a)"}
    deeper: Any = []
    for _ in range(5000):
        deeper = [deeper]

    catalog = _catalog(raw_tool("one"), raw_tool("deep", inputSchema=deep), raw_tool("deeper", _meta={"a": deeper}))

    assert [finding.name for finding in catalog.report.left_out] == ["deep", "deeper"]
    assert len(catalog.snapshot()) == 1


@pytest.mark.fault("F9")
def test_a_tool_that_would_pass_for_one_of_the_gateways_own_is_left_out(raw_tool: RawTool) -> None:
    catalog = _catalog(raw_tool("tool_execute"), raw_tool("read"), server="default")

    assert [finding.name for finding in catalog.report.left_out] == ["tool_execute"]
    assert [parse_tool_id(each).name for each in catalog.snapshot().ids] == ["read"]


@pytest.mark.fault("F9")
def test_under_any_other_namespace_such_a_tool_is_told_apart_by_its_prefix(raw_tool: RawTool) -> None:
    catalog = _catalog(raw_tool("tool_execute"))

    assert list(dict(catalog.snapshot().wire_names.items()).values()) == ["github__tool_execute"]


@pytest.mark.req("GW-2.3")
def test_a_tool_whose_card_is_over_its_budget_is_said_once_and_on_no_page_and_can_be_called(raw_tool: RawTool) -> None:
    catalog = Catalog()
    tools = [raw_tool("x" * 100), raw_tool("listed")]

    first = catalog.update("github", tools)
    again = catalog.update("github", [*tools, raw_tool("another")])

    long_id = next(each for each in catalog.snapshot().ids if "xxx" in each)
    assert [finding.kind for finding in first.findings] == ["unlisted"]
    assert again.findings == ()
    assert [finding.tool_id for finding in catalog.report.unlisted] == [long_id]
    assert long_id not in catalog.snapshot().cards
    assert long_id not in {hit.id for hit in catalog.search("x" * 100).hits}
    assert catalog.tree.find("/github").count == 2
    assert catalog.hydrate(long_id).upstream_name == "x" * 100


@pytest.mark.req("GW-2.2", "D4-2.2e")
def test_no_card_shows_what_the_terms_withhold(raw_tool: RawTool) -> None:
    tool = raw_tool("read", description="Reads from https://mcp.example.com/v1 over stdio.")

    catalog = _catalog(tool, withhold=("https://mcp.example.com/v1", "stdio"))

    (card,) = catalog.snapshot().cards.values()
    assert "example.com" not in card.description
    assert "stdio" not in card.description


@pytest.mark.fault("F8", "F12")
@given(st.lists(_TOOLS, max_size=4))
@settings(max_examples=150)
def test_whatever_a_server_lists_every_tool_is_served_or_said(tools: list[Any]) -> None:
    good = {"name": "good one", "inputSchema": {"type": "object"}}

    catalog = _catalog(*tools, good)

    served = {shown(catalog.hydrate(each).upstream_name) for each in catalog.snapshot().ids}
    said = {finding.name for finding in (*catalog.report.left_out, *catalog.report.withheld)}
    assert "good one" in served
    assert {_shown_name(tool) for tool in tools} <= served | said
    assert Catalog.from_manifest(catalog.to_manifest()).to_manifest() == catalog.to_manifest()


def _shown_name(tool: object) -> str:
    name = tool.get("name") if isinstance(tool, dict) else None
    return shown(name) if isinstance(name, str) else ""
