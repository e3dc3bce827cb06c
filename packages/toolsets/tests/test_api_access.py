"""Who may do what over the management API: every method, every role, every kind of id."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from toolset_kit import ALICE, BOB, CANARY, KEY, Echo

from toolcrib_store import Store
from toolcrib_toolsets.api import PREFIX, InstanceCall, Principal, management_api
from toolcrib_toolsets.api.bounding import Bounded
from toolcrib_toolsets.contract import FunctionDefinition, Role, ToolsetScope
from toolcrib_toolsets.master_key import MasterKey
from toolcrib_toolsets.rotation import rotate
from toolcrib_toolsets.service import ToolsetService
from toolcrib_toolsets.tables import TOOLSETS
from toolcrib_toolsets.types import ExaWebSearch, ToolsetKinds

TOKENS = {
    "alice": Principal(name=ALICE, role=Role.USER),
    "bob": Principal(name=BOB, role=Role.USER),
    "limited": Principal(name=ALICE, role=Role.USER, scopes=frozenset({ToolsetScope(toolset_type="free")})),
    "limited-admin": Principal(
        name="free@example.org", role=Role.ADMIN, scopes=frozenset({ToolsetScope(toolset_type="free")})
    ),
    "admin": Principal(name="root@example.org", role=Role.ADMIN),
}
NEW = {"toolsetType": "echo", "name": "mine", "apiKey": CANARY}
CHANGED = {"name": "mine", "enabled": True}
SAY = {"params": {"text": "hello"}}


async def _authenticate(token: str) -> Principal | None:
    return TOKENS.get(token)


async def _let_through(call: InstanceCall, proceed: Any) -> Any:
    del call  # whatever it is
    return await proceed()


class Api:
    def __init__(self, client: httpx2.AsyncClient) -> None:
        self._client = client
        self.written: list[str] = []

    async def __call__(self, who: str | None, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        headers = {} if who is None else {"authorization": f"Bearer {who}"}
        content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()  # any text, escaped
        headers |= {} if body is None else {"content-type": "application/json"}
        answer = await self._client.request(method, f"{PREFIX}{path}", content=content, headers=headers)
        self.written.append(f"{answer.status_code} {dict(answer.headers)} {answer.text}")
        return answer.status_code, answer.json() if answer.content else None


@pytest.fixture
async def api(service: ToolsetService) -> AsyncIterator[Api]:
    application = management_api(service, authenticate=_authenticate, version="1", guard=_let_through)
    transport = httpx2.ASGITransport(app=application, raise_app_exceptions=False)
    async with httpx2.AsyncClient(transport=transport, base_url="http://toolcrib.example") as client:
        yield Api(client)


async def _made(api: Api, who: str = "alice") -> str:
    status, body = await api(who, "POST", "/toolsets", NEW)
    assert status == 201
    return str(body["id"])


def _requests(instance: str) -> list[tuple[str, str, Any]]:
    return [
        ("GET", f"/toolsets/{instance}", None),
        ("PUT", f"/toolsets/{instance}", CHANGED),
        ("POST", f"/toolsets/{instance}/tools/say/execute", SAY),
        ("DELETE", f"/toolsets/{instance}", None),
    ]


async def test_an_owner_makes_lists_reads_changes_runs_and_deletes(api: Api) -> None:
    made = await _made(api)
    await api("admin", "PUT", "/toolset_types/echo/app-config")

    assert [each["id"] for each in (await api("alice", "GET", "/toolsets"))[1]["toolsets"]] == [made]
    status, body = await api("alice", "PUT", f"/toolsets/{made}", {**CHANGED, "description": "new"})
    assert (status, body["description"], body["hasApiKey"]) == (200, "new", True)
    assert await api("alice", "POST", f"/toolsets/{made}/tools/say/execute", SAY) == (
        200,
        {"result": "hello", "error": None},
    )
    assert await api("alice", "DELETE", f"/toolsets/{made}") == (204, None)
    assert (await api("alice", "GET", "/toolsets"))[1] == {"toolsets": []}


@pytest.mark.req("TS-8")
@pytest.mark.fault("H1")
@pytest.mark.parametrize("who", ["bob", "admin"])
@pytest.mark.req("D3-8l")
async def test_foreign_guessed_and_deleted_are_the_same_for_every_method(api: Api, who: str, echo: Echo) -> None:
    await api("admin", "PUT", "/toolset_types/echo/app-config")
    foreign, deleted = await _made(api), await _made(api, "bob" if who == "bob" else "admin")
    await api(who, "DELETE", f"/toolsets/{deleted}")
    guessed = str(uuid.uuid4())

    for at in range(4):
        answers = []
        for instance in (foreign, guessed, deleted):
            method, path, body = _requests(instance)[at]
            status, told = await api(who, method, path, body)
            answers.append((status, str(told).replace(instance, "ID")))
        assert len(set(answers)) == 1, answers
        assert answers[0][0] == 404
    assert (await api("alice", "GET", f"/toolsets/{foreign}"))[0] == 200
    assert echo.counts["called"] == 0


@pytest.mark.fault("H1")
@pytest.mark.parametrize("who", [None, "nobody", ""])
async def test_without_a_token_that_is_known_nothing_is_told(api: Api, who: str | None, echo: Echo) -> None:
    made = await _made(api)
    every = [
        *_requests(made),
        ("GET", "/toolsets", None),
        ("POST", "/toolsets", NEW),
        ("GET", "/toolset_types", None),
        ("GET", "/toolset_types/app-configs", None),
        ("PUT", "/toolset_types/echo/app-config", None),
        ("DELETE", "/toolset_types/echo/app-config", None),
    ]

    for method, path, body in every:
        assert (await api(who, method, path, body))[0] == 401, (method, path)
    assert echo.counts["called"] == 0


@pytest.mark.fault("H1")
async def test_only_administrators_move_switches(api: Api, service: ToolsetService) -> None:
    for who in ("alice", "limited"):
        assert (await api(who, "PUT", "/toolset_types/echo/app-config"))[0] == 403
        assert (await api(who, "DELETE", "/toolset_types/echo/app-config"))[0] == 403
        assert (await api(who, "GET", "/toolset_types/app-configs"))[0] == 403
    assert not await service.is_type_enabled("echo")
    status, body = await api("admin", "PUT", "/toolset_types/echo/app-config")
    assert (status, body["enabled"], body["updatedBy"]) == (200, True, "root@example.org")
    assert (await api("admin", "DELETE", "/toolset_types/echo/app-config"))[1]["enabled"] is False
    assert (await api("admin", "PUT", "/toolset_types/none/app-config"))[0] == 400


@pytest.mark.req("TS-14")
async def test_a_limited_token_runs_only_the_types_that_its_scopes_name(api: Api) -> None:
    await api("admin", "PUT", "/toolset_types/echo/app-config")
    made = await _made(api)

    status, body = await api("limited", "POST", f"/toolsets/{made}/tools/say/execute", SAY)

    assert (status, body["error"]) == (403, "type_out_of_scope")


@pytest.mark.req("TS-14")
async def test_a_limited_token_neither_sees_nor_changes_what_its_scopes_do_not_name(
    api: Api, service: ToolsetService
) -> None:
    made = await _made(api)
    free = (await api("limited", "POST", "/toolsets", {"toolsetType": "free", "name": "free"}))[1]["id"]

    for method, path, body in [*_requests(made), ("POST", "/toolsets", {**NEW, "name": "another"})]:
        status, told = await api("limited", method, path, body)
        assert (method, status, told["error"]) == (method, 403, "type_out_of_scope")
    assert [each["id"] for each in (await api("limited", "GET", "/toolsets"))[1]["toolsets"]] == [free]
    assert {each.name for each in await service.list_instances(ALICE)} == {"mine", "free"}
    for method in ("PUT", "DELETE"):
        assert (await api("limited-admin", method, "/toolset_types/echo/app-config"))[0] == 403
        assert (await api("limited-admin", method, "/toolset_types/free/app-config"))[0] == 200


@pytest.mark.req("TS-8")
async def test_a_foreign_instance_of_a_type_out_of_scope_is_not_there(api: Api) -> None:
    theirs = await _made(api, "bob")
    for method, path, body in _requests(theirs):
        assert (await api("limited", method, path, body))[0] == 404


@pytest.mark.req("TS-6")
@pytest.mark.fault("H8")
async def test_what_no_database_takes_is_refused(api: Api) -> None:
    lone = "\ud800"
    free = {"toolsetType": "free", "name": "free"}
    assert (await api("alice", "POST", "/toolsets", {**free, "settings": {"a": lone}}))[0] == 400
    assert (await api("alice", "POST", "/toolsets", {**free, "settings": {lone: 1}}))[0] == 400
    assert (await api("alice", "POST", "/toolsets", {**free, "settings": {"a": 10**30}}))[0] == 400
    assert (await api("alice", "POST", "/toolsets", {**free, "toolsetType": lone}))[0] == 400
    assert (await api("alice", "POST", "/toolsets", {**free, "description": lone}))[0] == 400
    made = (await api("alice", "POST", "/toolsets", free))[1]["id"]
    assert (await api("alice", "PUT", f"/toolsets/{made}", {**CHANGED, "settings": {"a": lone}}))[0] == 400
    await api("admin", "PUT", "/toolset_types/free/app-config")
    status, _ = await api("alice", "POST", f"/toolsets/{made}/tools/say/execute", {"params": {"text": lone}})
    assert status == 400
    for method, path, body in _requests("%00"):
        assert (await api("alice", method, path, body))[0] == 404
    assert (await api("alice", "POST", f"/toolsets/{made}/tools/%00/execute", SAY))[0] == 404


@pytest.mark.req("TS-8", "CT-10")
async def test_each_refusal_has_its_status_and_its_name(api: Api) -> None:
    made = await _made(api)
    tries = {
        "instance_name_exists": ("POST", "/toolsets", NEW, 409),
        "invalid_toolset_type": ("POST", "/toolsets", {**NEW, "toolsetType": "none", "name": "b"}, 400),
        "api_key_required": ("POST", "/toolsets", {"toolsetType": "echo", "name": "b"}, 400),
        "invalid_settings": ("POST", "/toolsets", {**NEW, "name": "b", "settings": {"bad": 1}}, 400),
        "invalid_request": ("POST", "/toolsets", {**NEW, "name": ["b"]}, 400),
        "invalid_instance_name": ("POST", "/toolsets", {**NEW, "name": "no spaces"}, 400),
        "invalid_instance_description": ("POST", "/toolsets", {**NEW, "name": "b", "description": "x" * 256}, 400),
        "invalid_api_key": ("POST", "/toolsets", {**NEW, "name": "b", "apiKey": ""}, 400),
        "instance_not_found": ("GET", f"/toolsets/{'x' * 300}", None, 404),
        "toolset_type_disabled": ("POST", f"/toolsets/{made}/tools/say/execute", SAY, 400),
    }
    for name, (method, path, body, expected) in tries.items():
        status, told = await api("alice", method, path, body)
        assert (status, told["error"]) == (expected, name)
    too_long = "Invalid toolset name: name exceeds 24 characters"
    wrong = [
        ({"name": "x" * 25}, "invalid_instance_name", too_long),
        ({"name": ""}, "invalid_instance_name", "Invalid toolset name: name cannot be empty"),
        (
            {"description": "x" * 256},
            "invalid_instance_description",
            "Invalid toolset description: description exceeds 255 characters",
        ),
        ({"apiKey": {"action": "set", "value": ""}}, "invalid_api_key", None),
    ]
    for change, name, message in wrong:
        status, told = await api("alice", "PUT", f"/toolsets/{made}", {**CHANGED, **change})
        assert (status, told["error"]) == (400, name)
        assert message is None or told["message"] == message
    await api("admin", "PUT", "/toolset_types/echo/app-config")
    status, told = await api("alice", "POST", f"/toolsets/{made}/tools/none/execute", SAY)
    assert (status, told["error"]) == (404, "method_not_found")
    status, told = await api("alice", "POST", f"/toolsets/{made}/tools/say/execute", {"params": {"txt": 1}})
    assert (status, told["error"]["category"]) == (200, "validation")


@pytest.mark.req("CT-10")
@pytest.mark.parametrize(
    ("method", "path", "status", "name"),
    [
        ("GET", "/nothing", 404, "not_found"),
        ("PATCH", "/toolsets", 405, "method_not_allowed"),
        ("POST", "/toolset_types", 405, "method_not_allowed"),
    ],
)
async def test_an_address_or_a_method_that_is_not_there_is_refused_in_the_shape_of_all_errors(
    api: Api, method: str, path: str, status: int, name: str
) -> None:
    answered, told = await api("alice", method, path)

    assert (answered, told["error"]) == (status, name)
    assert told.keys() == {"error", "code", "message", "hint", "details"}


@pytest.mark.req("CT-10")
@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/toolsets", "GET, POST"),
        ("/toolsets/x", "DELETE, GET, PUT"),
        ("/toolset_types/x/app-config", "DELETE, PUT"),
        ("/openapi.json", "GET, HEAD"),
    ],
)
async def test_a_method_that_is_not_there_is_answered_with_those_that_are(
    service: ToolsetService, path: str, allowed: str
) -> None:
    async with _api_of(service) as client:
        answer = await client.patch(f"{PREFIX}{path}")

    assert (answer.status_code, answer.headers["allow"]) == (405, allowed)


@pytest.mark.req("CT-10")
async def test_a_body_that_is_not_declared_as_json_is_refused_with_what_to_send(service: ToolsetService) -> None:
    async with _api_of(service) as client:
        sent = {"authorization": "Bearer alice", "content-type": "application/x-www-form-urlencoded"}
        answer = await client.post(f"{PREFIX}/toolsets", content=json.dumps(NEW).encode(), headers=sent)

    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")
    assert answer.json()["message"] == "The request cannot be used: it is not declared as JSON."
    assert "content-type: application/json" in answer.json()["hint"]
    assert CANARY not in answer.text


def _api_of(service: ToolsetService, **options: bool) -> httpx2.AsyncClient:
    application = management_api(service, authenticate=_authenticate, version="1", guard=_let_through, **options)
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(app=application), base_url="http://toolcrib.example")


@pytest.mark.req("CT-10", "TS-8")
@pytest.mark.req("D3-8l")
async def test_the_operator_may_let_foreign_instances_be_known(service: ToolsetService) -> None:
    made = await service.create_instance(ALICE, "echo", "mine", api_key=KEY)
    async with _api_of(service, hide_foreign=False) as client:
        status, told = await Api(client)("bob", "GET", f"/toolsets/{made.id}")

    assert (status, told["error"]) == (403, "instance_not_owned")
    assert told["message"] == "You don't have permission to access this toolset instance"


@pytest.mark.req("CT-10")
async def test_an_instance_without_a_description_has_none_in_its_answer(api: Api) -> None:
    made = await _made(api)

    one, listed = (await api("alice", "GET", f"/toolsets/{made}"))[1], (await api("alice", "GET", "/toolsets"))[1]

    assert all("description" not in each for each in (one, *listed["toolsets"]))


@pytest.mark.req("CT-10", "TS-14")
async def test_types_list_their_tools_in_the_form_of_the_contract(
    service: ToolsetService, toolset_store: Store
) -> None:
    exa = ToolsetService(toolset_store, service._rows._sealer, ToolsetKinds([ExaWebSearch()]))
    async with _api_of(exa) as client:
        status, told = await Api(client)("alice", "GET", "/toolset_types")

    [listed] = told["types"]
    assert (status, listed["toolsetId"], listed["appEnabled"]) == (200, "builtin-exa-web-search", False)
    tools = exa.list_all_tool_definitions()
    assert [each["function"]["name"] for each in listed["tools"]] == [each.name for each in tools]
    assert {each["type"] for each in listed["tools"]} == {"function"}
    functions = [FunctionDefinition.of(each) for each in tools]
    assert [each["function"] for each in listed["tools"]] == [each.model_dump(by_alias=True) for each in functions]
    assert functions[0].parameters["required"]
    [config] = await exa.list_app_toolset_configs()
    assert (config.toolset_id, config.updated_by, config.enabled) == ("builtin-exa-web-search", "system", False)


@pytest.mark.req("TS-11")
@pytest.mark.fault("H5")
async def test_no_answer_ever_holds_the_key(api: Api, service: ToolsetService, toolset_store: Store) -> None:
    made = await _made(api)
    await api("admin", "PUT", "/toolset_types/echo/app-config")
    await api("alice", "PUT", f"/toolsets/{made}", {**CHANGED, "apiKey": {"action": "set", "value": CANARY}})
    await api("alice", "PUT", f"/toolsets/{made}", {**CHANGED, "apiKey": {"action": "set", "value": f"{CANARY}\n"}})
    await api("alice", "PUT", f"/toolsets/{made}", {**CHANGED, "apiKey": {"action": "sett", "value": CANARY}})
    await api("alice", "POST", "/toolsets", {**NEW, "apiKey": {"nested": CANARY}})
    await api("alice", "POST", "/toolsets", {**NEW, "unknown": CANARY})
    for method, path, body in [*_requests(made)[:3], ("GET", "/toolsets", None), ("GET", "/toolset_types", None)]:
        await api("alice", method, path, body)
    with toolset_store.writing() as connection:
        connection.execute(TOOLSETS.update().values(nonce="AAAA"))
    status, told = await api("alice", "POST", f"/toolsets/{made}/tools/say/execute", SAY)

    assert (status, told["code"]) == (500, "toolbox.unsealing-failed")
    assert not [each for each in api.written if CANARY in each or KEY.reveal() in each]


@pytest.mark.req("TS-5")
async def test_a_wrong_master_key_is_a_failure_of_ours_and_of_no_service_behind(api: Api, toolset_store: Store) -> None:
    made = await _made(api)
    await api("admin", "PUT", "/toolset_types/echo/app-config")
    rotate(toolset_store, MasterKey(b"m" * 32), MasterKey(b"n" * 32))

    status, told = await api("alice", "POST", f"/toolsets/{made}/tools/say/execute", SAY)

    assert (status, told["code"]) == (500, "toolbox.wrong-master-key")


@pytest.mark.req("D3-1f", "TS-6")
async def test_an_update_needs_every_field_but_the_key(api: Api) -> None:
    status, body = await api("alice", "POST", "/toolsets", {**NEW, "description": "old"})
    path = f"/toolsets/{body['id']}"

    for missing in ("name", "enabled"):
        part = {name: value for name, value in CHANGED.items() if name != missing}
        refused, told = await api("alice", "PUT", path, part)
        assert (refused, told["error"]) == (400, "invalid_request")
        assert told["details"]["faults"] == [f"body.{missing}: Field required"]
    updated, body = await api("alice", "PUT", path, CHANGED)

    assert (status, updated) == (201, 200)
    assert "description" not in body
    assert body["hasApiKey"]


@pytest.mark.req("D3-1i")
async def test_an_update_may_clear_the_key(api: Api) -> None:
    made = await _made(api)

    status, body = await api(
        "alice", "PUT", f"/toolsets/{made}", {**CHANGED, "apiKey": {"action": "set", "value": None}}
    )

    assert (status, body["hasApiKey"]) == (200, False)


async def test_a_request_that_is_too_large_or_too_slow_is_refused_before_it_is_read(echo: Echo) -> None:
    seen: list[object] = []

    async def inner(scope: Any, receive: Any, send: Any) -> None:
        seen.append(await receive())

    async def large() -> Any:
        return {"type": "http.request", "body": b"x" * 60, "more_body": True}

    async def silent() -> Any:
        await asyncio.Event().wait()

    async def send(event: Any) -> None:
        if "status" in event:
            seen.append(event["status"])
        else:
            assert json.loads(event["body"]).keys() == {"error", "code", "message", "hint", "details"}

    scope = {"type": "http", "headers": [(b"authorization", b"Bearer alice"), (b"transfer-encoding", b"chunked")]}
    await Bounded(inner, authenticate=_authenticate, max_body=100)(scope, large, send)
    await Bounded(inner, authenticate=_authenticate, seconds=0.01)(scope, silent, send)

    assert seen == [413, 408]


@pytest.mark.fault("K12")
@pytest.mark.parametrize("framing", [(b"content-length", b"60"), (b"transfer-encoding", b"chunked")], ids=repr)
@pytest.mark.parametrize("sent", [[], [b"Bearer wrong"], [b"Basic alice"], [b"Bearer alice", b"Bearer bob"]], ids=repr)
async def test_a_body_without_a_known_token_is_refused_before_it_is_read(
    framing: tuple[bytes, bytes], sent: list[bytes]
) -> None:
    told: list[Any] = []

    async def never(*_: Any) -> Any:
        raise AssertionError("the body was read")

    async def send(event: Any) -> None:
        told.append(event)

    headers = [framing, *((b"authorization", each) for each in sent)]
    await Bounded(never, authenticate=_authenticate)({"type": "http", "headers": headers}, never, send)

    assert told[0]["status"] == 401
    assert (b"www-authenticate", b"Bearer") in told[0]["headers"]
    assert json.loads(told[1]["body"])["error"] == "unauthenticated"


@pytest.mark.fault("K19")
@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b'{"toolsetType": "echo", "name": "mine", "name": "other"}', id="a name twice"),
        pytest.param(b'{"toolsetType": "echo", "name": "mine", "settings": {"u": 1, "u": 2}}', id="inside"),
        pytest.param(b'{"toolsetType": "echo", "name": "mine", "n\\u0061me": "other"}', id="escaped"),
    ],
)
async def test_a_body_with_a_key_twice_is_refused(api: Api, body: bytes) -> None:
    status, told = await api("alice", "POST", "/toolsets", body)
    _, listed = await api("alice", "GET", "/toolsets")

    assert (status, told["code"]) == (400, "toolbox.api-request-invalid")
    assert listed["toolsets"] == []


@pytest.mark.fault("K19")
async def test_half_of_a_surrogate_pair_is_refused_and_a_whole_one_is_not(api: Api) -> None:
    half, _ = await api("alice", "POST", "/toolsets", {**NEW, "settings": {"list": ["\ud800"]}})
    whole, made = await api("alice", "POST", "/toolsets", {**NEW, "description": "\U0001f600"})

    assert (half, whole) == (400, 201)
    assert made["description"] == "\U0001f600"


async def test_an_instance_that_goes_while_the_list_is_written_is_not_in_it(
    api: Api, service: ToolsetService, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone, made = await _made(api), (await api("alice", "POST", "/toolsets", {**NEW, "name": "other"}))[1]["id"]
    await api("alice", "DELETE", f"/toolsets/{gone}")

    def no_second_look(_: str) -> None:
        raise AssertionError("a list is of one moment: nothing is read again for each of its rows")

    monkeypatch.setattr(service._rows, "get_toolset_by_id", no_second_look)
    status, told = await api("alice", "GET", "/toolsets")

    assert (status, [each["id"] for each in told["toolsets"]]) == (200, [made])
