"""Headers that repeat arguments, as the schema of a tool may ask for."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest
from front_http_cases import TOOLS_CHANGED, FakeService, call, modern, raw, serving
from mcp.shared.inbound import find_invalid_x_mcp_header, x_mcp_header_map

from toolcrib_mcp.front.http.headers import Headers
from toolcrib_mcp.front.http.param_headers import ParamHeaders
from toolcrib_mcp.front.http.repeating import annotated, check_repeated, unpacked
from toolcrib_mcp.rpc import RpcError
from toolcrib_runtime.testing import FakeClock

pytestmark = [pytest.mark.enable_socket, pytest.mark.req("GW-6.2")]


@pytest.mark.parametrize(
    ("value", "header", "status"),
    [
        ("eu", "eu", 200),
        ("eu", "=?base64?ZXU=?=", 200),
        ("eu", "us", 400),
        ("eu", None, 400),
        ("eu", "=?base64?ZXU?=", 400),
        (None, "eu", 400),
        (None, None, 200),
        (["eu"], None, 200),
    ],
)
async def test_an_argument_that_a_header_repeats_must_be_the_same(value, header, status):
    service = FakeService()

    async with serving(service) as url, raw(url) as client:
        response = await client.modern("tools/call", call("routed", region=value), mcp_param_region=header)

    assert response.status_code == status
    assert service.calls == (["routed"] if status == 200 else [])
    if status == 400:
        assert response.json()["error"]["code"] == -32020


async def test_the_tools_are_listed_once_and_again_when_they_changed():
    service = FakeService()

    async with serving(service) as url, raw(url) as client:
        for _ in range(3):
            await client.modern("tools/call", call("echo", nonce=1))
        before = _listings(service)
        service.feed.publish(TOOLS_CHANGED)
        await client.modern("tools/call", call("echo", nonce=1))

    assert (before, _listings(service)) == (1, 2)


async def test_a_call_without_arguments_needs_no_list():
    service = FakeService()

    async with serving(service) as url, raw(url) as client:
        await client.modern("tools/call", call("echo"))
        await client.modern("tools/call", {"name": "echo", "arguments": None})
        await client.modern("tools/call", {"name": "echo", "arguments": []})

    assert _listings(service) == 0


async def test_every_page_of_the_tools_is_read():
    service = _Paged([["echo"], ["routed"]])

    async with serving(service) as url, raw(url) as client:
        response = await client.modern("tools/call", call("routed", region="eu"))

    assert response.status_code == 400


async def test_a_list_without_an_end_is_not_read_for_ever():
    service = _Paged([["echo"]] * 200)

    async with serving(service) as url, raw(url) as client:
        response = await client.modern("tools/call", call("routed", region="eu"))

    assert response.status_code == 200
    assert service.pages == 100


@pytest.mark.parametrize("error", [RpcError(-32601, "Method not found"), ValueError("broken")])
async def test_tools_that_cannot_be_listed_keep_no_call_from_being_made(error, caplog):
    clock, service = FakeClock(), _Unlisted(error)
    params = ParamHeaders(service, clock=clock)
    request = modern("tools/call", call("routed", region="eu"))["params"]

    for _ in range(2):
        await params.check(request, Headers([]), None)
    await clock.advance(11)
    await params.check(request, Headers([]), None)
    await params.aclose()

    assert _listings(service) == 2
    assert ("could not be listed" in caplog.text) is isinstance(error, ValueError)


async def test_tools_that_changed_while_they_could_not_be_listed_are_listed_again_at_once():
    service = _Unlisted(RpcError(-32000, "restarting"), changing=True)
    params = ParamHeaders(service)
    request = modern("tools/call", call("routed", region="eu"))["params"]

    for _ in range(2):
        await params.check(request, Headers([]), None)
    await params.aclose()

    assert _listings(service) == 2


async def test_a_list_that_takes_too_long_is_not_waited_for(monkeypatch):
    monkeypatch.setattr("toolcrib_mcp.front.http.param_headers._PATIENCE", 0.01)
    service = _Slow()
    params = ParamHeaders(service)

    await params.check(modern("tools/call", call("routed", region="eu"))["params"], Headers([]), None)
    await params.aclose()

    assert service.cancellations == 1


@pytest.mark.parametrize(
    "schema",
    [
        None,
        {"type": "object"},
        {"properties": {"a": {"type": "string", "x-mcp-header": "A"}}},
        {"properties": {"a": {"properties": {"b": {"type": "boolean", "x-mcp-header": "B"}}}}},
        {"properties": {"a": {"type": "string", "x-mcp-header": "A"}, "b": {"type": "integer", "x-mcp-header": "a"}}},
        {"properties": {"a": {"type": "number", "x-mcp-header": "A"}}},
        {"properties": {"a": {"type": ["string"], "x-mcp-header": "A"}}},
        {"properties": {"a": {"type": "string", "x-mcp-header": "not a token"}}},
        {"properties": {"a": {"type": "string", "x-mcp-header": 1}}},
        {"x-mcp-header": "A", "type": "string"},
        {"allOf": [{"properties": {"a": {"type": "string", "x-mcp-header": "A"}}}]},
        {"items": {"type": "string", "x-mcp-header": "A"}},
        {"$defs": {"a": {"type": "string", "x-mcp-header": "A"}}},
        {"properties": {"a": {"default": {"x-mcp-header": "A"}, "type": "string"}}, "anyOf": 3, "$defs": []},
    ],
)
def test_annotations_are_read_as_the_official_sdk_reads_them(schema):
    theirs = {} if find_invalid_x_mcp_header(schema) else x_mcp_header_map(schema)

    assert annotated(schema) == {path: name.lower() for path, name in theirs.items()}


@pytest.mark.parametrize(
    ("value", "said", "same"),
    [
        (42, "42", True),
        (42, "42.0", True),
        (42.0, "42", True),
        (42, "42.5", False),
        (42, "4e1", False),
        (1.5, "1.5", True),
        (True, "true", True),
        (False, "0", False),
        (True, "1", False),
        ("042", "42", False),
        pytest.param(10**5000, "1", False, id="longer than Python writes"),
        (float("inf"), "inf", True),
    ],
)
def test_numbers_are_the_same_however_they_are_written(value, said, same):
    headers = Headers([(b"mcp-param-n", said.encode())])

    with nullcontext() if same else pytest.raises(RpcError, match="is not that argument"):
        check_repeated({("n",): "n"}, {"n": value}, headers)


def test_a_header_for_an_argument_that_comes_twice_is_refused():
    headers = Headers([(b"mcp-param-n", b"1"), (b"mcp-param-n", b"1")])

    with pytest.raises(RpcError, match="more than once"):
        check_repeated({("n",): "n"}, {"n": 1}, headers)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, None),
        ("plain", "plain"),
        ("=?base64?SGVsbG8=?=", "Hello"),
        ("=?base64?SGVsbG8", "=?base64?SGVsbG8"),
        ("=?base64?SGVs!!!bG8=?=", None),
        ("=?base64?SGVsbG9=?=", None),
        ("=?base64?/w==?=", None),
    ],
)
def test_a_packed_header_is_unpacked_only_if_nothing_is_odd_about_it(value, text):
    assert unpacked(value) == text


class _Paged(FakeService):
    def __init__(self, pages: list[list[str]]) -> None:
        super().__init__()
        self._pages = pages
        self.pages = 0

    async def answer(self, request: Any) -> Any:
        if request.method != "tools/list":
            return await super().answer(request)
        self.pages += 1
        place = int(request.params.get("cursor", 0))
        region = {"region": {"type": "string", "x-mcp-header": "Region"}}
        tools = [{"name": each, "inputSchema": {"properties": region}} for each in self._pages[place]]
        return {"tools": tools} if place + 1 == len(self._pages) else {"tools": tools, "nextCursor": str(place + 1)}


class _Unlisted(FakeService):
    def __init__(self, error: Exception, *, changing: bool = False) -> None:
        super().__init__()
        self._error = error
        self._changing = changing

    async def answer(self, request: Any) -> Any:
        self.requests.append(request)
        with pytest.raises(RpcError):
            await request.channel.ask("roots/list", {}, timeout=1)
        await request.channel.notify("notifications/message", {})
        if self._changing:
            self.feed.publish(TOOLS_CHANGED)
        raise self._error


class _Slow(FakeService):
    async def answer(self, request: Any) -> Any:
        await self._hang()


def _listings(service: FakeService) -> int:
    return len([each for each in service.requests if each.method == "tools/list"])
