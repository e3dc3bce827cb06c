"""Every method there is, in every mode: it passes the checkpoint on its way to a server, it lists, or it is refused."""

from __future__ import annotations

import json
import typing
from pathlib import Path
from typing import Any

import mcp_types
import pytest
from audit_cases import records_of
from safeguard_cases import NOTE, Guarded, guarded, principal
from scripted_servers import HANDSHAKE, ScriptedServer

from toolcrib_mcp.audit import FOLDER
from toolcrib_mcp.rpc import RpcError
from toolcrib_mcp.rpc.messages import METHOD_NOT_FOUND
from toolcrib_mcp.safeguards.requests import GUARDED, LISTING, PASSED
from toolcrib_runtime.guards.secrets import Secret

pytestmark = pytest.mark.fault("K4")

MODES = ("gateway", "proxy", "transparent")
DENY = 'version = 1\ndefault = "deny"\n'
TEXT = {"type": "text", "text": "canary"}
FRONT = frozenset({"initialize", "ping", "server/discover", "subscriptions/listen", "logging/setLevel"})
"""Methods that the front answers itself: no server is asked."""
WATCHING = frozenset({"resources/subscribe", "resources/unsubscribe"})
"""Methods that bring no content, only the address of what has changed; reading it passes the checkpoint."""
ODD = (
    "tools/execute",
    "Tools/Call",
    "tools/call ",
    "tools//call",
    "tools/call/",
    "/tools/call",
    "tools.call",
    "tools/calls",
    "resources/write",
    "Resources/Read",
    "prompts/Get",
    "completion/Complete",
    "tasks/get",
    "tasks/list",
    "tasks/result",
    "tasks/cancel",
    "tasks/update",
    "vendor/anything",
    "x-acme/tools/call",
    "notifications/initialized",
    "sampling/createMessage",
    "elicitation/create",
    "roots/list",
    "$/cancelRequest",
    "rpc.discover",
    "",
)


def _known() -> set[str]:
    """The methods of every request that the protocol has, by the types of its SDK."""
    found = set()
    for name in dir(mcp_types):
        kind = getattr(mcp_types, name)
        field = getattr(kind, "model_fields", {}).get("method") if isinstance(kind, type) else None
        if field is not None and name.endswith("Request"):
            found |= {each for each in typing.get_args(field.annotation) if isinstance(each, str)}
    return found


def _server() -> ScriptedServer:
    """A server that answers whatever it is asked."""
    said: dict[str, Any] = {
        "content": [TEXT],
        "contents": [{"uri": "note://1", "text": "canary"}],
        "messages": [{"role": "user", "content": TEXT}],
        "completion": {"values": ["canary"]},
        "tools": [NOTE],
        "resources": [],
        "resourceTemplates": [],
        "prompts": [],
    }
    methods = (*_known(), *ODD)
    own = {method: said for method in methods if method not in FRONT}
    offers = {name: {} for name in ("tools", "resources", "prompts", "completions")}
    return ScriptedServer(**own, initialize={**HANDSHAKE, "capabilities": offers})


