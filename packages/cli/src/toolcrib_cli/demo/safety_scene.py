"""The scene of the demo in which a call waits for somebody, and is written down."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from toolcrib_cli.browse_command import short_id
from toolcrib_cli.demo.stage import Stage
from toolcrib_runtime.errors import ApprovalRequired

_POLICY: Final = 'version = 1\n[[rule]]\ndecision = "ask"\ntool = "database:query"\nreason = "the books are private"\n'
_SQL: Final = "SELECT count(*) AS loans FROM loans"


async def ask_somebody(stage: Stage) -> None:
    """A call that the policy asks about runs once somebody has allowed exactly that call."""
    from toolcrib_mcp.approvals import ApprovalBook, state_key
    from toolcrib_mcp.audit import FOLDER, PUBLIC_FILE, SqlHeads, read_public_keys, verify
    from toolcrib_mcp.gateway import Gateway
    from toolcrib_mcp.safeguards import open_safeguards

    stage.heading("9  A call that the policy asks about waits, runs once, and is written down")
    hub = stage.gateway.hub
    tool = next(each for each in hub.catalog.snapshot().ids if short_id(each) == "database:query")
    with TemporaryDirectory(prefix="toolcrib-") as name:
        folder = Path(name)
        (folder / "toolcrib.policy.toml").write_text(_POLICY, encoding="utf-8")
        config = replace(hub.config, path=folder / "mcp.json")
        config = replace(config, settings=config.settings.model_copy(update={"pins": "off"}))
        async with open_safeguards(config, state_dir=folder) as safeguards:
            async with Gateway(hub, checkpoint=safeguards.checkpoint) as gateway:
                stage.typed(f"call database:query sql='{_SQL}'")
                try:
                    await gateway.execute(tool, {"sql": _SQL})
                except ApprovalRequired as waiting:
                    approval = str(waiting.details["approvalId"])
                    reason = waiting.details["reason"]
                    stage.line(f"needs approval: {reason}; toolcrib approvals grant {approval[:12]}…")
                    ApprovalBook(safeguards.store, state_key(folder)).grant(approval, by="the demo")
                answer = (await gateway.execute(tool, {"sql": _SQL})).text
            await safeguards.checkpoint.recorder.aclose()
            keys = read_public_keys(folder / PUBLIC_FILE)
            verdict = verify(folder / FOLDER, SqlHeads(safeguards.store), keys)
    audit = f"{verdict.records} records, {'chained and signed' if verdict.is_whole else 'damaged'}"
    stage.line(f"{answer}   audit: {audit}")
