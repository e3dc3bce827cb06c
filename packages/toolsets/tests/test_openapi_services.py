"""Calls of services that are described in the manner of public ones: what arrives is what the document says."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any
from urllib.parse import parse_qsl

import pytest
from api_documents import chat_like, cluster_like, github_like, payments_like, petstore_like
from toolset_kit import CANARY, KEY
from toolset_services import Asked, Service, web_service

from toolcrib_runtime import Toolbox
from toolcrib_runtime.guards.net import NetGrant
from toolcrib_runtime.guards.secrets import Secret
from toolcrib_toolsets.types import Credentials, HttpApi

pytestmark = [pytest.mark.req("TS-9"), pytest.mark.enable_socket]


@pytest.fixture
def service() -> Iterator[Service]:
    with web_service() as opened:
        yield opened


@asynccontextmanager
async def _tools(
    document: dict[str, Any], service: Service, *, key: Secret = KEY, place: dict[str, Any] | None = None
) -> AsyncIterator[Toolbox]:
    kind = HttpApi(grant=NetGrant(allow_loopback=True))
    checked = kind.check_settings({"document": document, "baseUrl": service.url} | ({"key": place} if place else {}))
    async with kind.open(Credentials(namespace="api", settings=checked, api_key=key)) as tools:
        yield tools


async def _call(tools: Toolbox, name: str, arguments: Mapping[str, Any]) -> Any:
    result = await tools.call(f"api:{name}", dict(arguments))
    if result.action is not None:
        approval = tools.grant(result.action, by="test")
        result = await tools.call(f"api:{name}", dict(arguments), approval=approval)
    assert result.error is None, result.error
    return result.value


def _form(asked: Asked) -> list[tuple[str, str]]:
    assert asked.headers["content-type"] == "application/x-www-form-urlencoded"
    return parse_qsl(asked.body.decode(), keep_blank_values=True, strict_parsing=True)


def _parts(asked: Asked) -> list[tuple[str | None, str | None, str, bytes]]:
    """Name, file name, content type and content of every part, as the parser of the standard library reads them."""
    head = f"content-type: {asked.headers['content-type']}\r\n\r\n".encode()
    message = BytesParser(policy=HTTP).parsebytes(head + asked.body)
    return [
        (
            each.get_param("name", header="content-disposition"),
            each.get_filename(),
            each.get_content_type(),
            each.get_payload(decode=True),
        )
        for each in message.iter_parts()
    ]


async def test_code_hosting(service: Service) -> None:
    async with _tools(github_like(), service) as tools:
        repo = {"owner": "ada", "repo": "engine"}
        await _call(tools, "issues_list-for-repo", {**repo, "labels": ["bug", "a,b"]})
        await _call(tools, "issues_create", {**repo, "body": {"title": "T", "milestone": None, "assignees": []}})
        upload = {**repo, "release_id": 7, "name": "x.zip", "body": base64.b64encode(b"\x00\xff").decode()}
        await _call(tools, "repos_upload-release-asset", upload)
        service.headers["content-type"] = "text/html; charset=utf-8"
        service.answer = b"<h1>Hi</h1>"
        rendered = await _call(tools, "markdown_render-raw", {"body": "# Hi ü"})

    listed, created, uploaded, markdown = service.asked
    assert listed.path == "/repos/ada/engine/issues?labels=bug,a%2Cb"
    assert (listed.headers["x-api-version"], listed.headers["authorization"]) == ("2022-11-28", f"Bearer {CANARY}")
    assert created.body == {"title": "T", "milestone": None, "assignees": []}
    assert uploaded.path == "/repos/ada/engine/releases/7/assets?name=x.zip"
    assert (uploaded.headers["content-type"], uploaded.body) == ("application/octet-stream", b"\x00\xff")
    assert (markdown.headers["content-type"], markdown.body) == ("text/plain; charset=utf-8", "# Hi ü".encode())
    assert rendered == "<h1>Hi</h1>"


async def test_payments_by_nested_forms(service: Service) -> None:
    async with _tools(payments_like(), service, key=Secret("sk-test-canary:")) as tools:
        await _call(tools, "GetCustomers", {"created": {"gt": 5}, "expand": ["data.a", "data.b"]})
        body = {
            "email": "a&b=c@example.org",
            "address": {"city": "São Paulo"},
            "metadata": {"order id": "7"},
            "items": [{"price": "p1"}, {"price": "p2"}],
            "expand": ["sources"],
            "validate": True,
        }
        await _call(tools, "PostCustomers", {"body": body})

    listed, created = service.asked
    assert listed.path == "/v1/customers?created%5Bgt%5D=5&expand%5B0%5D=data.a&expand%5B1%5D=data.b"
    assert listed.headers["authorization"] == f"Basic {base64.b64encode(b'sk-test-canary:').decode()}"
    assert _form(created) == [
        ("email", "a&b=c@example.org"),
        ("address[city]", "São Paulo"),
        ("metadata[order id]", "7"),
        ("items[0][price]", "p1"),
        ("items[1][price]", "p2"),
        ("expand[0]", "sources"),
        ("validate", "true"),
    ]


async def test_chat_of_version_2_with_forms_and_files(service: Service) -> None:
    async with _tools(chat_like(), service) as tools:
        definition = next(each for each in tools.registry.list() if each.name == "chat_postMessage")
        message = {"channel": "C1", "text": "hi", "unfurl_links": False, "users": ["u1", "u2"]}
        await _call(tools, "chat_postMessage", {"token": "t", "body": message})
        file = {"filename": 'a"b.txt', "text": "line\r\n--x"}
        await _call(tools, "files_upload", {"body": {"file": file, "title": "Ünder"}})

    assert definition.input_schema["required"] == ["token", "body"]
    assert definition.input_schema["properties"]["body"]["properties"]["text"]["description"] == "What to say."
    posted, uploaded = service.asked
    assert posted.headers["authorization"] == f"Bearer {CANARY}"
    assert _form(posted) == [("channel", "C1"), ("text", "hi"), ("unfurl_links", "false"), ("users", "u1,u2")]
    assert _parts(uploaded) == [
        ("file", "a%22b.txt", "text/plain", b"line\r\n--x"),
        ("title", None, "text/plain", "Ünder".encode()),
    ]


async def test_a_cluster_of_version_2_with_bodies_by_reference(service: Service) -> None:
    async with _tools(cluster_like(), service) as tools:
        pod = {"kind": "Pod", "labels": {"a": "b"}, "owner": {"kind": "Job"}, "port": None}
        await _call(tools, "createPod", {"namespace": "default", "body": pod})
        await _call(tools, "patchPod", {"namespace": "default", "name": "p", "body": {"spec": {}}})

    created, patched = service.asked
    assert (created.path, created.body) == ("/api/v1/namespaces/default/pods", pod)
    assert (created.headers["content-type"], created.headers["authorization"]) == ("application/json", CANARY)
    assert patched.headers["content-type"] == "application/merge-patch+json"


async def test_pets_with_cookies_an_upload_and_a_key_in_the_query(service: Service) -> None:
    service.echo = True
    async with _tools(petstore_like(), service) as tools:
        names = {each.name for each in tools.registry.list()}
        pet = {"name": "Rex", "tags": [{"name": None}]}
        await _call(tools, "addPet", {"session": "s; x=1", "flags": ["a", "b"], "body": pet})
        body = {
            "image": {"base64": base64.b64encode(b"\x89PNG").decode(), "contentType": "image/png"},
            "more": [{"text": "one"}, {"text": "two", "filename": "2.txt"}],
            "about": {"name": "Rex"},
            "note": "good",
            "sizes": [1, 2],
        }
        await _call(tools, "uploadImage", {"petId": 3, "body": body})
        answered = await _call(tools, "health", {})

    assert names == {"addPet", "uploadImage", "health"}
    added, uploaded, health = service.asked
    assert (added.path, added.body) == (f"/pet?api_key={CANARY}", pet)
    assert added.headers["cookie"] == "session=s%3B%20x%3D1; flags=a,b"
    assert uploaded.path == f"/pet/3/image?api_key={CANARY}"
    assert _parts(uploaded) == [
        ("image", "image", "image/png", b"\x89PNG"),
        ("more", "more", "application/octet-stream", b"one"),
        ("more", "2.txt", "application/octet-stream", b"two"),
        ("about", None, "application/json", b'{"name":"Rex"}'),
        ("note", None, "text/plain", b"good"),
        ("sizes", None, "text/plain", b"1"),
        ("sizes", None, "text/plain", b"2"),
    ]
    assert health.path == "/health"
    assert CANARY not in str(answered)


@pytest.mark.req("TS-11")
async def test_a_key_comes_back_from_neither_query_cookie_nor_basic_authentication(service: Service) -> None:
    places: list[dict[str, Any]] = [{"query": "k"}, {"cookie": "sid"}, {"basic": True}, {"header": "X-Key"}]
    document = {"openapi": "3.2.0", "paths": {"/who": {"get": {"operationId": "who"}}}}
    service.echo = True
    said = []
    for place in places:
        async with _tools(document, service, key=Secret("ada:canary-77aa31"), place=place) as tools:
            said.append(str(await _call(tools, "who", {})))

    sent = [f"{each.path} {each.headers}" for each in service.asked]
    assert "k=ada%3Acanary-77aa31" in sent[0]
    assert "sid=ada%3Acanary-77aa31" in sent[1]
    assert base64.b64encode(b"ada:canary-77aa31").decode() in sent[2]
    assert "'x-key': 'ada:canary-77aa31'" in sent[3]
    for each in said:
        assert "canary-77aa31" not in each
        assert base64.b64encode(b"ada:canary-77aa31").decode() not in each


@pytest.mark.req("CT-3")
async def test_what_the_service_says_of_a_failure_is_in_the_error(service: Service) -> None:
    document = {"openapi": "3.1.0", "paths": {"/export": {"get": {"operationId": "export"}}}}
    service.status, service.answer = 422, {"error": f"no such format; key {CANARY}"}
    async with _tools(document, service) as tools:
        failed = (await tools.call("api:export", {})).error
        service.status, service.answer, service.headers["location"] = 302, b"", "https://elsewhere.example"
        redirected = (await tools.call("api:export", {})).error

    assert failed is not None
    assert failed.details["excerpt"] == '{"error": "no such format; key ••••"}'
    assert "(422)" in failed.message
    assert redirected is not None
    assert "it redirects (302)" in redirected.message


async def test_answers_that_are_not_json_come_as_text_or_base64(service: Service) -> None:
    document = {"openapi": "3.1.0", "paths": {"/export": {"get": {"operationId": "export"}}}}
    found = []
    async with _tools(document, service) as tools:
        for media_type, answer in (
            ("text/csv", b"a,b\n1,2\n"),
            ("application/atom+xml", b"<feed/>"),
            ("application/pdf", b"%PDF\x00\xff"),
            ("application/vnd.x+json", b'{"a": 1}'),
            ("text/plain", b""),
        ):
            service.headers["content-type"], service.answer = media_type, answer
            found.append(await _call(tools, "export", {}))

    pdf = {"contentType": "application/pdf", "base64": base64.b64encode(b"%PDF\x00\xff").decode()}
    assert found == ["a,b\n1,2\n", "<feed/>", pdf, {"a": 1}, None]
