"""`toolcrib doctor` names the tools whose text was refused or flagged, before all else about tools."""

from __future__ import annotations

import pytest

from toolcrib_cli.doctor_checks import check_tools
from toolcrib_cli.status_report import StatusReport


@pytest.mark.req("GW-8.2")
def test_tools_that_were_flagged_or_left_out_come_before_small_repairs() -> None:
    repaired = {"kind": "repaired", "upstream": "one", "name": "t", "reason": "It had none."}
    flagged = {"kind": "flagged", "upstream": "two", "name": "bad", "reason": "A tag that sets orders apart."}
    left_out = {"kind": "left-out", "upstream": "two", "name": "worse", "reason": "U+200B at `/name`."}
    servers = {
        "one": {"ok": True, "findings": [repaired] * 12},
        "two": {"ok": True, "findings": [flagged, left_out]},
    }

    check = check_tools(StatusReport(config=None, source="probe", hub={"servers": servers}))

    lines = check.hint.splitlines()
    assert lines[0] == "flagged two bad: A tag that sets orders apart."
    assert lines[1] == "left-out two worse: U+200B at `/name`."
    assert "And 4 more" in check.hint
    assert "`flagged`, `left-out`, `repaired`" in check.said
