"""Calls of the management API pass what calls through the gateway pass: policy, limits, audit, redaction."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import pytest

from toolcrib_cli.toolset.serving import api_guard
from toolcrib_core import ToolError, ToolRisk, define_tool
from toolcrib_mcp.config import GatewayConfig
from toolcrib_mcp.safeguards import Safeguards, open_safeguards
from toolcrib_runtime.guards.secrets import Secret
from toolcrib_toolsets import Toolset, ToolsetExecutionResponse
from toolcrib_toolsets.api import InstanceCall, Principal
from toolcrib_toolsets.contract import Role

pytestmark = [pytest.mark.fault("K4"), pytest.mark.req("TS-8")]

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DENY = 'version = 1\n[[rule]]\ndecision = "deny"\nserver = "desk"\ntool = "remove"\nprincipal = "ada"\n'
LIMIT = 'version = 1\n[[limit]]\ncalls = 1\nper = "day"\n'
BUDGET = 'version = 1\n[[budget]]\ncalls = 1\nper = "day"\n'


class _Api:
    """A guard with real safeguards, and an instance whose method counts its calls."""

    def __init__(self, safeguards: Safeguards) -> None:
        self.called = 0
        checkpoint: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        checkpoint.set_result(safeguards.checkpoint)
        self._guard = api_guard(checkpoint)

    async def call(self, method: str, *, effects: Literal["read", "write"] = "read", destructive: bool = False) -> Any:
        risk = ToolRisk(effects=effects, destructive=destructive)
        tool = define_tool({"type": "object"}, name=method, namespace="desk", risk=risk)
        instance = Toolset(id="1", name="desk", toolset_type="http-api", enabled=True, created_at=NOW, updated_at=NOW)
        ada = Principal(name="ada", role=Role.USER)

        async def proceed() -> ToolsetExecutionResponse:
            self.called += 1
            return ToolsetExecutionResponse(result={"said": "canary-of-the-configuration"})

        answer = await self._guard(InstanceCall(principal=ada, instance=instance, tool=tool, params={}), proceed)
        return answer.result

    async def refused(self, method: str, **options: Any) -> str:
        before = self.called
        with pytest.raises(ToolError) as caught:
            await self.call(method, **options)
        assert self.called == before
        return caught.value.code


@asynccontextmanager
async def _api(folder: Path, policy: str) -> AsyncIterator[_Api]:
    state = folder / "state"
    state.mkdir(mode=0o700)
    (folder / "toolcrib.policy.toml").write_text(policy, encoding="utf-8")
    config = GatewayConfig(servers={}, path=folder / "mcp.json")
    async with open_safeguards(config, state_dir=state) as safeguards:
        safeguards.hide([Secret("canary-of-the-configuration")])
        yield _Api(safeguards)


async def test_a_call_past_a_rule_that_denies_is_not_made_and_all_is_written_down(tmp_path: Path) -> None:
    async with _api(tmp_path, DENY) as api:
        refused = await api.refused("remove", effects="write", destructive=True)
        said = await api.call("find")

    assert refused == "toolbox.not-permitted"
    assert "canary" not in json.dumps(said)
    (file,) = (tmp_path / "state" / "audit").glob("*.jsonl")
    records = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    told = [(each["kind"], each["server"], each["tool"], each["decision"]) for each in records if each.get("tool")]
    assert told == [("refused", "desk", "desk:remove", "deny"), ("call", "desk", "desk:find", "allow")]


async def test_what_destroys_needs_approval_as_through_the_gateway(tmp_path: Path) -> None:
    async with _api(tmp_path, "version = 1\n") as api:
        assert await api.refused("remove", effects="write", destructive=True) == "toolbox.approval-required"
        assert await api.call("find")


@pytest.mark.parametrize(
    ("policy", "code"), [(LIMIT, "toolbox.rate-limited"), (BUDGET, "toolbox.budget-exhausted")], ids=["limit", "budget"]
)
async def test_calls_count_in_limits_and_budgets(policy: str, code: str, tmp_path: Path) -> None:
    async with _api(tmp_path, policy) as api:
        await api.call("find")

        assert await api.refused("find") == code
