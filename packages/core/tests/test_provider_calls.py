"""What all adapters share around a call: names on the wire, calls read, results written."""

from __future__ import annotations

import pytest

from toolcrib_core import (
    BrokenCall,
    DuplicateTool,
    MalformedJson,
    ParsedCall,
    ParsedCalls,
    ResultContent,
    ToolCall,
    ToolDefinition,
    ToolNames,
    UnknownTool,
    restore_arguments,
)
from toolcrib_core.providers.loading import LoadedTools
from toolcrib_core.providers.reading import read_call
from toolcrib_core.providers.results import Part, error_json, joined_text, result_parts
from toolcrib_core.providers.streams import StreamedCalls
from toolcrib_core.schema.limits import INSTANCE_LIMITS

A = ToolDefinition(namespace="n", name="a", version="1.0.0")
B = ToolDefinition(name="b", version="1.0.0")
NAMES = ToolNames([B, A])


@pytest.mark.req("AD-10")
def test_definitions_stand_in_the_order_of_their_wire_names_whatever_order_they_came_in() -> None:
    assert [each.id for each in NAMES] == [each.id for each in ToolNames([A, B])] == [B.id, A.id]
    assert NAMES.wire_name(A) == "n__a"
    assert NAMES.definition("n__a") is A
    assert NAMES.by_id(B.id) is B
    assert (len(NAMES), A in NAMES, A.id in NAMES, "x" in NAMES) == (2, True, True, False)


@pytest.mark.req("AD-10")
def test_two_definitions_of_one_id_are_refused_and_one_given_twice_is_one() -> None:
    assert len(ToolNames([A, A])) == 1
    with pytest.raises(DuplicateTool):
        ToolNames([A, A.replace(description="other")])


@pytest.mark.req("AD-3")
def test_a_tool_that_is_not_in_the_set_is_not_found() -> None:
    with pytest.raises(UnknownTool):
        NAMES.by_id("n:c@1.0.0")


@pytest.mark.req("AD-3")
def test_arguments_over_a_limit_are_an_error_that_names_the_tool() -> None:
    parsed = read_call(NAMES, call_id="c", name="b", arguments='{"a":"' + "x" * INSTANCE_LIMITS.max_bytes + '"}')

    assert isinstance(parsed.outcome, BrokenCall)
    assert parsed.outcome.error.code == "toolbox.arguments-too-large"
    assert "`b`" in parsed.outcome.error.message


@pytest.mark.req("AD-3")
def test_a_call_shows_neither_its_arguments_nor_an_approval() -> None:
    call = ToolCall(tool="n:a", arguments={"password": "hunter2"}, id="c", approval="secret")

    assert repr(ParsedCall(call, "c", "n__a", {})) == "ParsedCall(ToolCall(tool='n:a', id='c'))"
    assert [each.outcome for each in ParsedCalls((ParsedCall(call, "c", "n__a", {}),))] == [call]


@pytest.mark.req("AD-4")
def test_a_broken_call_is_a_result_without_a_value() -> None:
    broken = BrokenCall("c", "b", MalformedJson("Not JSON.", hint="Mend it."))

    assert broken.value is None
    assert result_parts(broken) == (Part("text", text="Not JSON. Mend it."),)
    assert repr(broken) == "BrokenCall(call_id='c', tool_id='b', error='toolbox.malformed-json')"


@pytest.mark.req("AD-4")
@pytest.mark.parametrize(
    ("block", "part"),
    [
        ({"type": "text", "text": "t"}, Part("text", text="t")),
        ({"type": "image", "data": "AA", "mimeType": "image/png"}, Part("image", data="AA", mime_type="image/png")),
        ({"type": "audio", "data": "AA", "mimeType": "audio/wav"}, Part("audio", data="AA", mime_type="audio/wav")),
        ({"type": "resource", "resource": {"uri": "u", "text": "t"}}, Part("text", text="t", uri="u")),
        (
            {"type": "resource", "resource": {"uri": "f/a.png", "blob": "AA", "mimeType": "image/png"}},
            Part("image", data="AA", mime_type="image/png", uri="f/a.png", name="a.png"),
        ),
        ({"type": "resource", "resource": {"blob": "AA"}}, Part("file", data="AA")),
        ({"type": "resource_link", "uri": "u", "name": "n"}, Part("link", uri="u", name="n")),
        ({"type": "image"}, Part("text", text='{"type":"image"}')),
    ],
)
def test_every_content_block_becomes_a_part_and_none_is_dropped(block: dict[str, object], part: Part) -> None:
    assert result_parts(ResultContent("c", blocks=(block,))) == (part,)


@pytest.mark.req("AD-4")
def test_what_is_not_text_is_named_where_only_text_is_taken() -> None:
    parts = (Part("text", text="t"), Part("file", mime_type="a/b", name="n"), Part("link", uri="u"), Part("audio"))

    assert joined_text(parts) == "t\n[file: a/b n, not shown]\n[link](u)\n[audio, not shown]"


