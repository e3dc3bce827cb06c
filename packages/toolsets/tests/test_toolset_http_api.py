"""Any web service with an OpenAPI document."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolset_kit import CANARY, KEY
from toolset_services import Service, web_service

from toolcrib_core import ToolError
from toolcrib_runtime.guards.net import NetGrant
from toolcrib_runtime.guards.secrets import Secret
from toolcrib_toolsets.errors import InvalidSettings
from toolcrib_toolsets.types import Credentials, HttpApi
from toolcrib_toolsets.types.openapi.reading import read_api

pytestmark = [pytest.mark.req("TS-9")]

DOCUMENT: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "Tickets", "version": "1"},
    "servers": [{"url": "https://tickets.example/v1"}],
    "paths": {
        "/tickets": {
            "parameters": [{"name": "tenant", "in": "header", "schema": {"type": "string"}}],
            "get": {
                "operationId": "listTickets",
                "summary": "List tickets.",
                "parameters": [
                    {"name": "state", "in": "query", "schema": {"enum": ["open", "closed"]}},
                    {"name": "label", "in": "query", "schema": {"type": "array", "items": {"type": "string"}}},
                    {"name": "Authorization", "in": "header", "schema": {"type": "string"}},
                ],
            },
            "post": {
                "operationId": "createTicket",
                "requestBody": {
                    "required": True,
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Ticket"}}},
                },
            },
        },
        "/tickets/{id}": {
            "parameters": [{"$ref": "#/components/parameters/Id"}],
            "get": {"summary": "One ticket."},
            "delete": {"operationId": "deleteTicket"},
        },
    },
    "components": {
        "parameters": {"Id": {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}},
        "schemas": {
            "Ticket": {
                "type": "object",
                "required": ["title"],
                "properties": {
                    "title": {"type": "string"},
                    "parent": {"$ref": "#/components/schemas/Ticket"},
                    "type": {"$ref": "#/components/schemas/Kind"},
                },
            },
            "Kind": {"enum": ["bug", "wish"]},
        },
    },
}


@pytest.fixture
def tickets() -> Iterator[Service]:
    with web_service() as service:
        yield service


def _settings(url: str) -> dict[str, Any]:
    return {"document": DOCUMENT, "baseUrl": url, "key": {"header": "X-Key", "prefix": ""}}


def _kind() -> HttpApi:
    return HttpApi(grant=NetGrant(allow_loopback=True))


def test_operations_become_tools_whose_risk_is_that_of_their_method() -> None:
    tools = {each.name: each.definition("api") for each in read_api(DOCUMENT).operations}

    assert {name: (tool.risk.effects, tool.risk.destructive) for name, tool in tools.items()} == {
        "listTickets": ("read", False),
        "createTicket": ("write", False),
        "get_tickets_id": ("read", False),
        "deleteTicket": ("write", True),
    }
    assert list(tools["listTickets"].input_schema["properties"]) == ["tenant", "state", "label"]
    assert set(tools["createTicket"].input_schema["$defs"]) == {"Ticket", "Kind"}


@pytest.mark.enable_socket
async def test_arguments_go_where_the_document_says_and_the_key_into_its_header(tickets: Service) -> None:
    tickets.answer = {"ok": True}
    kind = _kind()
    checked = kind.check_settings(_settings(tickets.url))
    async with kind.open(Credentials(namespace="t", settings=checked, api_key=KEY)) as tools:
        listed = await tools.call("t:listTickets", {"state": "open", "label": ["a b", "c&d"], "tenant": "x"})
        made = await tools.call("t:createTicket", {"body": {"title": "T", "parent": {"title": "P"}}})
        one = await tools.call("t:get_tickets_id", {"id": "../a/b?c#d"})
        dots = await tools.call("t:get_tickets_id", {"id": ".."})
        wrong = await tools.call("t:createTicket", {"body": {"titel": 1}})
        refused = await tools.call("t:deleteTicket", {"id": "1"})

    assert [each.value for each in (listed, made, one)] == [{"ok": True}] * 3
    assert [(each.method, each.path) for each in tickets.asked] == [
        ("GET", "/tickets?state=open&label=a%20b&label=c%26d"),
        ("POST", "/tickets"),
        ("GET", "/tickets/..%2Fa%2Fb%3Fc%23d"),
    ]
    assert {each.headers["x-key"] for each in tickets.asked} == {CANARY}
    assert tickets.asked[0].headers["tenant"] == "x"
    assert tickets.asked[1].body == {"title": "T", "parent": {"title": "P"}}
    assert dots.error is not None
    assert wrong.error is not None
    assert wrong.error.category.value == "validation"
    assert refused.outcome == "action_required"


@pytest.mark.enable_socket
@pytest.mark.req("TS-11")
async def test_the_key_does_not_come_back_in_a_result_with_its_prefix_or_without(tickets: Service) -> None:
    tickets.echo = True
    settings = {**_settings(tickets.url), "key": {}}
    async with _kind().open(Credentials(namespace="t", settings=settings, api_key=KEY)) as tools:
        result = await tools.call("t:listTickets", {})

    assert CANARY not in str(result.value)
    assert tickets.asked[0].headers["authorization"] == f"Bearer {CANARY}"


@pytest.mark.parametrize(
    "change",
    [
        {"document": {}},
        {"document": {"openapi": "2.0", "paths": {}}},
        {"document": {"openapi": "3.1.0"}},
        {"document": "https://elsewhere.example/openapi.json"},
        {"baseUrl": "ftp://x"},
        {"baseUrl": "https://user:pw@x.example"},
        {"baseUrl": "http://169.254.169.254/latest"},
        {"baseUrl": "http://10.0.0.1"},
        {"key": {"header": "X\r\nY"}},
        {"key": {"prefix": "x"}},
        {"unknown": 1},
    ],
)
def test_settings_that_cannot_be_used_are_refused_when_they_are_given(change: dict[str, Any]) -> None:
    with pytest.raises(ToolError) as caught:
        HttpApi().check_settings({"document": DOCUMENT} | change)

    assert len(caught.value.message) < 400


def test_the_base_is_that_of_the_document_unless_it_is_given_and_must_be_one() -> None:
    assert {each.base for each in HttpApi().read({"document": DOCUMENT}).operations} == {"https://tickets.example/v1"}
    given = {"document": DOCUMENT, "baseUrl": "https://other.example/"}
    assert {each.base for each in HttpApi().read(given).operations} == {"https://other.example"}

    for servers in ([], [{"url": "/v1"}], [{"url": "https://{tenant}.example"}]):
        with pytest.raises(InvalidSettings, match="baseUrl"):
            HttpApi().check_settings({"document": {**DOCUMENT, "servers": servers}})


def test_what_3_0_says_differently_is_translated() -> None:
    document = copy.deepcopy(DOCUMENT)
    document["openapi"] = "3.0.3"
    document["components"]["schemas"]["Ticket"]["properties"] |= {
        "due": {"type": "string", "nullable": True, "enum": ["now"]},
        "count": {"type": "integer", "minimum": 0, "exclusiveMinimum": True},
    }

    made = {each.name: each for each in read_api(document).operations}["createTicket"].definition("api")

    properties = made.input_schema["$defs"]["Ticket"]["properties"]
    assert properties["due"] == {"type": ["string", "null"], "enum": ["now", None]}
    assert properties["count"] == {"type": "integer", "exclusiveMinimum": 0}


def test_operations_of_one_name_are_told_apart_and_too_many_are_refused() -> None:
    paths = {f"/{number}": {"get": {"operationId": "same"}} for number in range(3)}
    assert [
        each.name for each in read_api({"openapi": "3.1.0", "paths": paths}, base_url="https://x.example").operations
    ] == ["same", "same_2", "same_3"]

    many = {f"/{number}": {"get": {}} for number in range(501)}
    with pytest.raises(InvalidSettings, match="500"):
        read_api({"openapi": "3.1.0", "paths": many})


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["get", "parameters", "$ref", "schema", "name", "in", "content", "application/json", "/p"])
            | st.text(max_size=4),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(_JSON, _JSON)
def test_whatever_stands_in_a_document_it_is_read_or_refused(paths: object, components: object) -> None:
    document = {"openapi": "3.1.0", "servers": [{"url": "https://x.example"}], "paths": paths, "components": components}
    with suppress(ToolError):
        HttpApi().check_settings({"document": document})


def _sharing(operations: int, schema: dict[str, Any]) -> dict[str, Any]:
    body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/All"}}}}
    return {
        "openapi": "3.1.0",
        "servers": [{"url": "https://tickets.example"}],
        "paths": {f"/{number}": {"post": {"requestBody": body}} for number in range(operations)},
        "components": {"schemas": {"All": schema}},
    }


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {f"p{number}": {"type": "string"} for number in range(300)}},
        {"enum": [str(number) for number in range(1000)]},
        {"type": "string", "description": "long " * 10_000},
        {"type": "object", "default": {"a": {"b": list(range(1000))}}},
    ],
)
def test_a_small_document_that_grows_with_every_operation_is_refused_early(schema: dict[str, Any]) -> None:
    assert len(read_api(_sharing(5, schema)).operations) == 5
    with pytest.raises(InvalidSettings, match="200,000 values"):
        HttpApi().check_settings({"document": _sharing(450, schema)})


def test_a_path_that_would_change_the_host_or_the_port_is_no_operation() -> None:
    paths = {name: {"get": {}} for name in (".evil.example/x", ":8080/x", "@evil.example/x", "x", "/fine")}
    operations = read_api({"openapi": "3.1.0", "paths": paths}, base_url="https://x.example").operations
    assert [each.path for each in operations] == ["/fine"]


@pytest.mark.enable_socket
@pytest.mark.req("TS-11")
@pytest.mark.fault("H5")
async def test_the_key_does_not_come_back_however_the_service_spells_it(tickets: Service) -> None:
    key = Secret("canary/key+7f<3a>91")
    spelt = b'"canary\\/key\\u002b7f\\u003c3a\\u003E91"'
    tickets.answer = b'{"sent": ' + spelt + b", " + spelt + b": [" + spelt + b"]}"
    credentials = Credentials(namespace="desk", settings=_settings(tickets.url), api_key=key)

    async with _kind().open(credentials) as toolbox:
        result = await toolbox.call("desk:listTickets", {})

    assert result.error is None
    assert result.value == {"sent": "••••", "••••": ["••••"]}


@pytest.mark.enable_socket
async def test_a_parameter_that_the_key_fills_in_is_no_argument(tickets: Service) -> None:
    document = copy.deepcopy(DOCUMENT)
    document["paths"]["/tickets"]["parameters"] = [{"name": "x-KEY", "in": "header", "schema": {"type": "string"}}]
    settings = {**_settings(tickets.url), "document": document}

    async with _kind().open(Credentials(namespace="desk", settings=settings, api_key=KEY)) as toolbox:
        refused = await toolbox.call("desk:listTickets", {"x-KEY": "mine"})
        result = await toolbox.call("desk:listTickets", {})

    assert refused.error is not None
    assert result.error is None
    assert tickets.asked[0].headers["x-key"] == CANARY