PARAMS: dict[str, Any] = {
    "resources/read": {"uri": "note://1"},
    "prompts/get": {"name": "greet"},
    "completion/complete": {"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "a", "value": "c"}},
}
SEVERAL: dict[str, Any] = {
    **PARAMS,
    "prompts/get": {"name": "notes__greet"},
    "completion/complete": {
        "ref": {"type": "ref/prompt", "name": "notes__greet"},
        "argument": {"name": "a", "value": "c"},
    },
}


async def _outcome(case: Guarded, method: str, **options: Any) -> str:
    """What became of a request; of one that is refused, a server has heard nothing but questions for its lists."""
    for each in case.servers.values():
        each.heard.clear()
    params = (SEVERAL if len(case.servers) > 1 else PARAMS).get(method, {"name": "read_note", "arguments": {}})
    try:
        await case.ask(method, **params, **options)
    except RpcError as refused:
        reached = {each for server in case.servers.values() for each in server.methods}
        assert reached <= LISTING, (method, reached)
        said = refused.data if isinstance(refused.data, dict) else {}
        return "unknown" if refused.code == METHOD_NOT_FOUND else str(said.get("error", refused.code))
    return "answered"


def test_every_method_of_the_protocol_has_a_place() -> None:
    known = _known()
    asked_of_clients = {"sampling/createMessage", "elicitation/create", "roots/list"}
    placed = GUARDED | LISTING | FRONT | WATCHING | asked_of_clients | {"tools/call"}

    assert len(known) > len(GUARDED | LISTING)
    assert {each for each in known if not each.startswith("tasks/")} <= placed
    assert {"tools/call", *GUARDED, *LISTING} == PASSED


@pytest.mark.parametrize("names", [("notes",), ("notes", "other")], ids=["one", "several"])
@pytest.mark.parametrize("mode", MODES)
async def test_under_a_policy_that_denies_no_method_gets_past(
    mode: str, names: tuple[str, ...], tmp_path: Path
) -> None:
    async with guarded(tmp_path, {name: _server() for name in names}, mode=mode, policy=DENY) as case:
        methods = sorted({*_known(), *ODD} - FRONT - WATCHING - {"tools/call"})
        found = {method: await _outcome(case, method, by=principal("ada")) for method in methods}
        refused = await case.refused("read_note", title="x")

    expected = dict.fromkeys(methods, "unknown") | dict.fromkeys(LISTING, "answered")
    assert found == expected | dict.fromkeys(GUARDED, "POLICY_DENIED")
    assert refused["error"] == "POLICY_DENIED"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("method", sorted(GUARDED))
async def test_what_reads_is_counted_written_down_and_searched_for_secrets(
    mode: str, method: str, tmp_path: Path
) -> None:
    counted = """version = 1
default = "allow"
[[limit]]
calls = 2
per = "day"
each = ["principal"]
[[budget]]
calls = 1
principal = "bob"
per = "day"
"""
    async with guarded(tmp_path, {"notes": _server()}, mode=mode, policy=counted) as case:
        case.safeguards.hide([Secret("canary")])
        first = await case.ask(method, by=principal("ada"), **PARAMS[method])
        more = [await _outcome(case, method, by=principal(name)) for name in ("ada", "ada", "bob", "bob")]

    (file,) = (tmp_path / "state" / FOLDER).glob("*.jsonl")
    events = [each.fields for each in records_of(file) if each.kind in {"call", "refused"}]
    assert "canary" not in json.dumps(first)
    assert more == ["answered", "RATE_LIMITED", "answered", "BUDGET_EXCEEDED"]
    assert [(each["server"], each["tool"]) for each in events] == [("notes", f"notes:{method}")] * 5


@pytest.mark.parametrize("mode", MODES)
async def test_a_rule_about_one_method_is_about_no_other(mode: str, tmp_path: Path) -> None:
    rule = 'version = 1\n[[rule]]\ndecision = "deny"\ntool = "notes:resources/*"\nprincipal = "ci-*"\n'
    async with guarded(tmp_path, {"notes": _server()}, mode=mode, policy=rule) as case:
        of_ci = {method: await _outcome(case, method, by=principal("ci-1")) for method in sorted(GUARDED)}
        of_ada = {method: await _outcome(case, method, by=principal("ada")) for method in sorted(GUARDED)}

    assert of_ci == dict.fromkeys(GUARDED, "answered") | {"resources/read": "POLICY_DENIED"}
    assert of_ada == dict.fromkeys(GUARDED, "answered")


@pytest.mark.parametrize("mode", MODES)
async def test_where_a_policy_asks_somebody_has_to_approve_a_read(mode: str, tmp_path: Path) -> None:
    asks = 'version = 1\n[[rule]]\ndecision = "ask"\ntool = "prompts/get"\n'
    async with guarded(tmp_path, {"notes": _server()}, mode=mode, policy=asks) as case:
        assert await _outcome(case, "prompts/get") == "APPROVAL_REQUIRED"
        assert await _outcome(case, "resources/read") == "answered"