@pytest.mark.req("AD-4")
def test_an_error_is_told_with_its_hint_and_without_its_details() -> None:
    error = MalformedJson("Not JSON.", details={"line": 1})

    assert error_json(error) == '{"error":{"code":"toolbox.malformed-json","message":"Not JSON.","retryable":false}}'
    shown = ResultContent("c", tool_id="t", error=error)
    assert shown.content == ({"type": "text", "text": "Not JSON."},)
    assert repr(shown) == "ResultContent(call_id='c', tool_id='t', error='toolbox.malformed-json')"
    assert repr(ResultContent("c", value="secret")) == "ResultContent(call_id='c', tool_id='')"


@pytest.mark.req("AD-3")
def test_pieces_of_a_call_over_the_limit_do_not_fill_the_memory() -> None:
    calls = StreamedCalls()
    calls.begin(0, call_id="c", name="b")
    for _ in range(4):
        calls.add(0, "x" * INSTANCE_LIMITS.max_bytes)

    assert (len(calls), 0 in calls, 1 in calls) == (1, True, False)
    assert len(next(iter(calls)).arguments) <= 2 * INSTANCE_LIMITS.max_bytes
    assert isinstance(calls.parsed(NAMES).entries[0].outcome, BrokenCall)


@pytest.mark.req("AD-3")
def test_a_call_is_complete_when_the_vendor_says_so_and_not_before() -> None:
    calls = StreamedCalls()
    calls.begin(0, call_id="c", name="b")
    calls.add(0, "{}")
    assert calls.parsed(NAMES).calls == []

    calls.finish_all()
    assert [each.id for each in calls.parsed(NAMES).calls] == ["c"]

    calls.cut_off(0)
    assert calls.parsed(NAMES).calls == []

    calls.finish(0, arguments='{"a": 1}')
    assert calls.parsed(NAMES).calls[0].arguments == {"a": 1}


@pytest.mark.req("AD-5")
def test_what_a_search_has_loaded_reads_as_a_list_of_names() -> None:
    loaded = LoadedTools.found(ToolCall(tool="default:find", id="c"), [A, B.id], NAMES)

    assert loaded.wire_names == ("n__a", "b")
    assert loaded.error is None
    assert '"n__a"' in str(loaded.content[0]["text"])


@pytest.mark.req("AD-2")
@pytest.mark.parametrize(
    ("schema", "written", "meant"),
    [
        (
            {"properties": {"a": {"type": "string"}, "b": {"type": ["string", "null"]}}},
            {"a": None, "b": None},
            {"b": None},
        ),
        ({"properties": {"a": {"enum": ["v"]}, "b": {"const": None}}}, {"a": None, "b": None}, {"b": None}),
        ({"properties": {"a": {"const": "v"}, "b": True}}, {"a": None, "b": None}, {"b": None}),
        ({"properties": {"a": False, "b": {}}}, {"a": None, "b": None}, {"b": None}),
        ({"properties": {"a": {"$ref": "#/$defs/d"}}}, {"a": {"x": None}}, {"a": {}}),
        (
            {"properties": {"a": {"type": "array", "items": {"$ref": "#/$defs/d"}}}},
            {"a": [{"x": None}, 1]},
            {"a": [{}, 1]},
        ),
        (
            {"properties": {"a": {"prefixItems": [{"$ref": "#/$defs/d"}]}}},
            {"a": [{"x": None}, {"x": None}]},
            {"a": [{}, {"x": None}]},
        ),
        ({"properties": {"a": {"anyOf": [{"type": "string"}, {"type": "integer"}]}}}, {"a": None}, {}),
        ({"properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}}}, {"a": None}, {"a": None}),
        ({"properties": {"a": {"oneOf": [{"type": "string"}, {"type": "null"}]}}}, {"a": None}, {"a": None}),
        ({"properties": {"a": {"oneOf": [True, {"type": "null"}]}}}, {"a": None}, {}),
        ({"properties": {"a": {"oneOf": [{"not": {}}]}}}, {"a": None}, {}),
        ({"properties": {"a": {"anyOf": [{"not": {}}]}}, "required": ["a"]}, {"a": None}, {"a": None}),
        ({"properties": {"a": {"allOf": [{"type": "string"}]}}}, {"a": None}, {}),
        ({"properties": {"a": {"not": {"type": "string"}}}}, {"a": None}, {}),
        ({"anyOf": [{"properties": {"a": {"type": "string"}}}]}, {"a": None, "z": None}, {"z": None}),
    ],
)
def test_a_null_that_only_stands_for_absent_is_taken_out(
    schema: dict[str, object], written: dict[str, object], meant: dict[str, object]
) -> None:
    definitions: dict[str, object] = {"d": {"type": "object", "properties": {"x": {"type": "string"}}}}
    whole = {"type": "object", "$defs": definitions, **schema}
    frozen = ToolDefinition(name="t", input_schema=whole).input_schema

    assert restore_arguments(whole, written) == restore_arguments(frozen, written) == meant


@pytest.mark.req("AD-2")
def test_a_null_that_the_schema_itself_refuses_is_absent_whatever_an_alternative_says() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
        "dependentSchemas": {"b": {"properties": {"a": {"enum": ["v", None]}}}},
    }

    assert restore_arguments(schema, {"a": None, "b": "x"}) == {"b": "x"}
