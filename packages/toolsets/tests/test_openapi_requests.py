"""Arguments in the styles of OpenAPI: the examples of the specification, and what may go wrong."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib_core import ToolError
from toolcrib_runtime.errors import InvalidRequest
from toolcrib_toolsets.types.openapi.operations import Operation
from toolcrib_toolsets.types.openapi.reading import read_api
from toolcrib_toolsets.types.openapi.requests import build_request

pytestmark = [pytest.mark.req("TS-9")]

STRING = "blue"
ARRAY = ["blue", "black", "brown"]
OBJECT = {"R": 100, "G": 200, "B": 150}


def _operation(*parameters: dict[str, Any], path: str = "/x", version: str = "3.1.0", **said: Any) -> Operation:
    document = {"openapi": version, "paths": {path: {"get": {"parameters": list(parameters), **said}}}}
    return read_api(document, base_url="https://x.example").operations[0]


def _sent(style: str | None, value: object, *, place: str, explode: bool | None = None, **more: Any) -> str:
    parameter: dict[str, Any] = {"name": "color", "in": place, "required": place == "path", **more}
    if style is not None:
        parameter["style"] = style
    if explode is not None:
        parameter["explode"] = explode
    operation = _operation(parameter, path="/{color}" if place == "path" else "/x")
    request = build_request(operation, {"color": value}, None)
    if place in ("header", "cookie"):
        return request.headers["color" if place == "header" else "cookie"]
    return request.url.removeprefix("https://x.example/").removeprefix("x?")


@pytest.mark.parametrize(
    ("place", "style", "explode", "value", "sent"),
    [
        ("path", None, None, STRING, "blue"),
        ("path", "simple", False, ARRAY, "blue,black,brown"),
        ("path", "simple", False, OBJECT, "R,100,G,200,B,150"),
        ("path", "simple", True, OBJECT, "R=100,G=200,B=150"),
        ("path", "label", False, STRING, ".blue"),
        ("path", "label", False, ARRAY, ".blue,black,brown"),
        ("path", "label", True, ARRAY, ".blue.black.brown"),
        ("path", "label", True, OBJECT, ".R=100.G=200.B=150"),
        ("path", "matrix", False, STRING, ";color=blue"),
        ("path", "matrix", False, ARRAY, ";color=blue,black,brown"),
        ("path", "matrix", True, ARRAY, ";color=blue;color=black;color=brown"),
        ("path", "matrix", False, OBJECT, ";color=R,100,G,200,B,150"),
        ("path", "matrix", True, OBJECT, ";R=100;G=200;B=150"),
        ("query", None, None, STRING, "color=blue"),
        ("query", None, None, ARRAY, "color=blue&color=black&color=brown"),
        ("query", "form", True, OBJECT, "R=100&G=200&B=150"),
        ("query", "form", False, ARRAY, "color=blue,black,brown"),
        ("query", "form", False, OBJECT, "color=R,100,G,200,B,150"),
        ("query", "spaceDelimited", False, ARRAY, "color=blue%20black%20brown"),
        ("query", "pipeDelimited", False, ARRAY, "color=blue%7Cblack%7Cbrown"),
        ("query", "pipeDelimited", True, ARRAY, "color=blue&color=black&color=brown"),
        ("query", "deepObject", True, OBJECT, "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150"),
        ("header", None, None, ARRAY, "blue,black,brown"),
        ("header", "simple", True, OBJECT, "R=100,G=200,B=150"),
        ("cookie", None, None, STRING, "color=blue"),
        ("cookie", "form", False, ARRAY, "color=blue,black,brown"),
        ("cookie", "cookie", True, ARRAY, "color=blue; color=black; color=brown"),
    ],
)
def test_values_are_written_in_their_style(
    place: str,
    style: str | None,
    explode: bool | None,  # noqa: FBT001  # a parameter of the test
    value: object,
    sent: str,
) -> None:
    assert _sent(style, value, place=place, explode=explode) == sent


def test_values_are_written_as_json_has_them_and_nothing_is_written_for_null() -> None:
    assert _sent(None, [True, None, 1.0, 1.5, 10**16], place="query") == (
        "color=true&color=1&color=1.5&color=10000000000000000"
    )
    assert _sent(None, {"a": {"b": 1}, "c": None}, place="query") == "a=%7B%22b%22%3A1%7D"
    assert _sent(None, None, place="query") == "x"
    assert _sent("deepObject", {"a": {"b": [1, None, 2]}}, place="query") == (
        "color%5Ba%5D%5Bb%5D%5B0%5D=1&color%5Ba%5D%5Bb%5D%5B2%5D=2"
    )


def test_a_parameter_with_content_is_written_as_json() -> None:
    content = {"content": {"application/json": {"schema": {"type": "object"}}}}
    assert _sent(None, {"a": [1]}, place="query", **content) == "color=%7B%22a%22%3A%5B1%5D%7D"


def test_reserved_characters_stay_where_they_may_and_never_end_the_value() -> None:
    assert _sent(None, "a/b?c&d=e#f", place="query", allowReserved=True) == "color=a/b?c%26d%3De%23f"
    assert _sent(None, "a/b?c&d=e#f", place="query") == "color=a%2Fb%3Fc%26d%3De%23f"


def test_the_whole_query_may_be_one_argument() -> None:
    content = {"application/x-www-form-urlencoded": {"schema": {"type": "object"}}}
    operation = _operation({"name": "q", "in": "querystring", "content": content}, version="3.2.0")

    assert build_request(operation, {"q": {"a": "1 2", "b": [1]}}, None).url == "https://x.example/x?a=1%202&b=%5B1%5D"


def test_a_path_is_filled_in_once_and_keeps_its_own_query() -> None:
    names = ({"name": name, "in": "path", "schema": {}} for name in ("a", "b"))
    operation = _operation(*names, {"name": "q", "in": "query"}, path="/{a}/{b}?action={a}")

    assert build_request(operation, {"a": "{b}", "b": "x", "q": 1}, None).url == (
        "https://x.example/%7Bb%7D/x?action=%7Bb%7D&q=1"
    )


@pytest.mark.parametrize(
    ("path", "arguments"),
    [
        ("/{a}", {"a": ""}),
        ("/{a}", {"a": ".."}),
        ("/{a}", {"a": []}),
        ("/{a}", {"a": None}),
        ("/{a}{b}", {"a": ".", "b": "."}),
    ],
)
def test_an_argument_that_would_lead_to_another_path_is_refused(path: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest):
        build_request(_operation(path=path), arguments, None)


@given(st.text(), st.text())
def test_an_argument_never_leaves_its_segment_or_its_pair(one: str, two: str) -> None:
    operation = _operation({"name": "q", "in": "query"}, path="/a/{one}/b")
    try:
        url = build_request(operation, {"one": one, "q": two}, None).url
    except ToolError:
        return
    path, _, query = url.removeprefix("https://x.example/").partition("?")
    assert len(path.split("/")) == 3
    assert query.count("=") == 1
    assert not {"&", "#", " "} & set(url)


def test_a_form_that_cannot_be_written_is_refused_by_name() -> None:
    document = {
        "openapi": "3.0.0",
        "paths": {
            "/x": {
                "post": {
                    "requestBody": {
                        "content": {
                            "multipart/form-data": {
                                "schema": {"properties": {"photo": {"type": "string", "format": "binary"}}}
                            }
                        }
                    }
                }
            }
        },
    }
    operation = read_api(document, base_url="https://x.example").operations[0]

    with pytest.raises(InvalidRequest, match="is not an object"):
        build_request(operation, {"body": []}, None)
    with pytest.raises(InvalidRequest, match="`photo` is not base64"):
        build_request(operation, {"body": {"photo": {"base64": "ä"}}}, None)


@pytest.mark.parametrize(
    ("given_format", "sent"),
    [
        ("csv", "ids=1,2"),
        ("ssv", "ids=1%202"),
        ("tsv", "ids=1%092"),
        ("pipes", "ids=1%7C2"),
        ("multi", "ids=1&ids=2"),
    ],
)
def test_collection_formats_of_version_2(given_format: str, sent: str) -> None:
    parameter = {
        "name": "ids",
        "in": "query",
        "type": "array",
        "items": {"type": "integer"},
        "collectionFormat": given_format,
    }
    document = {"swagger": "2.0", "host": "x.example", "paths": {"/x": {"get": {"parameters": [parameter]}}}}

    operation = read_api(document).operations[0]

    assert build_request(operation, {"ids": [1, 2]}, None).url == f"https://x.example/x?{sent}"


def test_form_fields_without_a_style_are_written_by_what_they_are() -> None:
    schema = {"type": "object", "additionalProperties": True}
    body = {"content": {"application/x-www-form-urlencoded": {"schema": schema}}}
    document = {"openapi": "3.1.0", "paths": {"/x": {"post": {"requestBody": body}}}}
    operation = read_api(document, base_url="https://x.example").operations[0]

    request = build_request(operation, {"body": {"a": "b c", "n": None, "l": [1, True], "o": {"k": [1]}}}, None)

    assert request.content == b"a=b%20c&l=1&l=true&o=%7B%22k%22%3A%5B1%5D%7D"
