"""Schemas that refer to files beneath the root, to themselves, and to what they may not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from loading_packs import loaded, places, violations, write, write_text

from toolcrib_core import is_valid
from toolcrib_toolpacks import source_files

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
DRAFT_4 = "http://json-schema.org/draft-04/schema#"
DRAFT_7 = "http://json-schema.org/draft-07/schema#"
TREE = {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#"}}}}


def write_json(folder: Path, name: str, value: object) -> Path:
    return write_text(folder, name, json.dumps(value))


def inputs(folder: Path, schema: dict[str, Any]) -> dict[str, Any]:
    """What becomes of an input schema."""
    write(folder, {"inputSchema": schema})
    return loaded(folder).input_schema


@pytest.mark.req("TP-9", "D0-1e", "D0-4a")
def test_a_schema_that_is_only_a_reference_to_a_file_becomes_what_is_in_the_file(tmp_path: Path) -> None:
    write_json(tmp_path, "schemas/city.json", {"$schema": "https://json-schema.org/draft/2020-12/schema", **CITY})

    schema = inputs(tmp_path, {"$ref": "schemas/city.json"})

    assert (schema["type"], schema["required"]) == ("object", ["city"])
    assert "$ref" not in schema


@pytest.mark.req("TP-9", "D0-2zb")
@pytest.mark.parametrize("reference", ["../common.yaml", "./../common.yaml#", "../common.yaml#/"])
def test_a_reference_is_relative_to_the_file_it_stands_in(tmp_path: Path, reference: str) -> None:
    write_text(tmp_path, "common.yaml", "type: object\nproperties:\n  city: {$ref: parts/city.yml}\n")
    write_text(tmp_path, "parts/city.yml", "type: string\nminLength: 2\n")
    write(tmp_path / "deep", {"inputSchema": {"$ref": reference}})

    schema = loaded(tmp_path).input_schema

    assert is_valid(schema, {"city": "Ulm"})
    assert not is_valid(schema, {"city": "U"})


@pytest.mark.req("TP-9", "D0-2zb", "D0-4a")
def test_a_chain_over_many_files_is_followed(tmp_path: Path) -> None:
    for number in range(40):
        write_json(tmp_path, f"s{number}.json", {"allOf": [{"$ref": f"s{number + 1}.json"}]})
    write_json(tmp_path, "s40.json", CITY)

    schema = inputs(tmp_path, {"$ref": "s0.json"})

    assert is_valid(schema, {"city": "Ulm"})
    assert not is_valid(schema, {})


@pytest.mark.req("TP-9")
@pytest.mark.parametrize(
    "reference",
    ["all.json#/list/1", "all.json#/names/a~1b", "all.json#/names/a~0b", "all.json#names/c%20d", "all.json#here"],
)
def test_a_pointer_leads_into_a_file_by_keys_indexes_escapes_and_anchors(tmp_path: Path, reference: str) -> None:
    name = {"type": "string", "maxLength": 3}
    document = {
        "list": [{}, name],
        "names": {"a/b": name, "a~b": name, "c d": name},
        "$defs": {"x": {"$anchor": "here", **name}},
    }
    write_json(tmp_path, "all.json", document)

    schema = inputs(tmp_path, {"type": "object", "properties": {"city": {"$ref": reference}}})

    assert is_valid(schema, {"city": "Ulm"})
    assert not is_valid(schema, {"city": "Augsburg"})


@pytest.mark.req("TP-9")
def test_keywords_beside_a_reference_hold_together_with_it(tmp_path: Path) -> None:
    write_json(tmp_path, "name.json", {"type": "string"})

    schema = inputs(tmp_path, {"type": "object", "properties": {"city": {"$ref": "name.json", "maxLength": 3}}})

    assert is_valid(schema, {"city": "Ulm"})
    assert not is_valid(schema, {"city": "Augsburg"})
    assert not is_valid(schema, {"city": 1})


@pytest.mark.req("TP-9")
@pytest.mark.parametrize(
    ("files", "schema"),
    [
        ({}, TREE),
        ({"tree.json": TREE}, {"$ref": "tree.json"}),
        ({"tree.json": TREE}, {"type": "object", "properties": {"children": {"items": {"$ref": "tree.json"}}}}),
        (
            {
                "a.json": {"type": "object", "properties": {"children": {"items": {"$ref": "b.json"}}}},
                "b.json": {"type": "object", "properties": {"children": {"items": {"$ref": "a.json"}}}},
            },
            {"$ref": "a.json"},
        ),
        (
            {
                "defs.json": {
                    "$defs": {"n": {"type": "object", "properties": {"children": {"items": {"$ref": "#/$defs/n"}}}}}
                }
            },
            {"$ref": "defs.json#/$defs/n"},
        ),
        (
            {},
            {
                "type": "object",
                "properties": {"children": {"items": {"$ref": "#/$defs/n"}}},
                "$defs": {"n": {"type": "object", "properties": {"children": {"items": {"$ref": "#/$defs/n"}}}}},
            },
        ),
    ],
)
def test_a_schema_that_refers_to_itself_is_kept_finite_and_judges_every_level(
    tmp_path: Path, files: dict[str, Any], schema: dict[str, Any]
) -> None:
    for name, content in files.items():
        write_json(tmp_path, name, content)

    resolved = inputs(tmp_path, schema)

    assert is_valid(resolved, {"children": [{"children": [{"children": []}]}]})
    assert not is_valid(resolved, {"children": [{"children": [{"children": [3]}]}]})


@pytest.mark.req("TP-9")
def test_files_of_an_older_dialect_mean_what_they_meant_there(tmp_path: Path) -> None:
    old = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": "https://example.com/old.json",
        "type": "object",
        "properties": {"city": {"$ref": "#/definitions/name"}, "pair": {"items": [{"type": "string"}]}},
        "definitions": {"name": {"type": "string", "maxLength": 3}},
    }
    write_json(tmp_path, "old.json", old)

    whole = inputs(tmp_path, {"$ref": "old.json"})
    part = inputs(tmp_path, {"type": "object", "properties": {"city": {"$ref": "old.json#/definitions/name"}}})

    for schema in (whole, part):
        assert is_valid(schema, {"city": "Ulm"})
        assert not is_valid(schema, {"city": "Augsburg"})
    assert not is_valid(whole, {"pair": [3]})


@pytest.mark.req("TP-9")
def test_a_property_that_is_called_ref_is_a_property(tmp_path: Path) -> None:
    schema = inputs(tmp_path, {"type": "object", "properties": {"$ref": {"type": "string"}}, "required": ["$ref"]})

    assert is_valid(schema, {"$ref": "anything"})
    assert not is_valid(schema, {})


@pytest.mark.req("TP-9")
def test_data_that_looks_like_a_reference_stays_data(tmp_path: Path) -> None:
    schema = inputs(tmp_path, {"type": "object", "default": {"$ref": "no.json"}, "examples": [{"$ref": "no.json"}]})

    assert schema["default"] == {"$ref": "no.json"}


@pytest.mark.req("TP-9")
def test_the_other_schema_of_the_same_file_can_be_referred_to(tmp_path: Path) -> None:
    write(tmp_path, {"outputSchema": {"type": "object", "properties": {"asked": {"$ref": "#/inputSchema"}}}})

    schema = loaded(tmp_path).output_schema

    assert is_valid(schema, {"asked": {"city": "Ulm"}})
    assert not is_valid(schema, {"asked": {"town": "Ulm"}})


@pytest.mark.req("TP-9")
def test_two_files_with_parts_of_the_same_name_are_told_apart(tmp_path: Path) -> None:
    write_json(tmp_path, "a.json", {"$defs": {"n": {"type": "string"}}})
    write_json(tmp_path, "b.json", {"$defs": {"n": {"type": "integer"}}})
    properties = {"a": {"$ref": "a.json#/$defs/n"}, "b": {"$ref": "b.json#/$defs/n"}, "c": {"$ref": "#/$defs/n"}}

    schema = inputs(tmp_path, {"type": "object", "properties": properties, "$defs": {"n": {"type": "boolean"}}})

    assert is_valid(schema, {"a": "x", "b": 1, "c": True})
    assert not any(is_valid(schema, each) for each in ({"a": 1}, {"b": "x"}, {"c": 1}))


@pytest.mark.req("TP-9", "D0-2z")
@pytest.mark.fault("C5")
@pytest.mark.parametrize(
    ("reference", "code"),
    [
        ("../../etc/passwd", "outside-root"),
        ("../outside.json", "outside-root"),
        ("a/../../outside.json", "outside-root"),
        ("%2e%2e/outside.json", "outside-root"),
        ("/etc/hostname.json", "outside-root"),
        ("..\\outside.json", "outside-root"),
        ("link.json", "outside-root"),
        ("linked/outside.json", "outside-root"),
        ("https://example.com/schema.json", "ref-url"),
        ("http://127.0.0.1:9/x.json", "ref-url"),
        ("file:///etc/passwd", "ref-url"),
        ("//example.com/x.json", "ref-url"),
        ("urn:x:y", "ref-url"),
        ("missing.json", "no-file"),
        ("folder.json", "no-file"),
        ("run.py", "ref-type"),
        ("list.json", "ref-type"),
        ("here.json#/no/such", "ref-missing"),
        ("here.json#/list/x", "ref-missing"),
        ("here.json#/list/7", "ref-missing"),
        ("here.json#noanchor", "ref-missing"),
        ("here.json#/list", "ref-missing"),
        ("#/$defs/none", "ref-missing"),
    ],
)
def test_a_reference_that_leads_out_or_nowhere_is_refused(tmp_path: Path, reference: str, code: str) -> None:
    write_json(tmp_path, "outside.json", {"type": "string"})
    root = tmp_path / "root"
    write_json(root, "here.json", {"list": [{}], "type": "string"})
    write_json(root, "list.json", [1])
    write_text(root, "run.py", "")
    (root / "folder.json").mkdir()
    (root / "link.json").symlink_to(tmp_path / "outside.json")
    (root / "linked").symlink_to(tmp_path)
    write(root / "packs", {"inputSchema": {"type": "object", "properties": {"x": {"$ref": f"../{reference}"}}}})
    if not reference[0].isalpha() or ":" in reference:
        write(root, {"inputSchema": {"type": "object", "properties": {"x": {"$ref": reference}}}}, name="b")
        (root / "packs/a.tool.yaml").unlink()

    found = [each for each in violations(root) if each.path]

    assert [(each.path, each.code) for each in found] == [("inputSchema.properties.x.$ref", code)]
    assert found[0].line > 1


@pytest.mark.req("TP-9", "TP-11", "D0-2za", "D0-2zc")
def test_what_is_wrong_in_a_file_that_is_referred_to_is_told_with_that_file_and_its_line(tmp_path: Path) -> None:
    write_text(tmp_path, "one.yaml", "type: object\nproperties:\n  a:\n    type: strng\n  a: {}\n")
    write_text(tmp_path, "two.json", '{\n\t"type": "object",\n\t"properties": {\n\t\t"b": {"type": "nothing"}}}')
    write_text(tmp_path, "three.json", '{"a": 1,}')
    properties = {
        each: {"$ref": f"{each}.{kind}"} for each, kind in (("one", "yaml"), ("two", "json"), ("three", "json"))
    }
    write(tmp_path, {"inputSchema": {"type": "object", "properties": properties}})

    found = {(each.file, each.line, each.path, each.code) for each in violations(tmp_path)}

    assert found == {
        ("one.yaml", 5, "properties.a", "duplicate-key"),
        ("two.json", 4, "properties.b.type", "bad-schema"),
        ("three.json", 1, "", "not-json"),
    }


@pytest.mark.req("TP-9")
@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "array"},
        {"type": ["object", "null"]},
        {"properties": {"a": {}}},
        {"$ref": "yes.json"},
        {"$ref": "no.json#/$defs/list"},
        {"anyOf": [{"type": "object"}, {"type": "string"}]},
        {"$ref": "#"},
    ],
)
def test_an_input_schema_that_lets_in_more_than_objects_is_refused(tmp_path: Path, schema: dict[str, Any]) -> None:
    write_text(tmp_path, "yes.json", "true")
    write_json(tmp_path, "no.json", {"$defs": {"list": {"type": "array"}}})
    write(tmp_path, {"inputSchema": schema})

    assert ("inputSchema", "input-not-object") in places(tmp_path)


@pytest.mark.req("TP-9")
@pytest.mark.parametrize(
    "schema",
    [
        {"allOf": [{"type": "object"}, {"required": ["a"]}]},
        {"anyOf": [{"type": "object"}, {"$ref": "#/$defs/o"}], "$defs": {"o": {"type": "object"}}},
        {"$ref": "o.json", "description": "beside"},
    ],
)
def test_an_input_schema_that_lets_in_only_objects_says_so_at_its_top(tmp_path: Path, schema: dict[str, Any]) -> None:
    write_json(tmp_path, "o.json", {"type": "object"})

    assert inputs(tmp_path, schema)["type"] == "object"


@pytest.mark.req("TP-9", "CT-2", "D0-1f", "D0-2za")
def test_a_file_of_an_older_dialect_is_judged_by_it_before_it_is_upgraded(tmp_path: Path) -> None:
    write_json(tmp_path, "old.json", {"$schema": DRAFT_7, "definitions": {"a": {"exclusiveMinimum": True}}})
    properties = {each: {"$ref": "old.json#/definitions/a"} for each in "ab"}
    write(tmp_path, {"outputSchema": {"type": "object", "properties": properties}})

    assert [(each.file, each.path, each.code) for each in violations(tmp_path)] == [
        ("old.json", "definitions.a.exclusiveMinimum", "bad-schema")
    ]


@pytest.mark.req("TP-9", "CT-2", "D0-0c", "D0-1f", "D0-3f", "D0-4g")
@pytest.mark.parametrize(
    ("schema", "path"),
    [
        ({"type": "objekt"}, "outputSchema.type"),
        ({"properties": {"a": {"minLength": -1}}}, "outputSchema.properties.a.minLength"),
        ({"pattern": "(?=x)"}, "outputSchema.pattern"),
        ({"$schema": "https://example.com/own"}, "outputSchema.$schema"),
        ({"$ref": 3}, "outputSchema.$ref"),
        pytest.param({"$schema": DRAFT_7, "exclusiveMinimum": True}, "outputSchema.exclusiveMinimum", id="draft-07"),
        pytest.param({"$schema": DRAFT_4, "required": []}, "outputSchema.required", id="draft-04"),
        pytest.param(
            {"$schema": DRAFT_4, "definitions": {"a": {"required": []}}},
            "outputSchema.definitions.a.required",
            id="part",
        ),
    ],
)
def test_a_schema_that_is_not_valid_in_its_dialect_is_refused(
    tmp_path: Path, schema: dict[str, Any], path: str
) -> None:
    write(tmp_path, {"outputSchema": schema})

    assert places(tmp_path) == [(path, "bad-schema")]


@pytest.mark.req("TP-9")
def test_what_cannot_be_moved_between_files_is_refused(tmp_path: Path) -> None:
    write_json(tmp_path, "a.json", {"$defs": {"x": {"$dynamicRef": "#meta"}, "y": {"allOf": [{"$id": "https://x/y"}]}}})
    properties = {"x": {"$ref": "a.json#/$defs/x"}, "y": {"$ref": "a.json#/$defs/y"}}
    write(tmp_path, {"inputSchema": {"type": "object", "properties": properties}})

    assert {code for _, code in places(tmp_path)} >= {"ref-dynamic", "ref-id"}


@pytest.mark.req("TP-9")
def test_references_without_end_are_bounded(tmp_path: Path) -> None:
    write_json(tmp_path, "wide.json", {"list": [{"type": "string", "minLength": at} for at in range(600)]})
    properties = {f"p{at}": {"$ref": f"wide.json#/list/{at}"} for at in range(600)}
    write(tmp_path, {"inputSchema": {"type": "object", "properties": properties}})

    assert {code for _, code in places(tmp_path)} == {"ref-too-many"}


@pytest.mark.req("TP-9")
@pytest.mark.fault("B2")
def test_files_that_only_refer_to_each_other_are_refused_and_not_followed_for_ever(tmp_path: Path) -> None:
    write_json(tmp_path, "a.json", {"$ref": "b.json"})
    write_json(tmp_path, "b.json", {"$ref": "a.json"})
    write(tmp_path, {"inputSchema": {"$ref": "a.json"}})

    assert {code for _, code in places(tmp_path)} == {"input-not-object", "bad-schema"}


@pytest.mark.req("TP-9", "TP-11")
def test_a_number_that_has_no_canonical_form_is_refused_in_a_file_too(tmp_path: Path) -> None:
    write_text(tmp_path, "big.json", '{"maximum": 9007199254740993}')
    write(tmp_path, {"outputSchema": {"$ref": "big.json"}})

    assert [code for _, code in places(tmp_path)] == ["bad-definition"]


@pytest.mark.req("TP-9")
def test_a_schema_beyond_the_bounds_of_schemas_is_refused(tmp_path: Path) -> None:
    doubled = {f"n{at}": {"anyOf": [{"$ref": f"#/$defs/n{at + 1}"}] * 2} for at in range(24)}
    write_json(tmp_path, "a.json", {"$defs": {**doubled, "n24": {"type": "string"}}})
    write(tmp_path, {"outputSchema": {"$ref": "a.json#/$defs/n0"}})

    assert [code for _, code in places(tmp_path)] == ["schema-too-complex"]


@pytest.mark.req("TP-9")
def test_a_schema_that_is_only_a_reference_to_nothing_is_told_once(tmp_path: Path) -> None:
    write(tmp_path, {"inputSchema": {"$ref": "missing.json"}})

    assert places(tmp_path) == [("inputSchema.$ref", "no-file")]


@pytest.mark.req("TP-9")
def test_a_reference_may_lead_to_true_and_false(tmp_path: Path) -> None:
    write_json(tmp_path, "flags.json", {"$defs": {"any": True, "none": False}})
    properties = {"a": {"$ref": "flags.json#/$defs/any"}, "b": {"$ref": "flags.json#/$defs/none"}}

    schema = inputs(tmp_path, {"type": "object", "properties": properties})

    assert is_valid(schema, {"a": 1})
    assert not is_valid(schema, {"b": 1})


@pytest.mark.req("TP-9", "TP-11")
@pytest.mark.parametrize("reference", ["http://[", "#/%zz", "//["])
def test_what_is_no_uri_is_refused_and_raises_nothing_else(tmp_path: Path, reference: str) -> None:
    schema = {"$id": "https://example.com/", "type": "object", "properties": {"x": {"$ref": reference}}}
    write(tmp_path, {"inputSchema": schema})

    assert [path for path, _ in places(tmp_path)] == ["inputSchema.properties.x.$ref"]


@pytest.mark.req("TP-9", "TP-11")
def test_a_file_beyond_the_bounds_of_schemas_is_refused(tmp_path: Path) -> None:
    write_text(tmp_path, "deep.json", '{"a":' * 100 + "1" + "}" * 100)
    write_text(tmp_path, "long.json", '"' + "x" * 300_000 + '"')
    properties = {"a": {"$ref": "deep.json"}, "b": {"$ref": "long.json"}}
    write(tmp_path, {"inputSchema": {"type": "object", "properties": properties}})

    assert {code for _, code in places(tmp_path)} == {"too-large"}


@pytest.mark.req("TP-11")
def test_one_load_reads_only_so_many_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_files, "MAX_FILES", 3)
    for number in range(5):
        write(tmp_path, {"id": f"a.t{number}"}, name=f"p{number}")

    assert [each.code for each in violations(tmp_path)] == ["too-many-files", "too-many-files"]
