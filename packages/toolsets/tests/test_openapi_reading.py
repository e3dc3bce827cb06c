"""Reading OpenAPI documents: what becomes a tool, what is refused by operation, and what is refused as a whole."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from api_documents import chat_like, cluster_like, github_like, payments_like, petstore_like
from hypothesis import example, given
from hypothesis import strategies as st

from toolcrib_core import ToolError
from toolcrib_toolsets.errors import InvalidSettings
from toolcrib_toolsets.types import HttpApi
from toolcrib_toolsets.types.openapi.operations import KeyPlace, Operation
from toolcrib_toolsets.types.openapi.reading import read_api

pytestmark = [pytest.mark.req("TS-9")]

BASE = "https://x.example"
FINE: dict[str, Any] = {"/fine": {"get": {"operationId": "fine"}}}


def _document(paths: dict[str, Any], version: str = "3.1.0", **more: Any) -> dict[str, Any]:
    return {"swagger" if version == "2.0" else "openapi": version, "paths": paths, **more}


def _posting(content: dict[str, Any], *, version: str = "3.1.0", **components: Any) -> dict[str, Any]:
    body = {"required": True, "content": content}
    return _document({**FINE, "/x": {"post": {"requestBody": body}}}, version, components=components)


def _reason(document: dict[str, Any]) -> str:
    """Why the only refused operation beside `fine` is refused."""
    api = read_api(document, base_url=BASE)
    assert [each.name for each in api.operations] == ["fine"]
    (refusal,) = api.refused
    return refusal.reason


def _schema(document: dict[str, Any]) -> dict[str, Any]:
    """The schema of the body of `POST /x`."""
    operation = next(each for each in read_api(document, base_url=BASE).operations if each.method == "post")
    return dict(operation.input_schema)


def test_what_cannot_be_sent_is_refused_by_operation_and_the_others_are_tools() -> None:
    api = read_api(petstore_like())

    assert [each.name for each in api.operations] == ["addPet", "uploadImage", "health"]
    assert [(each.name, each.method, each.path, each.reason) for each in api.refused] == [
        ("replacePet", "PUT", "/pet", "its body is `application/xml`, which cannot be written")
    ]


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"parameters": {}}, "`parameters` are not a list"),
        ({"parameters": [{"in": "query"}]}, "a parameter of it is wrong at `name`: field required"),
        ({"parameters": [{"name": "a", "in": "nowhere"}]}, "wrong at `in`"),
        ({"parameters": [{"name": "a", "in": "query", "style": "matrix"}]}, "`a` has the style `matrix`"),
        ({"parameters": [{"name": "a", "in": "path"}]}, "path parameter `a` is not in its path"),
        ({"parameters": [{"name": "a", "in": "query", "content": {"a/b": {}}}]}, "`a` is written as `a/b`"),
        ({"parameters": [{"name": "a", "in": "query", "content": {}}]}, "does not have one media type"),
        ({"parameters": [{"name": "a", "in": "querystring", "content": {"text/plain": {}}}]}, "written as"),
        ({"parameters": [{"name": "Host", "in": "header", "required": True}]}, "belongs to the connection"),
        ({"parameters": [{"$ref": "other.yaml#/x"}]}, "outside of the document; nothing is fetched"),
        ({"parameters": [{"$ref": "https://x.example/y"}]}, "outside of the document; nothing is fetched"),
        ({"parameters": [{"$ref": "#/components/parameters/none"}]}, "which is not in the document"),
        ({"parameters": [{"$ref": "#/components/parameters/loop"}]}, "leads back to itself"),
        ({"parameters": [{"$ref": "#here"}]}, "by an anchor"),
        ({"parameters": [{"name": "a", "in": "query", "schema": []}]}, "one of its schemas is not an object"),
        (
            {"parameters": [{"name": "a", "in": "query", "schema": {"type": "strange"}}]},
            "`/properties/a/type` fits none",
        ),
        ({"parameters": [{"name": "a", "in": "query", "schema": {"$dynamicRef": "#a"}}]}, "`$dynamicRef`"),
        ({"parameters": [{"name": "a", "in": "query", "schema": {"$schema": "urn:mine"}}]}, "`urn:mine`"),
        ({"parameters": [{"name": "a", "in": "query", "schema": {"$ref": "#/components/schemas/A"}}]}, "but itself"),
        ({"requestBody": {"required": True}}, "its body is wrong at `content`: field required"),
        ({"requestBody": {"content": {}}}, "its body is of no media type"),
        ({"requestBody": {"content": {"application/jsonl": {"itemSchema": {}}}}}, "sequence of items"),
        (
            {"requestBody": {"content": {"text/plain": {"schema": {"type": "object"}}}}},
            "with a schema that cannot be written as that",
        ),
        ({"servers": ["https://x"]}, None),
        ({"security": [{"a": [], "b": []}]}, "needs `a`, `b` at once"),
        ({"security": [{"digest": []}]}, "`http digest`, for which a key is not enough"),
        ({"security": [{"mutual": []}]}, "`mutualTLS`, for which a key is not enough"),
        ({"security": [{"none": []}]}, "`none` is not in the document"),
        ({"security": {}}, "`security` is not a list"),
    ],
)
def test_each_reason_names_what_is_in_the_way(said: dict[str, Any], reason: str | None) -> None:
    components = {
        "parameters": {"loop": {"$ref": "#/components/parameters/loop"}},
        "schemas": {"A": {"$ref": "#/components/schemas/B"}, "B": {"$ref": "#/components/schemas/A"}},
        "securitySchemes": {"digest": {"type": "http", "scheme": "digest"}, "mutual": {"type": "mutualTLS"}},
    }
    document = _document({**FINE, "/x": {"post": said}}, components=components, security=[])

    if reason is None:
        assert len(read_api(document, base_url=BASE).operations) == 2
    else:
        assert reason in _reason(document)


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        ({"trace": {}}, "its method `TRACE` is not one that is sent"),
        ({"query": {}}, "its method `QUERY` is not one that is sent"),
        ({"additionalOperations": {"COPY": {}}}, "its method `COPY` is not one that is sent"),
        ({"get": []}, "it is not an object"),
        ([], "its path item is not an object"),
        ({"$ref": "#/components/pathItems/none"}, "which is not in the document"),
    ],
)
def test_paths_and_methods_that_are_never_sent_are_refused(item: object, reason: str) -> None:
    assert reason in _reason(_document({**FINE, "/x": item}, "3.2.0"))


@pytest.mark.parametrize("path", ["evil.example/x", ":8080/x", "/x#y"])
def test_a_path_that_would_lead_elsewhere_is_refused(path: str) -> None:
    assert "its path" in _reason(_document({**FINE, path: {"get": {}}}))


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "the document is not a JSON object"),
        ({}, "the document names no version; OpenAPI 2.0, 3.0, 3.1 or 3.2 can be read"),
        ({"openapi": "4.0.0"}, "the document says `openapi: 4.0.0`; OpenAPI"),
        ({"swagger": "1.2"}, "the document says `swagger: 1.2`"),
        ({"openapi": "2.0"}, "the document says `openapi: 2.0`"),
        ({"openapi": "3.1.0", "paths": []}, "`paths` is not an object"),
        ({"openapi": "3.1.0", "paths": {"/x": {}}}, "the document has no operation"),
        ({"openapi": "3.1.0", "paths": {1: {}}}, "a key that is not text at `#/paths`"),
        ({"openapi": "3.1.0", "x": [0] * 500_001}, "more than 500,000 values"),
        ({"openapi": "3.1.0", "x": {"maximum": 2**64}}, "a number of more than 64 bits at `#/x/maximum`"),
    ],
)
def test_a_document_that_cannot_be_read_gets_the_place(document: object, message: str) -> None:
    with pytest.raises(InvalidSettings) as caught:
        read_api(document)

    assert message in caught.value.message


def test_a_document_that_is_too_deep_gets_the_place() -> None:
    deep: dict[str, Any] = {}
    for _ in range(200):
        deep = {"a": deep}

    with pytest.raises(InvalidSettings, match="more than 100 deep at `#/components/schemas/Deep/a/a/a/a/a`"):
        read_api({"openapi": "3.1.0", "components": {"schemas": {"Deep": deep}}})


def test_when_every_operation_is_refused_the_first_reason_is_the_error() -> None:
    with pytest.raises(InvalidSettings, match="no operation of the document can be a tool; `TRACE /x`: its method"):
        read_api(_document({"/x": {"trace": {}}}))


def test_a_long_chain_of_references_is_refused() -> None:
    chain: dict[str, Any] = {f"p{n}": {"$ref": f"#/components/parameters/p{n + 1}"} for n in range(30)}
    chain["p30"] = {"name": "a", "in": "query"}
    said = {"parameters": [{"$ref": "#/components/parameters/p0"}]}

    reason = _reason(_document({**FINE, "/x": {"get": said}}, components={"parameters": chain}))

    assert "more than 20 references" in reason


def test_only_chooses_operations_by_name_id_or_pattern_and_names_stay() -> None:
    document = github_like()

    for only in (["issues/create"], ["issues_create"], ["*create"]):
        assert [each.name for each in read_api(document, only=only).operations] == ["issues_create"]
    with pytest.raises(InvalidSettings, match=r"`isues_create`.* did you mean `issues_create`"):
        read_api(document, only=["isues_create"])
    same = {f"/{number}": {"get": {"operationId": "same"}} for number in range(3)}
    chosen = read_api(_document(same), base_url=BASE, only=["same_3"])
    assert [(each.name, each.path) for each in chosen.operations] == [("same_3", "/2")]


def test_too_many_operations_are_refused_unless_some_are_chosen() -> None:
    document = _document({f"/{number}": {"get": {"operationId": f"o{number}"}} for number in range(501)})

    with pytest.raises(InvalidSettings, match=r"has 501 operations, and an instance has at most 500; choose .*`only`"):
        read_api(document, base_url=BASE)
    assert len(read_api(document, base_url=BASE, only=["o1*"]).operations) == 111


def test_arguments_have_names_that_every_provider_takes() -> None:
    parameters = [
        {"name": "filter[name]", "in": "query"},
        {"name": "$top", "in": "query"},
        {"name": "id", "in": "query"},
        {"name": "id", "in": "header"},
        {"name": "query_id", "in": "query"},
        {"name": "body", "in": "query"},
        {"name": "ü", "in": "query"},
    ]

    (operation,) = read_api(_document({"/{id}": {"get": {"parameters": parameters}}}), base_url=BASE).operations

    assert list(operation.input_schema["properties"]) == [
        "filter_name",
        "top",
        "id",
        "header_id",
        "query_id",
        "query_body",
        "query",
        "path_id",
    ]
    assert operation.input_schema["required"] == ["path_id"]


def test_a_required_parameter_with_a_default_is_filled_in() -> None:
    listed = read_api(github_like(), only=["issues/list-for-repo"]).operations[0]

    assert listed.input_schema["required"] == ["owner", "repo"]
    assert listed.defaults == {"X-Api-Version": "2022-11-28"}


@pytest.mark.parametrize(
    ("schema", "translated"),
    [
        ({"type": "string", "nullable": True, "enum": ["a"]}, {"type": ["string", "null"], "enum": ["a", None]}),
        (
            {"nullable": True, "allOf": [{"type": "object"}], "description": "D"},
            {"anyOf": [{"allOf": [{"type": "object"}]}, {"type": "null"}], "description": "D"},
        ),
        ({"nullable": True}, {}),
        ({"type": "integer", "minimum": 0, "exclusiveMinimum": True}, {"type": "integer", "exclusiveMinimum": 0}),
        ({"type": "integer", "minimum": 0, "exclusiveMinimum": False}, {"type": "integer", "minimum": 0}),
        ({"type": "string", "example": "e", "x-more": 1, "xml": {}}, {"type": "string"}),
        (
            {"type": "object", "properties": {"example": {"type": "string"}, "default": {"nullable": True}}},
            {"type": "object", "properties": {"example": {"type": "string"}, "default": {}}},
        ),
        (
            {"type": "object", "properties": {"id": {"readOnly": True}, "a": {}}, "required": ["id", "a"]},
            {"type": "object", "properties": {"a": {}}, "required": ["a"]},
        ),
    ],
)
def test_schemas_of_3_0_are_translated(schema: dict[str, Any], translated: dict[str, Any]) -> None:
    document = _posting({"application/json": {"schema": schema}}, version="3.0.3")

    assert _schema(document)["properties"]["body"] == translated


def test_references_become_definitions_wherever_they_lead() -> None:
    components = {
        "A": {
            "properties": {
                "b": {"$ref": "#/components/schemas/B/properties/inner"},
                "a": {"$ref": "#/components/schemas/A"},
            }
        },
        "B": {"properties": {"inner": {"type": "integer"}}},
        "a b/c": {"type": "string"},
    }
    schema = {
        "properties": {
            "one": {"$ref": "#/components/schemas/A"},
            "two": {"$ref": "#/components/schemas/a%20b~1c"},
            "three": {"$ref": "#/paths/~1fine/get/parameters/0/schema"},
        }
    }
    document = _posting({"application/json": {"schema": schema}}, schemas=components)
    document["paths"]["/fine"]["get"]["parameters"] = [{"name": "q", "in": "query", "schema": {"type": "boolean"}}]

    assert _schema(document)["$defs"] == {
        "A": {"properties": {"b": {"$ref": "#/$defs/inner"}, "a": {"$ref": "#/$defs/A"}}},
        "a_b_c": {"type": "string"},
        "inner": {"type": "integer"},
        "schema": {"type": "boolean"},
    }


def test_a_body_that_cannot_be_written_gives_way_to_another_of_its_media_types() -> None:
    content = {
        "multipart/form-data": {"schema": {"type": "object", "properties": {"a": {}}}},
        "application/json": {"schema": {"$ref": "https://elsewhere.example/schema.json"}},
    }

    (operation,) = [each for each in read_api(_posting(content), base_url=BASE).operations if each.method == "post"]

    assert operation.body is not None
    assert operation.body.media_type == "multipart/form-data"


@pytest.mark.parametrize(
    ("media", "reason"),
    [
        ({"schema": {"type": "string"}}, "is not an object"),
        ({"schema": {"properties": {"f": {}}}, "encoding": {"f": {"headers": {"X": {}}}}}, "has headers of its own"),
        ({"schema": {"properties": {"f": {}}}, "encoding": {"f": {"style": "matrix"}}}, "has the style `matrix`"),
        ({"schema": {"properties": {"f": {}}}, "encoding": {"f": {"contentType": "a\r\nb"}}}, "has the content type"),
        (
            {"schema": {"oneOf": [{"properties": {"f": {"type": "string", "format": "binary"}}}, {"properties": {}}]}},
            "files and alternatives",
        ),
    ],
)
def test_forms_that_have_no_form_are_refused(media: dict[str, Any], reason: str) -> None:
    assert reason in _reason(_posting({"multipart/form-data": media}))


def test_a_file_in_a_form_that_has_none_is_refused() -> None:
    schema = {"properties": {"f": {"type": "string", "format": "binary"}}}
    assert "only multipart/form-data has files" in _reason(
        _posting({"application/x-www-form-urlencoded": {"schema": schema}})
    )


def test_files_are_found_behind_references_and_beside_null() -> None:
    binary = {"type": "string", "format": "binary"}
    schema = {
        "allOf": [
            {"$ref": "#/components/schemas/Form"},
            {"properties": {"maybe": {"anyOf": [binary, {"type": "null"}]}}, "required": ["note"]},
        ]
    }
    form = {
        "properties": {"many": {"type": "array", "items": binary}, "note": {"type": "string"}},
        "required": ["many"],
    }
    document = _posting({"multipart/form-data": {"schema": schema}}, schemas={"Form": form})

    body = _schema(document)["properties"]["body"]

    assert body["required"] == ["many", "note"]
    assert body["properties"]["many"]["items"]["properties"]["base64"]["contentEncoding"] == "base64"
    assert set(body["properties"]["maybe"]["properties"]) == {"filename", "contentType", "text", "base64"}
    assert body["properties"]["note"] == {"type": "string"}


def _key(operation: Operation) -> tuple[str, str, str] | str | None:
    place = operation.key
    if place is None or place.basic:
        return place and "basic"
    return place.place, place.name, place.word


def test_the_key_goes_where_the_security_schemes_say() -> None:
    schemes = {
        "header": {"type": "apiKey", "in": "header", "name": "X-Key"},
        "authorization": {"type": "apiKey", "in": "header", "name": "Authorization"},
        "query": {"type": "apiKey", "in": "query", "name": "k"},
        "cookie": {"type": "apiKey", "in": "cookie", "name": "sid"},
        "bearer": {"type": "http", "scheme": "Bearer"},
        "basic": {"type": "http", "scheme": "basic"},
        "oauth": {"type": "oauth2", "flows": {}},
        "digest": {"type": "http", "scheme": "digest"},
    }
    wanted: dict[str, Any] = {
        "header": ("header", "X-Key", ""),
        "authorization": ("header", "Authorization", ""),
        "query": ("query", "k", ""),
        "cookie": ("cookie", "sid", ""),
        "bearer": ("header", "Authorization", "Bearer "),
        "basic": "basic",
        "oauth": ("header", "Authorization", "Bearer "),
    }
    paths = {f"/{name}": {"get": {"operationId": name, "security": [{name: []}]}} for name in wanted}
    paths["/second"] = {"get": {"operationId": "second", "security": [{}, {"digest": []}, {"query": []}]}}
    paths["/anyone"] = {"get": {"operationId": "anyone", "security": [{}, {"digest": []}]}}
    paths["/shared"] = {"get": {"operationId": "shared"}}
    wanted |= {"second": wanted["query"], "anyone": None, "shared": wanted["header"]}
    document = _document(paths, components={"securitySchemes": schemes}, security=[{"header": []}])

    assert {each.name: _key(each) for each in read_api(document, base_url=BASE).operations} == wanted
    everywhere = read_api(document, base_url=BASE, key=KeyPlace(query="mine"))
    assert {_key(each) for each in everywhere.operations} == {("query", "mine", "")}


def test_without_a_word_about_security_the_key_is_a_bearer_token_or_goes_to_the_only_scheme() -> None:
    assert _key(read_api(_document(FINE), base_url=BASE).operations[0]) == ("header", "Authorization", "Bearer ")
    schemes = {"securitySchemes": {"only": {"type": "apiKey", "in": "header", "name": "X-Key"}}}
    assert _key(read_api(_document(FINE, components=schemes), base_url=BASE).operations[0]) == ("header", "X-Key", "")
    basic = _document(FINE, "2.0", securityDefinitions={"b": {"type": "basic"}})
    assert _key(read_api(basic, base_url=BASE).operations[0]) == "basic"


def _bases(document: dict[str, Any], **settings: Any) -> list[str]:
    return [each.base for each in read_api(document, **settings).operations]


def test_servers_have_variables_and_operations_may_have_their_own() -> None:
    document = petstore_like()

    assert set(_bases(document)) == {"https://eu.pets.example/v1"}
    assert set(_bases(document, variables={"region": "us"})) == {"https://us.pets.example/v1"}
    with pytest.raises(InvalidSettings, match="`region` of its server is one of `eu`, `us`"):
        read_api(document, variables={"region": "mars"})
    with pytest.raises(InvalidSettings, match="no variable `nope`; known are `path`, `region`"):
        read_api(document, variables={"nope": "1"})

    assert _bases(github_like(), only=["repos/upload*"]) == ["https://uploads.code.example"]
    assert set(_bases(github_like(), base_url=BASE)) == {BASE}
    relative = _document({"/x": {"servers": [{"url": "/v2"}], "get": {}}}, servers=[{"url": "https://y.example/v1"}])
    assert _bases(relative) == ["https://y.example/v2"]


def test_version_2_has_one_server_by_https_where_it_can() -> None:
    assert set(_bases(chat_like())) == {"https://chat.example/api"}
    plain = chat_like() | {"schemes": ["http"]}
    assert set(_bases(plain)) == {"http://chat.example/api"}
    with pytest.raises(InvalidSettings, match="`baseUrl` is needed"):
        read_api({name: value for name, value in chat_like().items() if name != "host"})


def test_an_operation_at_a_server_that_is_not_granted_is_refused_and_a_base_that_was_given_is_an_error() -> None:
    document = copy.deepcopy(github_like())
    document["paths"]["/markdown/raw"]["servers"] = [{"url": "http://10.0.0.1"}]

    api = HttpApi().read({"document": document})

    assert [each.name for each in api.refused] == ["markdown_render-raw"]
    assert len(api.operations) == 3


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ([{"name": "b", "in": "body"}, {"name": "c", "in": "body"}], "it has two bodies"),
        ([{"name": "b", "in": "body"}, {"name": "c", "in": "formData", "type": "string"}], "a body and form fields"),
        ([{"name": "a", "in": "query", "type": "array", "collectionFormat": "odd"}], "the collectionFormat `odd`"),
        ([{"name": "a", "in": "path", "type": "array", "collectionFormat": "multi"}], "the collectionFormat `multi`"),
        ([{"name": "a", "in": "query", "type": "array", "items": {"type": "array"}}], "an array of arrays"),
        ([{"in": "formData", "type": "string"}], "a form field of it has no name"),
    ],
)
def test_contradictions_of_version_2_are_refused(parameters: list[dict[str, Any]], reason: str) -> None:
    assert reason in _reason(_document({**FINE, "/x": {"post": {"parameters": parameters}}}, "2.0"))


def test_no_operation_with_a_body_becomes_a_tool_without_one() -> None:
    for document in (github_like(), payments_like(), chat_like(), petstore_like()):
        for operation in read_api(document).operations:
            said = document["paths"].get(operation.path, {}).get(operation.method, {})
            names = {each.get("in") for each in said.get("parameters", [])}
            if "requestBody" in said or names & {"body", "formData"}:
                assert "body" in operation.input_schema["properties"]


def test_a_deprecated_operation_is_a_deprecated_tool() -> None:
    (operation,) = read_api(_document({"/x": {"get": {"deprecated": True}}}), base_url=BASE).operations

    assert operation.definition("api").lifecycle.deprecated


def _places(value: object, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in members:
        yield (*place, key)
        yield from _places(each, (*place, key))


_ODD = st.sampled_from(
    [
        None,
        True,
        0,
        1.5,
        "",
        "x",
        "#/",
        "#/paths",
        "{a}",
        "file",
        [],
        [[]],
        [{}],
        {},
        {"$ref": 3},
        {"$ref": "#/"},
        {"": {}},
    ]
)
_PLACES = st.sampled_from(
    [
        (make, place)
        for make in (github_like, payments_like, chat_like, cluster_like, petstore_like)
        for place in _places(make())
    ]
)


@given(_PLACES, _ODD)
@example((github_like, ("components", "schemas", "milestone")), {"$ref": 3})
@example((chat_like, ("paths", "/chat.postMessage", "post", "parameters", 4, "collectionFormat")), [])
@example((petstore_like, ("components", "schemas", "Pet", "required")), [[]])
def test_a_document_with_anything_in_any_place_is_read_or_refused(where: Any, odd: object) -> None:
    make, place = where
    document = copy.deepcopy(make())  # documents share parts
    here: Any = document
    for key in place[:-1]:
        here = here[key]
    here[place[-1]] = odd

    with suppress(ToolError):
        read_api(document, base_url=BASE)
