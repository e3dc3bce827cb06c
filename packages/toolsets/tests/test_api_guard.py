"""Every route of the management API: it changes settings, shows them, or calls a tool and then passes the guard."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
from fastapi.routing import APIRoute
from test_api_access import NEW, _authenticate, _let_through
from toolset_kit import Echo

from toolcrib_runtime.errors import ApprovalRequired, BudgetExhausted, NotPermitted
from toolcrib_toolsets.api import PREFIX, InstanceCall, management_api
from toolcrib_toolsets.service import ToolsetService

pytestmark = [pytest.mark.fault("K4"), pytest.mark.req("TS-8")]

EXECUTE = ("POST", f"{PREFIX}/toolsets/{{instance_id}}/tools/{{method}}/execute")
MANAGING = {
    ("GET", f"{PREFIX}/toolsets"),
    ("POST", f"{PREFIX}/toolsets"),
    ("GET", f"{PREFIX}/toolsets/{{instance_id}}"),
    ("PUT", f"{PREFIX}/toolsets/{{instance_id}}"),
    ("DELETE", f"{PREFIX}/toolsets/{{instance_id}}"),
    ("GET", f"{PREFIX}/toolset_types"),
    ("GET", f"{PREFIX}/toolset_types/app-configs"),
    ("PUT", f"{PREFIX}/toolset_types/{{toolset_type}}/app-config"),
    ("DELETE", f"{PREFIX}/toolset_types/{{toolset_type}}/app-config"),
}
"""Routes that call no tool: they are about the caller's own instances, or for administrators."""
BODY = {"params": {"text": "hello"}}


async def _executed(service: ToolsetService, guard: Any) -> tuple[int, Any]:
    application = management_api(service, authenticate=_authenticate, version="1", guard=guard)
    transport = httpx2.ASGITransport(app=application, raise_app_exceptions=False)
    headers = {"authorization": "Bearer alice"}
    async with httpx2.AsyncClient(transport=transport, base_url="http://toolcrib.example", headers=headers) as client:
        made = (await client.post(f"{PREFIX}/toolsets", json=NEW)).json()
        answer = await client.post(f"{PREFIX}/toolsets/{made['id']}/tools/say/execute", json=BODY)
    return answer.status_code, answer.json()


def test_every_route_has_a_place(service: ToolsetService) -> None:
    api = management_api(service, authenticate=_authenticate, version="1")
    routes = {(method, each.path) for each in api.routes if isinstance(each, APIRoute) for method in each.methods}
    beside = {getattr(each, "path", "") for each in api.routes if not isinstance(each, APIRoute)}

    assert routes == {EXECUTE, *MANAGING}
    assert beside == {f"{PREFIX}/openapi.json"}


async def test_without_a_guard_no_tool_is_called(service: ToolsetService, echo: Echo) -> None:
    await service.set_app_toolset_enabled("echo", enabled=True, updated_by="root")
    status, said = await _executed(service, None)

    assert (status, said["error"]) == (403, "calls_not_served")
    assert not echo.counts["called"]


@pytest.mark.parametrize(
    ("refusal", "status"),
    [(NotPermitted("No."), 403), (ApprovalRequired("Ask."), 403), (BudgetExhausted("Spent."), 429)],
    ids=["denied", "asked", "spent"],
)
async def test_what_the_guard_refuses_is_not_called(
    service: ToolsetService, echo: Echo, refusal: Exception, status: int
) -> None:
    await service.set_app_toolset_enabled("echo", enabled=True, updated_by="root")
    seen: list[InstanceCall] = []

    async def refuse(call: InstanceCall, proceed: Any) -> Any:
        del proceed  # it is not made
        seen.append(call)
        raise refusal

    assert (await _executed(service, refuse))[0] == status
    assert not echo.counts["called"]
    assert [(each.tool.name, each.params, each.principal.name) for each in seen] == [
        ("say", BODY["params"], seen[0].principal.name)
    ]
    assert (seen[0].instance.name, seen[0].tool.risk.effects) == (NEW["name"], "read")


async def test_what_the_guard_lets_through_is_called_once(service: ToolsetService, echo: Echo) -> None:
    await service.set_app_toolset_enabled("echo", enabled=True, updated_by="root")

    assert await _executed(service, _let_through) == (200, {"result": "hello", "error": None})
    assert echo.counts["called"] == 1
