"""One life of an application that keeps its calls and approvals in a store, as a process."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolcrib_runtime import Approvals, PendingApproval, ToolCall, create_tool, create_toolbox
from toolcrib_store import SqlLedger, SqlSpentApprovals, open_store


async def main(directory: Path, given: dict[str, Any]) -> Mapping[str, object]:
    """Grant the question that is given, or make the call; the tool may be told to end the process in the middle."""
    with open_store(given["target"]) as store:
        ledger = SqlLedger(store, lease_seconds=0.3)
        approvals = Approvals(b"a secret that is kept", ledger=SqlSpentApprovals(store))
        if "pending" in given:
            return {"token": approvals.grant(PendingApproval.from_dict(given["pending"]), by="grace")}

        def pay(amount: int) -> str:
            with (directory / "runs").open("a", encoding="utf-8") as runs:
                runs.write(f"{amount}\n")
            if given.get("die"):
                os.kill(os.getpid(), 9)
            return f"paid {amount}"

        tool = create_tool(pay, namespace="bank", version="1.0.0", description="Pay.", effects=given["effects"])
        async with create_toolbox([tool], approvals=approvals, ledger=ledger) as toolbox:
            call = ToolCall(
                tool="bank:pay", arguments={"amount": 5}, approval=given.get("token"), idempotency_key=given.get("key")
            )
            return (await toolbox.execute(call)).to_dict()


if __name__ == "__main__":
    sys.stdout.write(json.dumps(dict(asyncio.run(main(Path(sys.argv[1]), json.load(sys.stdin))))))
