"""A call that is denied is never validated: what its schema would cost is not paid for a caller who may not call."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from approval_cases import call_of
from audit_cases import records_of
from safeguard_cases import ALLOW, MODES, guarded, server_with

from toolcrib_mcp.audit import FOLDER
from toolcrib_runtime.errors import NotPermitted

DENY = 'version = 1\ndefault = "deny"\n'
COSTLY: dict[str, Any] = {
    "name": "pick",
    "description": "Picks values.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "all": {"type": "array", "items": {"enum": [f"value {number}" for number in range(18_000)]}},
        },
        "required": ["all"],
        "additionalProperties": False,
    },
}
WRONG: dict[str, Any] = {"all": [f"no value {number}" for number in range(1_000)]}


@pytest.mark.parametrize("mode", MODES)
async def test_a_denied_call_is_refused_whatever_its_arguments_are(tmp_path: Path, mode: str) -> None:
    async with guarded(tmp_path, {"notes": server_with(COSTLY)}, mode=mode, policy=DENY) as case:
        refused = await case.refused("pick", **WRONG)

    assert refused["error"] == "POLICY_DENIED"
    assert case.calls() == 0


@pytest.mark.parametrize(("policy", "validated"), [(DENY, 0), (ALLOW, 1)], ids=["denied", "allowed"])
async def test_only_a_call_that_is_not_denied_is_validated(tmp_path: Path, policy: str, validated: int) -> None:
    validations: list[None] = []
    async with guarded(tmp_path, {"notes": server_with(COSTLY)}, policy=policy) as case:
        call = replace(call_of(), listed=False, validate=lambda: validations.append(None))
        if validated:
            await case.safeguards.checkpoint.run(call, _answer)
        else:
            with pytest.raises(NotPermitted):
                await case.safeguards.checkpoint.run(call, _answer)

    assert len(validations) == validated


@pytest.mark.parametrize("mode", ["gateway", "proxy"])
async def test_a_call_with_invalid_arguments_is_in_the_audit_and_reaches_no_server(tmp_path: Path, mode: str) -> None:
    async with guarded(tmp_path, {"notes": server_with(COSTLY)}, mode=mode) as case:
        refused = await case.refused("pick", all="none")
        reached = case.calls()

    assert refused["error"] == "ARGS_INVALID"
    assert reached == 0
    files = sorted((tmp_path / "state" / FOLDER).glob("*.jsonl"))
    records = [each.fields for file in files for each in records_of(file)]
    assert [each["outcome"] for each in records if each.get("kind") == "refused"] == ["ARGS_INVALID"]


async def _answer(request: Any) -> dict[str, Any]:
    return {"content": []}
