"""One life of an application with approvals, as a process: it reads JSON from its input, and prints JSON."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from toolcrib_runtime import Approvals, PendingApproval, ToolCall, create_tool, create_toolbox


class FileSpentApprovals:
    """What is spent, as one file for each approval: the file system lets one of many make a file."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    async def spend(self, approval_id: str, expires_at: float) -> bool:
        try:
            (self._directory / f"spent-{approval_id}").touch(exist_ok=False)
        except FileExistsError:
            return False
        return True


async def main(directory: Path, given: dict[str, Any]) -> dict[str, object]:
    """Grant the question that is given, or make the call, with the token if there is one."""
    approvals = Approvals(given["secret"].encode(), ledger=FileSpentApprovals(directory))
    if "pending" in given:
        return {"token": approvals.grant(PendingApproval.from_dict(given["pending"]), by="grace")}

    def delete(path: str) -> None:
        with (directory / "runs").open("a", encoding="utf-8") as runs:
            runs.write(f"{path}\n")

    tool = create_tool(delete, namespace="fs", version="1.0.0", description="Delete a file.")
    async with create_toolbox([tool], approvals=approvals) as toolbox:
        call = ToolCall(tool="fs:delete", arguments={"path": "a"}, approval=given.get("token"))
        return (await toolbox.execute(call)).to_dict()


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(Path(sys.argv[1]), json.load(sys.stdin)))))  # noqa: T201  # its answer
