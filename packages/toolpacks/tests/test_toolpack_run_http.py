"""The http kind: values escaped into the request, addresses checked, answers bounded and honestly told."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from certificates import authority, self_signed
from loopback import FakeResolver, Server, answer, endlessly, header_of, serving, silence, then_silence
from running_packs import ask, running, write_pack

from toolcrib_core import ToolError, ToolErrorCategory
from toolcrib_runtime import RetryPolicy
from toolcrib_runtime.guards.net import NetGrant

pytestmark = [pytest.mark.req("TP-25"), pytest.mark.enable_socket]

LOCAL = NetGrant(allow_loopback=True)
HOST = "api.example"


def write_http(folder: Path, name: str, url: str, **fields: Any) -> None:
    execution = {key: fields.pop(key) for key in ("method", "headers") if key in fields}
    caps = {"network": ["http", "https"]}
    write_pack(folder, name, {"kind": "http", "url": url, **execution}, **{"caps": caps, "timeoutMs": 5000, **fields})


def ok(value: Any) -> bytes:
    return answer(body=json.dumps(value).encode())


async def error_of(folder: Path, server: Server, **options: Any) -> ToolError:
    write_http(folder, "call", server.url("/x"), **options)
    async with running(folder, network=LOCAL, retries=None) as toolbox:
        result = await ask(toolbox, "call")
    assert result.error is not None, result.value
    return result.error


@pytest.mark.req("TP-20", "TP-26")
@pytest.mark.fault("C8")
async def test_values_go_into_the_url_the_headers_and_the_body_as_data(tmp_path: Path) -> None:
    async with serving(ok({"done": True})) as server:
        write_http(
            tmp_path,
            "call",
            server.url("/items/{{ input.id }}?q={{ input.query }}&fixed=1"),
            headers={"X-Name": "{{ input.name }}", "Authorization": "Bearer {{ env.DEMO }}"},
            env={"set": {"DEMO": "t0ken"}},
        )
        write_http(tmp_path, "get", server.url("/?q={{ input.query }}"), method="GET")
        async with running(tmp_path, network=LOCAL) as toolbox:
            posted = await ask(toolbox, "call", id="../a/b#c?d", query="x&y=1 %00 é\r\n", name="Ada")
            fetched = await ask(toolbox, "get", query="a b")

    assert posted.unwrap() == fetched.unwrap() == {"done": True}
    head, _, body = server.requests[0].partition(b"\r\n\r\n")
    assert head.splitlines()[0] == (
        b"POST /items/..%2Fa%2Fb%23c%3Fd?q=x%26y%3D1%20%2500%20%C3%A9%0D%0A&fixed=1 HTTP/1.1"
    )
    assert header_of(server.requests[0], "X-Name") == "Ada"
    assert header_of(server.requests[0], "Authorization") == "Bearer t0ken"
    assert header_of(server.requests[0], "Content-Type") == "application/json"
    assert json.loads(body)["id"] == "../a/b#c?d"
    assert server.requests[1].startswith(b"GET /?q=a%20b HTTP/1.1")
    assert server.requests[1].endswith(b"\r\n\r\n")


@pytest.mark.fault("C8")
@pytest.mark.parametrize("arguments", [{"name": "a\r\nX-Evil: 1"}, {"name": "a\0b"}, {"name": "ok", "id": ".."}])
async def test_what_would_break_out_of_its_place_is_refused_before_anything_is_sent(
    arguments: dict[str, str], tmp_path: Path
) -> None:
    async with serving(ok(1)) as server:
        url = server.url("/items/{{ input.id | default('x') }}")
        write_http(tmp_path, "call", url, headers={"X-Name": "{{ input.name }}"})
        async with running(tmp_path, network=LOCAL) as toolbox:
            refused = (await toolbox.call("test:call", arguments)).error
            good = await ask(toolbox, "call", name="fine")

    assert refused is not None
    assert refused.code == ("toolbox.invalid-arguments" if "\0" in arguments["name"] else "toolbox.template-error")
    assert good.unwrap() == 1
    assert server.connections == 1


@pytest.mark.fault("E1", "E2", "E3", "E6")
@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "10.0.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "0.0.0.0",
        "metadata.google.internal",
        "localhost",
    ],
)
async def test_addresses_that_are_not_public_are_not_asked(host: str, tmp_path: Path) -> None:
    resolver = FakeResolver({"metadata.google.internal": [["8.8.8.8"]], "localhost": [["127.0.0.1"]]})
    write_http(tmp_path, "call", f"http://{host}/x")

    async with running(tmp_path, resolver=resolver, retries=None) as toolbox:
        error = (await ask(toolbox, "call")).error

    assert error is not None
    assert (error.code, error.category) == ("toolbox.blocked-address", ToolErrorCategory.PERMISSION)


@pytest.mark.fault("E4")
async def test_a_name_that_leads_inside_is_not_asked_and_the_checked_address_is_dialled(tmp_path: Path) -> None:
    async with serving(ok(1)) as server:
        write_http(tmp_path, "call", server.url("/x", host=HOST))
        mixed = FakeResolver({HOST: [["93.184.216.34", "10.0.0.1"]]})
        async with running(tmp_path, resolver=mixed, retries=None) as toolbox:
            blocked = (await ask(toolbox, "call")).error
        local = FakeResolver({HOST: [["127.0.0.1"], ["10.0.0.1"]]})
        async with running(tmp_path, resolver=local, network=LOCAL, retries=None) as toolbox:
            reached = await ask(toolbox, "call")

    assert blocked is not None
    assert blocked.code == "toolbox.blocked-address"
    assert reached.unwrap() == 1
    assert header_of(server.requests[0], "Host") == f"{HOST}:{server.port}"


@pytest.mark.fault("E3", "E5")
@pytest.mark.parametrize(
    ("location", "code"),
    [
        ("http://10.0.0.1/", "toolbox.blocked-address"),
        ("http://169.254.169.254/latest/meta-data", "toolbox.blocked-address"),
        ("file:///etc/passwd", "toolbox.invalid-url"),
        ("/again", "toolbox.fetch-failed"),
    ],
)
async def test_a_redirect_is_checked_like_the_first_request(location: str, code: str, tmp_path: Path) -> None:
    async with serving(answer("302 Found", f"Location: {location}")) as server:
        error = await error_of(tmp_path, server)

    assert error.code == code
    assert server.connections <= 6


REDIRECTS = ("301 Moved Permanently", "302 Found", "303 See Other", "307 Temporary Redirect", "308 Permanent Redirect")


@pytest.mark.fault("E5", "K17")
@pytest.mark.parametrize("place", ["port", "host", "scheme"])
@pytest.mark.parametrize("method", ["POST", "GET"])
@pytest.mark.parametrize("status", REDIRECTS)
async def test_a_redirect_to_another_origin_is_refused_before_anything_is_sent_there(
    status: str, method: str, place: str, tmp_path: Path
) -> None:
    resolver = FakeResolver({HOST: [["127.0.0.1"]], "evil.example": [["127.0.0.1"]]})
    async with serving(ok(1)) as other:
        location = {
            "port": other.url("/y", host=HOST),
            "host": other.url("/y", host="evil.example"),
            "scheme": other.url("/y", host=HOST, scheme="https"),
        }[place]
        async with serving(answer(status, f"Location: {location}"), ok("good")) as server:
            headers = {"Authorization": "Bearer {{ env.DEMO }}"}
            demo = {"set": {"DEMO": "s"}}
            write_http(tmp_path, "call", server.url("/x", host=HOST), method=method, headers=headers, env=demo)
            async with running(tmp_path, network=LOCAL, resolver=resolver, retries=None) as toolbox:
                refused, good = await ask(toolbox, "call", name="canary"), await ask(toolbox, "call")

    assert refused.error is not None
    assert refused.error.code == "toolbox.fetch-failed"
    assert "another host, port or scheme" in refused.error.message
    assert other.connections == 0
    assert good.unwrap() == "good"


@pytest.mark.fault("K17")
@pytest.mark.parametrize("status", REDIRECTS)
async def test_a_redirect_on_the_host_of_the_pack_is_followed(status: str, tmp_path: Path) -> None:
    async with serving(answer(status, "Location: /y?z=1"), ok("there")) as server:
        write_http(tmp_path, "call", server.url("/x"))
        async with running(tmp_path, network=LOCAL) as toolbox:
            assert (await ask(toolbox, "call", name="canary")).unwrap() == "there"

    keeps_body = status.startswith(("307", "308"))
    assert (b"canary" in server.requests[1]) is keeps_body
    assert server.requests[1].startswith(b"POST /y?z=1" if keeps_body else b"GET /y?z=1")


@pytest.mark.fault("K17")
async def test_a_host_that_redirects_to_itself_first_cannot_lead_away_later(tmp_path: Path) -> None:
    async with serving(ok(1)) as other:
        away = answer("308 Permanent Redirect", f"Location: {other.url('/y')}")
        async with serving(answer("307 Temporary Redirect", "Location: /again"), away) as server:
            error = await error_of(tmp_path, server)

    assert error.code == "toolbox.fetch-failed"
    assert (len(server.requests), other.connections) == (2, 0)


@pytest.mark.fault("E7")
@pytest.mark.parametrize("behaviour", ["silent", "drip", "half"])
async def test_an_answer_that_does_not_come_is_not_waited_for(behaviour: str, tmp_path: Path) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"
    behave = {
        "silent": silence,
        "drip": endlessly(head, b"x", every=0.05),
        "half": then_silence(head + b"{"),
    }[behaviour]
    async with serving(behave) as server:
        error = await error_of(tmp_path, server, timeoutMs=400)

    assert (error.code, error.category) == ("toolbox.deadline-exceeded", ToolErrorCategory.TIMEOUT)


@pytest.mark.req("TP-21")
@pytest.mark.fault("E8")
@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (answer(body=b"[" + b"1," * 100_000 + b"1]"), "toolbox.output-too-large"),
        (answer("200 OK", "Content-Encoding: gzip", body=gzip.compress(b" " * 50_000_000)), "toolbox.output-too-large"),
        (answer("200 OK", "Content-Encoding: br", body=b"x"), "toolbox.malformed-output"),
        (answer("200 OK", "Content-Encoding: gzip", body=gzip.compress(b"{}")[:-5]), "toolbox.malformed-output"),
    ],
    ids=["long", "gzip-bomb", "brotli", "cut-off"],
)
async def test_an_answer_is_bounded_and_whole_or_it_is_none(reply: bytes, code: str, tmp_path: Path) -> None:
    async with serving(reply) as server:
        error = await error_of(tmp_path, server)

    assert error.code == code


@pytest.mark.req("TP-22")
@pytest.mark.fault("E9")
@pytest.mark.parametrize(
    ("status", "category"),
    [
        ("400 Bad Request", ToolErrorCategory.VALIDATION),
        ("401 Unauthorized", ToolErrorCategory.PERMISSION),
        ("404 Not Found", ToolErrorCategory.NOT_FOUND),
        ("409 Conflict", ToolErrorCategory.CONFLICT),
        ("429 Too Many Requests", ToolErrorCategory.TRANSIENT),
        ("500 Internal Server Error", ToolErrorCategory.UNAVAILABLE),
        ("304 Not Modified", ToolErrorCategory.VALIDATION),
    ],
)
async def test_a_status_that_says_no_is_an_error_of_its_kind(
    status: str, category: ToolErrorCategory, tmp_path: Path
) -> None:
    reply = answer(status, "Retry-After: 1000000000", body=b'{"why": "api_key=abcdef123456 is wrong"}')
    async with serving(reply) as server:
        error = await error_of(tmp_path, server)

    assert (error.code, error.category) == ("toolbox.http-status", category)
    assert error.details["status"] == int(status.split(maxsplit=1)[0])
    assert "abcdef123456" not in str(error.to_dict())
    assert error.details["retryAfter"] == 3600


@pytest.mark.req("TP-22")
@pytest.mark.fault("E9")
async def test_an_answer_that_is_no_json_or_empty_is_told_as_it_is(tmp_path: Path) -> None:
    async with serving(answer(body=b"<html>"), b"HTTP/1.1 204 No Content\r\n\r\n", answer(body=b'{"half":')) as server:
        write_http(tmp_path, "call", server.url("/x"))
        write_http(tmp_path, "head", server.url("/x"), method="HEAD")
        async with running(tmp_path, network=LOCAL, retries=None) as toolbox:
            html, nothing, half = [await ask(toolbox, "call") for _ in range(3)]

    assert html.error is not None
    assert html.error.code == "toolbox.malformed-output"
    assert nothing.unwrap() is None
    assert half.error is not None


@pytest.mark.fault("E9")
@pytest.mark.parametrize(("risk", "requests"), [({"effects": "read"}, 3), ({"effects": "write"}, 1)])
async def test_only_what_may_be_asked_twice_is_asked_again(risk: dict[str, str], requests: int, tmp_path: Path) -> None:
    async with serving(answer("503 Service Unavailable")) as server:
        write_http(tmp_path, "call", server.url("/x"), risk=risk)
        policy = RetryPolicy(attempts=3, first_delay=0.001)
        async with running(tmp_path, network=LOCAL, retries=policy) as toolbox:
            error = (await ask(toolbox, "call")).error

    assert error is not None
    assert len(server.requests) == requests
    # Whether a server that broke down in the midst of a write has done it, nobody knows.
    assert error.code == ("toolbox.http-status" if requests > 1 else "toolbox.unknown-outcome")


@pytest.mark.fault("E10")
async def test_tls_is_verified_and_the_environment_has_no_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    signer = authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(signer.ca_file))
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    packs, resolver = tmp_path / "packs", FakeResolver({HOST: [["127.0.0.1"]]})

    async with serving(ok(1), tls=signer.server(HOST)) as good, serving(ok(1), tls=self_signed(tmp_path, HOST)) as bad:
        write_http(packs, "good", good.url("/x", host=HOST, scheme="https"))
        write_http(packs, "bad", bad.url("/x", host=HOST, scheme="https"))
        trusting = NetGrant(allow_loopback=True, ca_file=signer.ca_file)
        async with running(packs, network=trusting, resolver=resolver, retries=None) as toolbox:
            reached, refused = await ask(toolbox, "good"), await ask(toolbox, "bad")
        async with running(packs, network=LOCAL, resolver=resolver, retries=None) as toolbox:
            unknown = await ask(toolbox, "good")

    assert reached.unwrap() == 1
    for each in (refused, unknown):
        assert each.error is not None
        assert "certificate" in each.error.message


@pytest.mark.req("TP-24")
async def test_plain_http_needs_the_capability(tmp_path: Path) -> None:
    async with serving(answer("302 Found", "Location: http://api.example/")) as server:
        write_http(tmp_path, "call", server.url("/x"), caps={"network": ["http"]})
        resolver = FakeResolver({HOST: [["93.184.216.34"]]})
        async with running(tmp_path, network=LOCAL, resolver=resolver, retries=None) as toolbox:
            tool: Any = toolbox.tools[0]
            grant = await tool.executor._client(tool.executor.prepared(tool.id).pack)

    assert grant._grant.allow_http


async def test_connections_are_let_go_with_the_toolbox(tmp_path: Path) -> None:
    async with serving(ok(1)) as server:
        write_http(tmp_path, "call", server.url("/x"))
        async with running(tmp_path, network=LOCAL) as toolbox:
            assert [(await ask(toolbox, "call")).unwrap() for _ in range(2)] == [1, 1]
            await toolbox.aclose()
            assert (await ask(toolbox, "call")).unwrap() == 1
